"""One step of the verification of a schedule's snapshots: read what exists, and do what is decided from it."""

from typing import Any, cast

import msgspec

from stateward.api.kinds.search import SearchCluster
from stateward.api.kinds.search_object import SearchObject, SearchObjectStatus
from stateward.api.kinds.snapshots.schedule import SearchSnapshotSchedule
from stateward.api.kinds.snapshots.verification import VerificationStatus
from stateward.api.kinds.status import ClusterStatus
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.search.snapshots import throwaway
from stateward.engines.search.snapshots.verification import Do, Part, Seen, Step, Wanted, decide, refused
from stateward.kube.client.client import Api, DeleteOptions, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import AlreadyExists, BadRequest, Conflict, DecodeError, Forbidden, Invalid, NotFound
from stateward.kube.objects.metadata import Key, ObjectMeta, WireRecord
from stateward.kube.objects.resource import Resource, Selection
from stateward.operator.declared.reporting import is_ready, stalled_reason
from stateward.operator.declared.snapshots.first_restore import OwnedRestore
from stateward.operator.declared.views import SEARCH_OBJECTS, SEARCH_RESTORES
from stateward.operator.objects.kinds import CLUSTER_KINDS
from stateward.operator.objects.live import everything
from stateward.planning.model.times import parse_time

SOON = 1.0
"""Seconds until the step that follows from a written status, or from what was made."""
WAIT = 15.0
"""Seconds until the next reconciliation while it is in progress."""
HINDERED = 60.0
"""Seconds until the next attempt while no cluster can be made."""
CALM = 3600.0
"""Seconds until the next reconciliation while nothing is due."""


class OwnedCluster(WireRecord):
    """A cluster with its owners."""

    metadata: ObjectMeta = ObjectMeta()
    status: ClusterStatus = ClusterStatus()


class OwnedObject(WireRecord):
    """A declared object with its owners."""

    metadata: ObjectMeta = ObjectMeta()
    status: SearchObjectStatus = SearchObjectStatus()


class Verification:
    """One step for one schedule, from its live state; `allowed` is whether clusters may be created and deleted."""

    def __init__(self, api: Api, live: SearchSnapshotSchedule, now: float, *, allowed: bool) -> None:
        self._api = api
        self._allowed = allowed
        self._kind = next(each.resource for each in CLUSTER_KINDS if each.resource.kind == str(live.spec.cluster.kind))
        self._where = Key(live.metadata.namespace, throwaway.cluster_name(live.metadata.name))
        self._wanted = Wanted(live, now)

    async def run(self) -> tuple[VerificationStatus | None, float]:
        """Do one step; returns the status after it, and the seconds until the next one. Raises ApiError, LostLease.

        What is refused or cannot be read is in the status, and tried again: a quota or a policy that does not allow
        the throw-away cluster must not stop the schedule from taking snapshots.
        """
        if not self._wanted.concerns_cluster():
            return self._wanted.schedule.status.verification, CALM
        try:
            cluster = await self._get(self._kind.viewed_as(OwnedCluster))
            step = decide(self._wanted, await self._seen(cluster))
            await self._do(step, cluster)
        except (BadRequest, Forbidden, Invalid, DecodeError, msgspec.ValidationError) as error:
            return refused(self._wanted, str(error)), HINDERED
        if step.do is Do.NOTHING:
            return step.status, self._calm(step.status)
        if step.do is Do.WAIT:
            return step.status, HINDERED if cluster is None else WAIT
        return step.status, SOON

    def _calm(self, status: VerificationStatus) -> float:
        following = parse_time(status.next_schedule_time)
        return CALM if following is None else min(CALM, max(SOON, following - self._wanted.now))

    async def _seen(self, cluster: OwnedCluster | None) -> Seen:
        """Read live what the next step depends on."""
        ours = None if cluster is None else _part(cluster, self._wanted.schedule.metadata.uid)
        if ours is None or not ours.ours:
            if not self._wanted.makes_cluster():
                return Seen(self._allowed, ours)
            declared, remains = await self._declared(), await self._remains() if cluster is None else ""
            return Seen(self._allowed, ours, source=await self._source(), declared=declared, remains=remains)
        if ours.terminating or not self._wanted.running:
            return Seen(self._allowed, ours)  # It goes, whatever else there is.
        repository = await self._get(SEARCH_OBJECTS.viewed_as(OwnedObject))
        restore: OwnedRestore | None = await self._get(SEARCH_RESTORES.viewed_as(OwnedRestore))
        return Seen(
            self._allowed,
            ours,
            repository=None if repository is None else _part(repository, ours.uid),
            restore=None if restore is None else _part(restore, ours.uid),
            restored=None if restore is None else restore.status,
            declared=await self._declared() if repository is None else None,
        )

    async def _source(self) -> throwaway.Source | None:
        """Return the cluster whose snapshots are verified; None if there is none."""
        try:
            key = Key(self._where.namespace, self._wanted.schedule.spec.cluster.name)
            stored = await self._api.get(self._kind.raw(), key)
        except NotFound:
            return None
        cluster = cast("SearchCluster", msgspec.convert(stored, self._kind.view, strict=False))
        return throwaway.Source(cluster, cast("Json", stored["spec"]))

    async def _declared(self) -> SearchObject | None:
        """Return what declares the repository in that cluster."""
        objects = await everything(self._api, SEARCH_OBJECTS, Selection(self._where.namespace))
        return throwaway.declared_repository(self._wanted.schedule, objects)

    async def _remains(self) -> str:
        """Return the kind and name of a pod or claim of an earlier throw-away cluster; empty if nothing is left."""
        selection = Selection(self._where.namespace, labels=f"{names.LABEL_CLUSTER}={self._where.name}")
        for kind in (kinds.PODS.metadata_only(), kinds.CLAIMS.metadata_only()):
            if found := await everything(self._api, kind, selection):
                return f"{kind.kind} {found[0].metadata.name}"
        return ""

    async def _do(self, step: Step, cluster: OwnedCluster | None) -> None:
        """Make or delete what a step says; what has changed meanwhile is read again before the next one."""
        made, kind_of = step.made, {each.kind: each for each in (self._kind, SEARCH_OBJECTS, SEARCH_RESTORES)}
        try:
            if step.do is Do.MAKE and made is not None:
                await self._api.create(kind_of[made["kind"]].raw(), made, namespace=self._where.namespace)
            if step.do is Do.DELETE and cluster is not None:
                await self._api.delete(self._kind, self._where, DeleteOptions(Preconditions.of(cluster)))
        except (AlreadyExists, NotFound, Conflict):
            return

    async def _get(self, kind: Resource[Any]) -> Any:
        try:
            return await self._api.get(kind, self._where)
        except NotFound:
            return None


def _part(found: OwnedCluster | OwnedObject | OwnedRestore, owner: str) -> Part:
    """Return what matters of an object that is made for a verification; `owner` is the UID of its owner."""
    meta, status = found.metadata, found.status
    return Part(
        uid=meta.uid,
        ours=meta.controller_uid == owner,
        ready=is_ready(status),
        terminating=meta.terminating,
        message=status.activity,
        stalled=stalled_reason(status),
    )
