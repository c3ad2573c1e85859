"""A live read serves the second half of a step only if nothing but templates was written, and nothing has changed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stateward.api.values import names
from stateward.kube.objects.metadata import Key, ObjectMeta, PartialObject
from stateward.kube.objects.nodes import Node
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.storage import PersistentVolumeClaim
from stateward.kube.objects.workloads import StatefulSet
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.last_read import SECONDS, LastReads, is_restart
from stateward.planning.model.actions import (
    Action,
    DeletePod,
    Flush,
    LimitAllocation,
    Release,
    RestoreAllocation,
    Stage,
)
from stateward.planning.model.observation import Allocation, Ref
from stateward.planning.plan import Plan
from tests.support.moved_clock import MovedClock
from tests.unit.engines.search_clusters import cluster

KEY = Key("data", "logs")
STAGE = Stage(why="x", member="logs-hot-1", pool="hot", version="2.19.5")
OTHERS: tuple[Action, ...] = (Flush(why="x"), DeletePod(why="x", member="logs-hot-0", pod=Ref("p", "u", "1")))


def meta(name: str, ordinal: int, version: str = "1", uid: str = "") -> ObjectMeta:
    labels = {names.LABEL_MEMBER: f"logs-hot-{ordinal}"}
    return ObjectMeta(name=name, uid=uid or f"uid-{name}", resource_version=version, labels=labels)


def objects(**changed: Any) -> ClusterObjects:
    made = ClusterObjects(
        cluster=cluster(),
        sets=tuple(StatefulSet(metadata=meta(f"logs-hot-{n}", n)) for n in range(2)),
        pods=tuple(Pod(metadata=meta(f"logs-hot-{n}-0", n)) for n in range(2)),
        claims=tuple(PersistentVolumeClaim(metadata=meta(f"data-logs-hot-{n}", n)) for n in range(2)),
        secrets=tuple(PartialObject(metadata=meta(f"logs-hot-{n}-config", n)) for n in range(2)),
        nodes={},
        classes={},
    )
    return replace(made, **changed)


def taken(
    cached: ClusterObjects, done: Sequence[Action] = (STAGE,), *, after: float = 0.5, read: ClusterObjects | None = None
) -> ClusterObjects | None:
    clock = MovedClock()
    reads = LastReads(clock)
    began = reads.begin()
    reads.keep(KEY, began, read or objects(live=True), done)
    clock.later(after)
    found = reads.take(KEY, cached)
    assert reads.take(KEY, cached) is None, "it is taken once"
    assert found is None or found[0] == began
    return found and found[1]


def test_what_the_caches_show_unchanged_counts_as_read_live() -> None:
    found = taken(objects())
    assert found is not None
    assert found.live


def test_what_this_process_wrote_may_be_newer() -> None:
    sets = (objects().sets[0], StatefulSet(metadata=meta("logs-hot-1", 1, "2")))
    secrets = (objects().secrets[0], PartialObject(metadata=meta("logs-hot-1-config", 1, "2")))
    found = taken(objects(sets=sets, secrets=secrets))
    assert found is not None
    assert found.sets == sets


@pytest.mark.parametrize("done", [(), (STAGE, *OTHERS), OTHERS[:1]])
def test_nothing_but_templates_may_have_been_written(done: tuple[Action, ...]) -> None:
    assert taken(objects(), done) is None


def test_an_old_read_and_a_cache_that_lags_behind_own_writes_are_not_used() -> None:
    assert taken(objects(), after=SECONDS + 0.1) is None
    assert taken(objects(caught_up=False)) is None


@pytest.mark.parametrize(("seconds", "old"), [(0.0, False), (SECONDS, False), (SECONDS + 0.1, True)])
def test_any_live_read_is_old_after_the_same_time(*, seconds: float, old: bool) -> None:
    clock = MovedClock()
    reads = LastReads(clock)
    began = reads.begin()
    clock.later(seconds)
    assert reads.is_old(began) is old


@pytest.mark.parametrize("kind", ["sets", "pods", "claims", "secrets"])
@pytest.mark.parametrize("what", ["newer", "another", "gone"])
def test_an_object_that_differs_in_any_way_is_read_again(kind: str, what: str) -> None:
    first, second = getattr(objects(), kind)
    name = first.metadata.name
    other = {"newer": meta(name, 0, "2"), "another": meta(name, 0, uid="another")}
    changed = (second,) if what == "gone" else (msgspec.structs.replace(first, metadata=other[what]), second)
    assert taken(objects(**{kind: changed})) is None


@pytest.mark.parametrize("kind", ["sets", "secrets"])
def test_what_was_written_must_still_be_the_same_object(kind: str) -> None:
    first, second = getattr(objects(), kind)
    another = msgspec.structs.replace(second, metadata=meta(second.metadata.name, 1, uid="another"))
    assert taken(objects(**{kind: (first, another)})) is None


def test_a_new_request_of_the_user_is_read_again() -> None:
    before = cluster()
    annotated = msgspec.structs.replace(before.metadata, annotations={"stateward.dev/x": "y"})
    assert taken(objects(cluster=msgspec.structs.replace(before, metadata=annotated))) is None
    newer = msgspec.structs.replace(before.metadata, resource_version="9")
    assert taken(objects(cluster=msgspec.structs.replace(before, metadata=newer))) is not None, "only the status"


def test_a_node_that_is_not_ready_is_read_again() -> None:
    bound = tuple(
        msgspec.structs.replace(pod, spec=msgspec.structs.replace(pod.spec, node_name="n1")) for pod in objects().pods
    )
    broken = objects(pods=bound, nodes={"n1": Node(metadata=ObjectMeta(name="n1"))})
    assert taken(broken, read=replace(broken, live=True)) is None


@pytest.mark.parametrize(
    ("actions", "restarts"),
    [
        ((LimitAllocation(why="x", allocation=Allocation.PRIMARIES), *OTHERS), True),
        ((RestoreAllocation(why="x"), *OTHERS), True),
        ((STAGE,), False),
        ((*OTHERS, Release(why="x", member="logs-hot-1", workload=Ref("s", "u", "1"))), False),
    ],
)
def test_only_a_restart_relies_on_a_read_once_more(actions: tuple[Action, ...], restarts: bool) -> None:
    made = Plan(actions, {}, (), (), "", settled=False)
    assert is_restart(made) is restarts
    assert not is_restart(msgspec.structs.replace(made, forgets=True))
