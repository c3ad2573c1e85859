"""The sources of a time forecast: measured on the cluster, or reported as assumed."""

from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.cli.preview.pacing import ASSUMED_SPREAD, LEAST_SPREAD, Pacing, pacing
from stateward.cli.shared.ages import about
from stateward.engines.connection.base import Speed
from stateward.kube.objects.metadata import ObjectMeta
from stateward.kube.objects.pods import Condition, ContainerStatus, Pod, PodStatus
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.timeline.history import Entry, History, Kind
from stateward.timeline.phases import Phase
from tests.unit.cli.clusters import SPEC, typed

MIB = 2**20
MADE = datetime(2026, 1, 1, tzinfo=UTC)
NOTHING = History()
WEEK = 7 * 86_400.0


def pod(seconds: float, pool: str = "hot", restarts: int = 0, agent: str = "") -> Pod:
    """Return a pod that was ready so many seconds after it was made."""
    ready = Condition(type="Ready", status="True", last_transition_time=MADE + timedelta(seconds=seconds))
    containers = (ContainerStatus(ready=True, restart_count=restarts),)
    annotations = {names.ANNOTATION_AGENT: agent} if agent else {}
    labels = {names.LABEL_POOL: pool, names.LABEL_MEMBER: "p"}
    meta = ObjectMeta(name="p-0", labels=labels, annotations=annotations, creation_timestamp=MADE)
    return Pod(metadata=meta, status=PodStatus(phase="Running", conditions=(ready,), container_statuses=containers))


def existing(*pods: Pod, cluster: Cluster | None = None) -> ClusterObjects:
    return ClusterObjects(cluster or typed(SPEC), (), pods, (), (), {}, {})


def paced(objects: ClusterObjects, speed: Speed, history: History = NOTHING) -> Pacing:
    return pacing(objects, history, speed)


def step(what: Phase, begin: float, end: float) -> Entry:
    """Return a phase of the member, in seconds after its pod was made."""
    made = int(MADE.timestamp())
    return Entry(kind=Kind.MEMBER, subject="p", what=what, begin=made + int(begin), end=made + int(end), pool="hot")


def known(*steps: Entry, begin: float = -3600, until: float = 2 * WEEK) -> History:
    """Return a history that was stored at `until`, in seconds after the member's pod was made."""
    made = int(MADE.timestamp())
    return History(begin=made + int(begin), until=made + int(until), ended=steps)


def test_the_last_starts_of_pods_are_the_start_of_their_pool() -> None:
    found = paced(existing(pod(40), pod(50), pod(90), pod(20, "managers")), Speed())
    assert found.durations.starts == {"hot": 50.0, "managers": 20.0}
    assert found.rests_on[0] == "a member of hot starts in 50 s: measured, the last starts of 3 pods"
    assert found.rests_on[1] == "a member of managers starts in 20 s: measured, the last start of its pod"


def test_a_pool_that_is_new_starts_like_the_others() -> None:
    assert paced(existing(pod(40), pod(50, "managers")), Speed()).durations.start_of("warm") == 45.0


def test_an_ended_container_provides_no_information() -> None:
    found = paced(existing(pod(4000, restarts=1)), Speed())
    assert found.rests_on[0] == "a member starts in 60 s: assumed, because no pod shows its last start"


def test_what_the_database_reports_is_reported_as_from_there() -> None:
    found = paced(existing(), Speed(limit=100.0 * MIB, at_once=4, rate=20.0 * MIB, rates=7, reopen=0.6, reopened=9))
    assert (found.durations.rate, found.durations.at_once, found.durations.reopen) == (80.0 * MIB, 4, 0.6)
    assert found.rests_on[1:] == (
        "a node takes 80 MiB/s of recovering copies, 4 at once: measured, the last 7 recoveries",
        "a copy whose data is on its node already is back in 0.6 s: measured, the last 9 of them",
    )


def test_what_the_database_does_not_tell_is_reported_as_assumed() -> None:
    assert paced(existing(), Speed()).rests_on[1:] == (
        "a node takes 40 MiB/s of recovering copies, 2 at once: assumed, the database's default",
        "a copy whose data is on its node already is back in 2.0 s: assumed",
    )


def test_the_last_expansion_of_each_volume_is_what_the_storage_takes() -> None:
    def grown(member: str, begin: float, end: float) -> Entry:
        return replace(step(Phase.GROW, begin, end), subject=member)

    history = known(grown("p", 0, 90), grown("p", 100, 110), grown("q", 100, 104), step(Phase.MOVE, 0, 999))
    found = paced(existing(), Speed(), history)
    assert found.durations.grow == pytest.approx((9.5 + 3.5) / 2)
    assert found.grow_known
    assert "a volume is expanded in 6 s: measured, the last of 2" in found.rests_on
    assert paced(existing(), Speed(), known(grown("p", 100, 100))).durations.grow == 0.5
    assumed = paced(existing(), Speed(), known(grown("p", 3 * WEEK, 3 * WEEK + 9)))
    assert not assumed.grow_known
    assert assumed.durations.grow == 15.0
    assert not any("volume" in words for words in assumed.rests_on)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (8, "8 s"), (47, "50 s"), (89, "90 s"), (200, "3 min"), (3600, "1 h"), (5900, "98 min"), (None, "")],
)
def test_estimates_are_not_more_exact_than_they_are(seconds: float | None, text: str) -> None:
    shown = about(seconds)
    assert shown == ("1 h 38 min" if text == "98 min" else text)


