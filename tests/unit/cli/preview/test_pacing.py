"""The sources of a time forecast: measured on the cluster, or reported as assumed."""

from datetime import UTC, datetime, timedelta

import pytest

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.cli.preview.pacing import pacing
from stateward.cli.shared.ages import about
from stateward.engines.connection.base import Speed
from stateward.kube.objects.metadata import ObjectMeta
from stateward.kube.objects.pods import Condition, ContainerStatus, Pod, PodStatus
from stateward.operator.objects.cluster_objects import ClusterObjects
from tests.unit.cli.clusters import SPEC, typed

MIB = 2**20
MADE = datetime(2026, 1, 1, tzinfo=UTC)


def pod(seconds: float, pool: str = "hot", restarts: int = 0) -> Pod:
    """Return a pod that was ready so many seconds after it was made."""
    ready = Condition(type="Ready", status="True", last_transition_time=MADE + timedelta(seconds=seconds))
    containers = (ContainerStatus(ready=True, restart_count=restarts),)
    meta = ObjectMeta(name="p", labels={names.LABEL_POOL: pool}, creation_timestamp=MADE)
    return Pod(metadata=meta, status=PodStatus(phase="Running", conditions=(ready,), container_statuses=containers))


def existing(*pods: Pod, cluster: Cluster | None = None) -> ClusterObjects:
    return ClusterObjects(cluster or typed(SPEC), (), pods, (), (), {}, {})


def test_the_last_starts_of_pods_are_the_start_of_their_pool() -> None:
    found = pacing(existing(pod(40), pod(50), pod(90), pod(20, "managers")), Speed())
    assert found.durations.starts == {"hot": 50.0, "managers": 20.0}
    assert found.rests_on[0] == "a member of hot starts in 50 s: measured, the last starts of 3 pods"
    assert found.rests_on[1] == "a member of managers starts in 20 s: measured, the last start of its pod"


def test_a_pool_that_is_new_starts_like_the_others() -> None:
    assert pacing(existing(pod(40), pod(50, "managers")), Speed()).durations.start_of("warm") == 45.0


def test_an_ended_container_provides_no_information() -> None:
    found = pacing(existing(pod(4000, restarts=1)), Speed())
    assert found.rests_on[0] == "a member starts in 60 s: assumed, because no pod shows its last start"


def test_what_the_database_reports_is_reported_as_from_there() -> None:
    found = pacing(existing(), Speed(limit=100.0 * MIB, at_once=4, rate=20.0 * MIB, rates=7, reopen=0.6, reopened=9))
    assert (found.durations.rate, found.durations.at_once, found.durations.reopen) == (80.0 * MIB, 4, 0.6)
    assert found.rests_on[1:] == (
        "a node takes 80 MiB/s of recovering copies, 4 at once: measured, the last 7 recoveries",
        "a copy whose data is on its node already is back in 0.6 s: measured, the last 9 of them",
    )


def test_what_the_database_does_not_tell_is_reported_as_assumed() -> None:
    assert pacing(existing(), Speed()).rests_on[1:] == (
        "a node takes 40 MiB/s of recovering copies, 2 at once: assumed, the database's default",
        "a copy whose data is on its node already is back in 2.0 s: assumed",
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.2, "1 s"), (8, "8 s"), (47, "50 s"), (89, "90 s"), (200, "3 min"), (3600, "1 h"), (5900, "98 min"), (None, "")],
)
def test_estimates_are_not_more_exact_than_they_are(seconds: float | None, text: str) -> None:
    shown = about(seconds)
    assert shown == ("1 h 38 min" if text == "98 min" else text)


def test_starts_vary_as_much_as_they_were_measured_to_around_the_median_of_their_pool() -> None:
    assert pacing(
        existing(pod(40), pod(40), pod(80), pod(20, "managers"), pod(20, "managers")), Speed()
    ).start_spread == (pytest.approx(0.4002, abs=1e-4))


def test_a_few_starts_do_not_tell_how_much_they_vary() -> None:
    assert pacing(existing(pod(40), pod(50), pod(90)), Speed()).start_spread is None
    one_each = [pod(10.0 * number, f"pool-{number}") for number in range(1, 6)]
    assert pacing(existing(*one_each), Speed()).start_spread is None
