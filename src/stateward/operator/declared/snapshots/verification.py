"""One step of the verification of a schedule's snapshots: read what exists, decide, and make or delete one object."""

from typing import Any, cast

import msgspec

from stateward.api.kinds.search import SearchCluster
from stateward.api.kinds.search_object import SearchObjectStatus
from stateward.api.kinds.snapshots.restore import SearchRestoreStatus
from stateward.api.kinds.snapshots.schedule import SearchSnapshotSchedule
from stateward.api.kinds.snapshots.verification import VerificationStatus
from stateward.api.kinds.status import ClusterStatus
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.search.snapshots import throwaway
from stateward.engines.search.snapshots.verification import (
    Do,
    Part,
    Seen,
    Step,
    Wanted,
    concerns_cluster,
    decide,
    makes_cluster,
    problems,
)
from stateward.kube.client.client import Api, DeleteOptions, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import AlreadyExists, Conflict, NotFound
from stateward.kube.objects.metadata import Key, ObjectMeta, WireRecord
from stateward.kube.objects.resource import Resource, Selection
from stateward.operator.declared.reporting import is_ready
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
DISABLED = (
    "VerificationDisabled",
    "the operator does not verify snapshots: an administrator installs it with verifySnapshots (--verify-snapshots)",
)


class OwnedCluster(WireRecord):
    """A cluster with its owners."""

    metadata: ObjectMeta = ObjectMeta()
    status: ClusterStatus = ClusterStatus()


class OwnedObject(WireRecord):
    """A declared object with its owners."""

    metadata: ObjectMeta = ObjectMeta()
    status: SearchObjectStatus = SearchObjectStatus()


class OwnedRestore(WireRecord):
    """A restore with its owners."""

    metadata: ObjectMeta = ObjectMeta()
    status: SearchRestoreStatus = SearchRestoreStatus()


