"""How long the steps of a cluster took: from its pods and its history, and from nothing that does not show it."""

from typing import Any

import msgspec
import pytest

from stateward.api.values import names
from stateward.engines.connection.base import Speed
from stateward.forecast.durations import CROWD, REACTION, in_a_kept_pod
from stateward.kube.objects.pods import Pod
from stateward.operator.observe.durations import Sample, measured_durations, samples, times_of
from stateward.timeline.history import Entry, History, Kind
from stateward.timeline.phases import Phase

CREATED = 1_000


def stamp(seconds: int) -> str:
    return f"1970-01-01T00:{seconds // 60:02}:{seconds % 60:02}Z"


def pod(*, ready: int | None = None, agent: bool = True, restarts: int = 0) -> Pod:
    """Return a pod that was created at 1,000 s and became ready then; another condition is older."""
    conditions = [{"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp(CREATED + 1)}]
    if ready is not None:
        conditions.append({"type": "Ready", "status": "True", "lastTransitionTime": stamp(ready)})
    body: dict[str, Any] = {
        "metadata": {
            "name": "logs-hot-0-0",
            "creationTimestamp": stamp(CREATED),
            "labels": {names.LABEL_POOL: "hot", names.LABEL_MEMBER: "logs-hot-0"},
            "annotations": {names.ANNOTATION_AGENT: "1"} if agent else {},
        },
        "status": {"conditions": conditions, "containerStatuses": [{"name": "c", "restartCount": restarts}]},
    }
    return msgspec.convert(body, Pod, strict=False)


def step(what: Phase, begin: int, end: int, kind: Kind = Kind.MEMBER) -> Entry:
    return Entry(kind=kind, subject="logs-hot-0", what=what.value, begin=begin, end=end)


NOTHING, COMPLETE = History(), History(begin=900, until=2_000)


def test_a_pod_without_an_agent_shows_its_own_start() -> None:
    assert list(samples(pod(ready=1_040, agent=False), [], NOTHING)) == [Sample("pods", 40.0)]
    assert list(samples(pod(ready=1_040), [], NOTHING)) == [], "its process may have been restarted in it"
    assert list(samples(pod(ready=1_040), [], COMPLETE)) == [Sample("pods", 40.0)], "the history would show it"
    assert list(samples(pod(ready=1_040, agent=False, restarts=1), [], NOTHING)) == []


@pytest.mark.parametrize("agent", [True, False])
def test_a_machine_whose_clock_is_behind_shows_no_start_before_the_creation(agent: bool) -> None:
    assert list(samples(pod(ready=CREATED - 1, agent=agent), [], COMPLETE)) == []
    assert list(samples(pod(ready=CREATED, agent=agent), [], COMPLETE)) == [Sample("pods", 0.0)]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([step(Phase.RECREATE, 990, 1_040)], [Sample("pods", 40.0 - REACTION, 10.0)]),
        ([step(Phase.CREATE, 990, 1_040)], [Sample("first", 40.0 - REACTION)]),
        ([step(Phase.CREATE, 1_005, 1_040)], [Sample("first", 40.0 - REACTION)]),
        ([step(Phase.CREATE, 900, 950)], []),
        ([step(Phase.CREATE, 900, 950), step(Phase.RECREATE, 990, 1_040)], [Sample("pods", 40.0 - REACTION, 10.0)]),
        ([step(Phase.RECREATE, 900, 950)], []),
        ([step(Phase.RECREATE, 900, 950), step(Phase.RECREATE, 990, 1_040)], [Sample("pods", 40.0 - REACTION, 10.0)]),
        ([step(Phase.RECREATE, 990, 1_040), step(Phase.MOVE, 995, 1_050)], [Sample("pods", 40.0 - REACTION, 10.0)]),
        ([step(Phase.RESTART, 1_200, 1_230)], [Sample("kept", 30.0)]),
    ],
)
def test_the_history_tells_which_start_a_pod_shows(steps: list[Entry], expected: list[Sample]) -> None:
    assert list(samples(pod(ready=1_040), steps, NOTHING)) == expected


def restarted(name: str, begin: int, end: int, what: Phase = Phase.RESTART) -> Entry:
    return Entry(kind=Kind.MEMBER, subject=name, what=what.value, begin=begin, end=end)


def named(name: str) -> Pod:
    """Return the same pod of another member."""
    found = pod()
    labels = {**found.metadata.labels, names.LABEL_MEMBER: name}
    return msgspec.structs.replace(found, metadata=msgspec.structs.replace(found.metadata, labels=labels))


@pytest.mark.parametrize(
    ("others", "kept", "together"),
    [
        ([(1_100, 1_140), (1_101, 1_130)], [8.0], [40.0, 29.0, 40.0]),
        ([(1_100, 1_140), (1_140, 1_150)], [40.0, 10.0, 40.0], []),
    ],
    ids=["all at once", "one serves"],
)
def test_restarts_of_all_members_at_once_tell_nothing_about_one_alone(
    others: list[tuple[int, int]], kept: list[float], together: list[float]
) -> None:
    """Members that start at once wait for each other, and share machines."""
    pods = [named(f"logs-hot-{number}") for number in range(3)]
    entries = [restarted("logs-hot-0", 1_020, 1_028), restarted("logs-hot-0", 1_100, 1_140)]
    entries += [restarted(f"logs-hot-{number}", *when) for number, when in enumerate(others, 1)]
    found = times_of(pods, History(begin=900, until=2_000, ended=tuple(entries)))
    assert sorted(found.kept.get("hot", ())) == sorted(kept)
    assert sorted(found.together.get("hot", ())) == sorted(together)


def test_pods_that_are_all_made_at_once_show_how_long_that_takes_and_bound_the_start_of_one() -> None:
    pods = [named(f"logs-hot-{number}") for number in range(2)]
    entries = tuple(restarted(f"logs-hot-{number}", 990, 1_060, Phase.RECREATE) for number in range(2))
    times = times_of(pods, History(begin=900, until=2_000, ended=entries))
    assert (times.pods, times.kept) == ({}, {})
    made = measured_durations(times, Speed())
    assert made.together == {"hot": pytest.approx(in_a_kept_pod(60.0 - REACTION))}
    assert made.start_of("hot", together=True) == pytest.approx(60.0 - REACTION)
    assert made.start_of("hot") == pytest.approx((60.0 - REACTION) / CROWD)
    assert made.start_of("new pool") == made.start_of("hot")


def test_steps_of_the_cluster_are_no_steps_of_a_member_of_its_name() -> None:
    ended = (
        step(Phase.RECREATE, 990, 1_040),
        step(Phase.RESTART, 1_100, 1_200, next(kind for kind in Kind if kind is not Kind.MEMBER)),
    )
    found = times_of([pod(ready=1_040)], History(begin=900, until=2_000, ended=ended))
    assert (found.pods, found.kept, found.stops) == ({"hot": [40.0 - REACTION]}, {}, [10.0])
