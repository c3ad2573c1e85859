"""The last live read of each cluster, as long as a second step may rely on it, and how old any live read may be.

A member's new template is written, and a moment later its StatefulSet has observed it and the pod may be deleted. Both
are one step of a rollout, and one live read is enough for it, if in between

* nothing was done for the cluster except to write templates,
* no more than `SECONDS` have passed, which is less than a step may take anyway (a flush alone takes longer), and
* the caches have observed these writes, and show every other object exactly as it was read, by UID and version, and
* neither shows anything wrong with a node or a storage class (`live`).

Then the state is still the one of that live read: a deletion names the UID and version from it, and members that are
down count by it. The database and the agents are asked again. If anything differs, or if the plan does anything but
restart a member, everything is read again: volumes and members leave only on a live read of their own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msgspec.structs import replace as changed

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import Clock
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.live import has_classes, has_usable_nodes
from stateward.planning.model.actions import Action, DeletePod, Flush, LimitAllocation, SetPhase, Stage, StopProcess
from stateward.planning.plan import Plan

RESTART = (LimitAllocation, Flush, DeletePod, SetPhase, StopProcess)
"""The second half of a step. Templates are not part of it, so no read is relied on a third time."""
SECONDS = 2.0
"""How long a live read may be relied on: for the second half of a step, and while databases and agents answer."""


@dataclass(frozen=True, slots=True)
class _Read:
    at: float
    existing: ClusterObjects
    staged: frozenset[str]


class LastReads:
    """The last live reads, by cluster."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._reads: dict[Key, _Read] = {}

    def begin(self) -> float:
        """Return the time of a live read that begins now."""
        return self._clock.monotonic()

    def is_old(self, began: float) -> bool:
        """Return whether a live read that began at a time may no longer be relied on."""
        return self._clock.monotonic() - began > SECONDS

    def keep(self, key: Key, at: float, existing: ClusterObjects, done: Sequence[Action]) -> None:
        """Note a live read that began at a time, and what was done on it: only templates may have been written."""
        members = frozenset(action.member for action in done if isinstance(action, Stage))
        if done and all(isinstance(action, Stage) for action in done):
            self._reads[key] = _Read(at, existing, members)

    def forget(self, key: Key) -> None:
        """Forget the read of a cluster: something else was done, or it is gone."""
        self._reads.pop(key, None)

    def take(self, key: Key, cached: ClusterObjects) -> tuple[float, ClusterObjects] | None:
        """Return the cached objects as a live read and when that began, if they still are those of the last one.

        It is taken once.
        """
        last = self._reads.pop(key, None)
        if last is None or not cached.caught_up or self.is_old(last.at):
            return None
        return (last.at, replace(cached, live=True)) if _is_same(last.existing, cached, last.staged) else None


def is_restart(plan: Plan) -> bool:
    """Return whether a plan is the second half of a step: of what needs live reads, only the restart of a member."""
    return not plan.forgets and all(isinstance(action, RESTART) for action in plan.actions if action.needs_live)


def _is_same(read: ClusterObjects, cached: ClusterObjects, staged: frozenset[str]) -> bool:
    if _request(read.cluster) != _request(cached.cluster):
        return False
    if not (has_usable_nodes(read) and has_usable_nodes(cached) and has_classes(read) and has_classes(cached)):
        return False
    exact = ((read.pods, cached.pods), (read.claims, cached.claims))
    written = ((read.sets, cached.sets), (read.secrets, cached.secrets))
    return all(_versions(before) == _versions(now) for before, now in exact) and all(
        _versions(before, staged) == _versions(now, staged) for before, now in written
    )


def _versions(objects: Iterable[Any], staged: frozenset[str] = frozenset()) -> dict[str, tuple[str, str]]:
    """Return UID and version by name; no version of what was written for a member, which is newer than the read."""
    metas = [obj.metadata for obj in objects]
    return {
        meta.name: (meta.uid, "" if meta.labels.get(names.LABEL_MEMBER, "") in staged else meta.resource_version)
        for meta in metas
    }


def _request(cluster: Cluster) -> tuple[object, ...]:
    """Return what a user asks for: everything but the status, which the operator writes itself."""
    return changed(cluster.metadata, resource_version=""), cluster.spec