class Verification:
    """One step for one schedule, from its live state; `allowed` is whether clusters may be created and deleted."""

    def __init__(self, api: Api, live: SearchSnapshotSchedule, now: float, *, allowed: bool) -> None:
        self._api = api
        self._live = live
        self._allowed = allowed
        self._kind = next(each.resource for each in CLUSTER_KINDS if each.resource.kind == str(live.spec.cluster.kind))
        self._where = Key(live.metadata.namespace, throwaway.cluster_name(live.metadata.name))
        created = parse_time(live.metadata.creation_timestamp or "") or now
        self.wanted = Wanted(created, now, live.spec, live.status)
        self._cluster: OwnedCluster | None = None
        self._source: throwaway.Source | None = None

    async def run(self) -> tuple[VerificationStatus | None, float]:
        """Do one step; returns the status after it, and the seconds until the next one. Raises ApiError, LostLease."""
        known = self._live.status.verification
        if not concerns_cluster(self.wanted) or any(problems(self._live.spec)):
            return known, CALM
        step = decide(self.wanted, await self._seen())
        await self._do(step)
        if step.do is Do.NOTHING:
            return step.status, self._calm(step.status)
        if step.do is Do.WAIT:
            return step.status, HINDERED if self._cluster is None else WAIT
        return step.status, SOON

    def _calm(self, status: VerificationStatus) -> float:
        following = parse_time(status.next_schedule_time)
        return CALM if following is None else min(CALM, max(SOON, following - self.wanted.now))

    async def _seen(self) -> Seen:
        """Read live what exists of the verification, or why there can be none."""
        self._cluster = await self._get(self._kind.viewed_as(OwnedCluster))
        if self._cluster is None:
            return Seen(hindrance=await self._hindrance())
        uid = self._cluster.metadata.uid
        cluster = _part(self._cluster, self._live.metadata.uid)
        if not cluster.ours or cluster.terminating:
            return Seen(cluster=cluster)
        repository = await self._get(SEARCH_OBJECTS.viewed_as(OwnedObject))
        restore = await self._get(SEARCH_RESTORES.viewed_as(OwnedRestore))
        return Seen(
            cluster,
            None if repository is None else _part(repository, uid),
            None if restore is None else _part(restore, uid),
            None if restore is None else restore.status,
        )

    async def _hindrance(self) -> tuple[str, str] | None:
        """Return why a cluster cannot be made now: a reason, and a sentence. Nothing is read if none is to be made."""
        if not makes_cluster(self.wanted):
            return None
        if not self._allowed:
            return DISABLED
        name, repository = self._live.spec.cluster.name, self._live.spec.repository
        try:
            stored = await self._api.get(self._kind.raw(), Key(self._where.namespace, name))
        except NotFound:
            return "ClusterMissing", f"there is no {self._kind.kind} {name} in this namespace"
        cluster = cast("SearchCluster", msgspec.convert(stored, self._kind.view, strict=False))
        self._source = throwaway.Source(cluster, cast("Json", stored["spec"]))
        if (found := next(throwaway.hindrances(self._source), None)) is not None:
            return found
        if await self._declared() is None:
            return "RepositoryNotDeclared", f"no SearchObject of {name} declares snapshotRepository/{repository}"
        return await self._remains()

    async def _remains(self) -> tuple[str, str] | None:
        """Return which pod or claim of the throw-away cluster before is left: the next one must not get its data."""
        selection = Selection(self._where.namespace, labels=f"{names.LABEL_CLUSTER}={self._where.name}")
        for kind in (kinds.PODS.metadata_only(), kinds.CLAIMS.metadata_only()):
            if found := await everything(self._api, kind, selection):
                text = f"{kind.kind} {found[0].metadata.name} of the throw-away cluster before is still being removed"
                return "VerificationEnds", text
        return None

    async def _declared(self) -> Any:
        objects = await everything(self._api, SEARCH_OBJECTS, Selection(self._where.namespace))
        return throwaway.declared_repository(self._live, objects)

    async def _do(self, step: Step) -> None:
        live, verify = self._live, self._live.spec.verify
        if step.do is Do.CREATE and self._source is not None and verify is not None:
            pool = self._source.pool()
            if pool is not None:
                await self._create(self._kind, throwaway.cluster(live, verify, self._source, pool))
        elif step.do is Do.DELETE and self._cluster is not None:
            meta = self._cluster.metadata
            options = DeleteOptions(Preconditions(meta.uid, meta.resource_version))
            try:
                await self._api.delete(self._kind, self._where, options)
            except (NotFound, Conflict):
                return  # It is gone, or has changed: the next step reads it again.
        elif self._cluster is not None and step.do in (Do.DECLARE, Do.RESTORE):
            owner = throwaway.reference(self._kind.kind, self._where.name, self._cluster.metadata.uid)
            if step.do is Do.RESTORE:
                await self._create(SEARCH_RESTORES, throwaway.restore(live, self.wanted.known.snapshot, owner))
            elif (declared := await self._declared()) is not None:
                await self._create(SEARCH_OBJECTS, throwaway.repository(live, declared, owner))

    async def _create(self, kind: Resource[Any], document: Json) -> None:
        """Create an object; one of that name is left as it is, and the next step reads it. Raises ApiError."""
        try:
            await self._api.create(kind.raw(), document, namespace=self._where.namespace)
        except AlreadyExists:
            return

    async def _get(self, kind: Resource[Any]) -> Any:
        try:
            return await self._api.get(kind, self._where)
        except NotFound:
            return None


def _part(found: OwnedCluster | OwnedObject | OwnedRestore, owner: str) -> Part:
    """Return what matters of an object that is made for a verification; `owner` is the UID of its owner."""
    status = found.status
    return Part(
        ours=found.metadata.controller_uid == owner,
        ready=is_ready(status),
        terminating=found.metadata.terminating,
        message=status.activity,
        stalled=next(
            (each.reason for each in status.conditions if each.type == "Stalled" and each.status == "True"), ""
        ),
    )