def test_starts_vary_as_much_as_they_were_measured_to_around_the_median_of_their_pool() -> None:
    assert paced(
        existing(pod(40), pod(40), pod(80), pod(20, "managers"), pod(20, "managers")), Speed()
    ).start_spread == (pytest.approx(0.323, abs=1e-3))


def test_a_few_starts_do_not_tell_how_much_they_vary() -> None:
    assert paced(existing(pod(40), pod(50), pod(90)), Speed()).start_spread is None
    one_each = [pod(10.0 * number, f"pool-{number}") for number in range(1, 6)]
    assert paced(existing(*one_each), Speed()).start_spread is None


def test_a_process_that_was_restarted_in_its_pod_shows_its_absence_and_not_the_age_of_the_pod() -> None:
    """A pod of a week whose process was restarted had "a start of a week", so forecasts were of weeks."""
    steps = (step(Phase.CREATE, -3, 65), step(Phase.RESTART, WEEK - 9, WEEK))
    found = paced(existing(pod(WEEK, agent="1")), Speed(), known(*steps))
    assert found.durations.restarts == {"hot": 9.0}
    starts = [pytest.approx(found.durations.start_of(pool)) for pool in ("hot", "warm")]
    assert (found.durations.stop, starts) == (3.0, [11.1, 11.1])
    assert found.rests_on[:2] == (
        "a member of hot starts in 11 s: measured in kept pods, and 3 s for a new one",
        "a member of hot is away for 9 s if its pod is kept: measured, the last of 1",
    )


def test_a_pod_that_was_made_during_a_restart_shows_its_start_and_the_stop_before_it() -> None:
    steps = (step(Phase.CREATE, -5000, -4900), step(Phase.UPGRADE, -4, 17))
    found = paced(existing(pod(16, agent="1")), Speed(), known(*steps, begin=-9000))
    assert (found.durations.start_of("hot"), found.durations.stop) == (15.5, 4.0)
    assert found.durations.restarts == {}


def test_first_starts_are_longer_than_later_ones() -> None:
    slow = paced(existing(pod(205, agent="1")), Speed(), known(step(Phase.CREATE, -2, 205)))
    assert slow.durations.start_of("hot") == slow.durations.start == 60.0
    assert slow.rests_on[0] == (
        "a member of hot starts in 60 s: assumed, because only first starts are known, and these took much longer"
    )
    fast = paced(existing(pod(15, agent="1")), Speed(), known(step(Phase.CREATE, -2, 21)))
    assert fast.durations.start_of("hot") == fast.durations.start == pytest.approx(7.8)
    assert fast.rests_on[0] == (
        "a member of hot starts in 8 s: two fifths of the first start of its members, in which they wait for images,"
        " volumes and each other"
    )


def test_without_the_history_of_a_pod_with_an_agent_its_age_is_no_start() -> None:
    for history in (NOTHING, known(begin=60)):
        assert paced(existing(pod(WEEK, agent="1")), Speed(), history).durations.starts == {}
    assert paced(existing(pod(20, agent="1")), Speed(), known()).durations.starts == {"hot": 20.0}
    assert paced(existing(pod(20)), Speed()).durations.starts == {"hot": 20.0}


def test_a_restart_after_the_history_was_stored_makes_the_age_of_a_pod_no_start() -> None:
    """A restart that the operator had not stored yet made a start of 73 s of a pod that was restarted at that age."""
    stored = known(begin=-2, until=60)
    assert paced(existing(pod(73, agent="1")), Speed(), stored).durations.starts == {}
    assert paced(existing(pod(20, agent="1")), Speed(), stored).durations.starts == {"hot": 20.0}


def test_a_process_that_failed_in_its_pod_makes_its_age_no_start() -> None:
    failed = known(step(Phase.DOWN, WEEK - 30, WEEK))
    assert paced(existing(pod(WEEK, agent="1")), Speed(), failed).durations.starts == {}
    waited = known(step(Phase.WAIT, WEEK - 30, WEEK), until=WEEK + 60)
    assert paced(existing(pod(20, agent="1")), Speed(), waited).durations.starts == {"hot": 20.0}


def test_an_end_that_a_reader_has_guessed_is_no_measurement() -> None:
    """What lasted when the history was stored has ended since; the reader knows only that it did."""
    guessed = known(step(Phase.RESTART, 100, 400), until=110)
    assert paced(existing(pod(107, agent="1")), Speed(), guessed).durations.restarts == {}


def test_the_usual_start_is_the_better_known_the_more_starts_were_measured() -> None:
    assert paced(existing(), Speed()).usual_spread == ASSUMED_SPREAD
    assert paced(existing(pod(40)), Speed()).usual_spread == 0.25
    varied = paced(existing(pod(10), pod(50), pod(190), pod(30)), Speed()).usual_spread
    assert LEAST_SPREAD < varied < ASSUMED_SPREAD
    assert paced(existing(*[pod(40)] * 9), Speed()).usual_spread == LEAST_SPREAD
