"""Performs actions, one by one and in order. Each is idempotent; a failure ends the round and is retried.

Deletes name the exact object by UID and resourceVersion. Every action is sent only by a process that holds the lease
and will hold it until the call has ended. The API server's answer to a write goes into the cache, so the next plan sees
it.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import structlog

from stateward.api.pod_policy import Level
from stateward.api.values import names
from stateward.api.values.quantity import format_quantity
from stateward.engines.connection.base import CommandedEngine, Engine, RefusedError, Target
from stateward.engines.pods.objects import MemberObjects, owner, with_grown_size
from stateward.kube.client.client import Api, ApplyOptions, DeleteOptions, PatchKind, Preconditions
from stateward.kube.election.fence import Fence
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import Conflict, NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.operator.act.agent_requests import AgentRequests
from stateward.operator.act.sync_now import behind
from stateward.operator.databases.engine import Family
from stateward.operator.declared.snapshots.first_restore import create_first_restore
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.ownership import NotOwnedError, TakenNames, key_in, own_secret
from stateward.operator.pod_rights.policy import PodNotAllowed, refuse
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Inputs, Ref
from stateward.planning.model.phase import BEGUN, Phase
from stateward.planning.model.times import rfc3339

__all__ = ["Actor", "NotOwnedError"]

RAW_CLAIMS = kinds.CLAIMS.raw()

_log = structlog.get_logger(__name__)


class Actor:
    """Carries out the actions of one cluster's plan."""

    def __init__(  # noqa: PLR0913 - the last two by name
        self,
        api: Api,
        caches: Caches,
        family: Family,
        agent_requests: AgentRequests,
        fence: Fence,
        *,
        taken: TakenNames,
        level: Level = Level.BASELINE,
    ) -> None:
        self._api = api
        self._caches = caches
        self._family = family
        self._agent_requests = agent_requests
        self._fence = fence
        self._taken = taken
        self._level = level

    async def carry_out(self, action: a.Action, existing: ClusterObjects, target: Target) -> None:
        """Perform one action; raises ApiError, EngineError or NotOwnedError, after which it may be retried unchanged.

        Every action is fenced, whether it goes to the API server, the database or an agent, including those that only
        end something: if another process may lead, this one must not decide what has ended. Raises LostLease in that
        case.
        """
        async with self._fence():
            _log.info("action", action=type(action).__name__, why=action.why, member=getattr(action, "member", ""))
            call = in_database(action, self._family.engine, target)
            if call is None:
                call = self._in_kubernetes(action, existing)
            await call

    def _in_kubernetes(self, action: a.Action, existing: ClusterObjects) -> Awaitable[None]:
        steps: dict[type[a.Action], Callable[[Any, ClusterObjects], Awaitable[None]]] = {
            a.Create: self._create,
            a.Stage: self._stage,
            a.DeletePod: self._delete_pod,
            a.Release: self._scale_to_zero,
            a.DeleteMember: self._delete_member,
            a.DeleteVolume: self._delete_volume,
            a.GrowVolume: self._grow,
            a.MarkVolume: self._mark_volume,
            a.MarkState: self._mark_state,
            a.ForgetState: self._forget_state,
            a.RetainVolume: self._retain_volume,
            a.OwnVolume: self._own_volume,
            a.RecordBootstrap: self._nothing,
            a.RecordRemoval: self._nothing,
            a.CancelRemoval: self._nothing,
            a.GrantBootstrap: self._grant,
            a.RestoreSnapshot: self._restore_snapshot,
            a.SetPhase: self._set_phase,
            a.StopProcess: self._stop_process,
            a.StartProcess: self._start_process,
            a.FinishRestart: self._finish_restart,
            a.RecordData: self._record_data,
            a.ClearSchedule: self._clear_schedule,
            a.ClearConsent: self._clear_consent,
            a.DeleteConfiguration: self._delete_configuration,
        }
        return steps[type(action)](action, existing)

    async def _nothing(self, action: a.Action, existing: ClusterObjects) -> None:
        """Do nothing: the status that is written at the end of the round is the record."""

    async def _delete_pod(self, action: a.DeletePod, existing: ClusterObjects) -> None:
        await self._delete(kinds.PODS, existing, action.pod)

    async def _delete_volume(self, action: a.DeleteVolume, existing: ClusterObjects) -> None:
        await self._delete(kinds.CLAIMS, existing, action.claim)

    async def _grant(self, action: a.GrantBootstrap, existing: ClusterObjects) -> None:
        await self._annotate(existing, action.pod, {names.ANNOTATION_BOOTSTRAP: "granted"})

    async def _restore_snapshot(self, _action: a.RestoreSnapshot, existing: ClusterObjects) -> None:
        await create_first_restore(self._api, existing.cluster)

    async def _set_phase(self, action: a.SetPhase, existing: ClusterObjects) -> None:
        if action.phase is Phase.NONE:
            await self._annotate_as_read(
                existing, action.pod, dict.fromkeys((names.ANNOTATION_PHASE, names.ANNOTATION_RESTART_STARTED))
            )
            return
        # A user may remove the phase; this annotation keeps the record that a restart was started.
        begun = {names.ANNOTATION_RESTART_STARTED: "true"} if action.phase in BEGUN else {}
        await self._annotate(existing, action.pod, {names.ANNOTATION_PHASE: action.phase.value, **begun})

    async def _stop_process(self, action: a.StopProcess, existing: ClusterObjects) -> None:
        await self._agent_requests.stop(existing, action.member, action.address)

    async def _start_process(self, action: a.StartProcess, existing: ClusterObjects) -> None:
        await self._agent_requests.start(existing, action.member, action.address, action.checksum)

    async def _finish_restart(self, action: a.FinishRestart, existing: ClusterObjects) -> None:
        checksum = {names.ANNOTATION_CHECKSUM: action.checksum} if action.checksum else {}
        over = dict.fromkeys((names.ANNOTATION_PHASE, names.ANNOTATION_RESTART_STARTED))
        changes = {**over, names.ANNOTATION_INPUTS: inputs_text(action.inputs), **checksum}
        await self._annotate_as_read(existing, action.pod, changes)

    async def _record_data(self, action: a.RecordData, existing: ClusterObjects) -> None:
        await self._annotate_as_read(existing, action.pod, {names.ANNOTATION_INPUTS: inputs_text(action.inputs)})

    async def _annotate_as_read(self, existing: ClusterObjects, pod: Ref, changes: Mapping[str, str | None]) -> None:
        """Annotate a pod only if it has not changed since the read: the record of its inputs must not be a guess."""
        meta = {"uid": pod.uid, "resourceVersion": pod.resource_version, "annotations": dict(changes)}
        await self._patch(kinds.PODS, existing, pod, {"metadata": meta})

    async def _clear_schedule(self, _action: a.ClearSchedule, existing: ClusterObjects) -> None:
        await self._remove_annotations(existing, names.ANNOTATION_PHASE, names.ANNOTATION_RESTART_POOLS)

    async def _clear_consent(self, _action: a.ClearConsent, existing: ClusterObjects) -> None:
        await self._remove_annotations(existing, names.ANNOTATION_BOOTSTRAP_AGAIN)

    async def _remove_annotations(self, existing: ClusterObjects, *annotations: str) -> None:
        """Remove a request from the cluster resource: the one that was read, and not a later one."""
        meta = existing.cluster.metadata
        key = Key(meta.namespace, meta.name)
        changes = dict.fromkeys(annotations)
        patch = {"metadata": {"uid": meta.uid, "resourceVersion": meta.resource_version, "annotations": changes}}
        written = await self._api.patch(self._family.kind.resource, key, patch, kind=PatchKind.MERGE)
        self._caches.expectations(key).wrote(self._caches.clusters, written)

    async def _delete_configuration(self, action: a.DeleteConfiguration, existing: ClusterObjects) -> None:
        await self._delete(kinds.SECRETS, existing, action.secret)

    async def _annotate(self, existing: ClusterObjects, pod: Ref, changes: Mapping[str, str | None]) -> None:
        patch = {"metadata": {"uid": pod.uid, "annotations": dict(changes)}}
        await self._patch(kinds.PODS, existing, pod, patch)

    async def _create(self, action: a.Create, existing: ClusterObjects) -> None:
        objects = self._member(existing, action, action.ordinal)
        # The configuration comes first: a pod without its Secret waits in an error state.
        await self._ensure(kinds.SECRETS, objects.config, existing)
        if objects.claim is not None:
            claim = with_grown_size(objects.claim, action.grown_size) if action.grown_size else objects.claim
            await self._ensure(kinds.CLAIMS, claim, existing)
        await self._create_agent_secret(objects, existing)
        await self._ensure(kinds.STATEFUL_SETS, objects.workload, existing)

    async def _stage(self, action: a.Stage, existing: ClusterObjects) -> None:
        ordinal = int(action.member.removeprefix(names.member(existing.cluster.metadata.name, action.pool, 0)[:-1]))
        objects = self._member(existing, action, ordinal)
        key = key_in(objects.config)
        if action.again:
            await self._remove_added(existing, objects.config)
        elif all(secret.metadata.name != key.name for secret in existing.secrets):
            await self._taken.exists(kinds.SECRETS, key, existing.cluster)
        await self._apply(kinds.SECRETS, objects.config)
        await self._create_agent_secret(objects, existing)
        await self._apply(kinds.STATEFUL_SETS, objects.workload)
        if (late := behind(existing, objects)) is not None:
            pod, checksum = late
            with suppress(NotFound, Conflict):  # the pod is another one by now, and made from the new template
                await self._annotate(existing, pod, {names.ANNOTATION_WRITTEN: checksum})

    async def _remove_added(self, existing: ClusterObjects, config: dict[str, Any]) -> None:
        """Remove what others have added to the configuration of a member: an apply leaves that as it is."""
        key = key_in(config)
        read = await own_secret(self._api, key, existing.cluster)
        data: dict[str, str] = (read or {}).get("data") or {}
        added = data.keys() - config["data"].keys()
        if read is not None and added:
            exact = {name: read["metadata"][name] for name in ("uid", "resourceVersion")}
            patch = {"metadata": exact, "data": dict.fromkeys(added)}
            self._wrote(kinds.SECRETS, await self._api.patch(kinds.SECRETS, key, patch, kind=PatchKind.MERGE))

    async def _create_agent_secret(self, objects: MemberObjects, existing: ClusterObjects) -> None:
        """Create the Secret by which the operator knows the agent of the next pod."""
        if names.ANNOTATION_AGENT in objects.workload["spec"]["template"]["metadata"]["annotations"]:
            await self._agent_requests.credentials.ensure(existing.cluster, objects.workload["metadata"]["name"])

    def _member(self, existing: ClusterObjects, action: a.Create | a.Stage, ordinal: int) -> MemberObjects:
        if existing.keystore is None:
            raise RefusedError("some of the values of the keystores are not known")
        if existing.barred:
            raise PodNotAllowed(existing.barred[0].message)
        cluster, files = existing.cluster, existing.keystore
        make = partial(self._family.member_objects, crossing=action.crossing, extra_files=files, keeps=action.keeps)
        made = make(cluster, action.pool, ordinal, action.version)
        refuse(self._level, made.workload["spec"]["template"])
        return made

    async def _ensure(self, kind: Resource[Any], body: dict[str, Any], existing: ClusterObjects) -> None:
        """Create an object, or update it if it exists and is ours."""
        there = await self._taken.exists(kind, key_in(body), existing.cluster)
        if not there or kind is not kinds.CLAIMS:  # A kept volume is used as it is.
            await self._apply(kind, body, force=there)

    async def _apply(self, kind: Resource[Any], body: dict[str, Any], *, force: bool = True) -> None:
        options = ApplyOptions(manager=names.FIELD_MANAGER, force=force)
        self._wrote(kind, await self._api.apply(kind, key_in(body), body, options))

    def _wrote(self, kind: Resource[Any], obj: Any) -> None:
        """Put the answer to a write into the cache, and expect the watch to tell of it."""
        owner = Key(obj.metadata.namespace, obj.metadata.labels.get(names.LABEL_CLUSTER, ""))
        self._caches.expectations(owner).wrote(self._caches.of(kind), obj)

    async def _delete(self, kind: Resource[Any], existing: ClusterObjects, ref: Ref) -> None:
        meta = existing.cluster.metadata
        key = Key(meta.namespace, ref.name)
        try:
            left = await self._api.delete(kind, key, DeleteOptions(Preconditions(ref.uid, ref.resource_version)))
        except NotFound:
            left = None
        store = self._caches.of(kind)
        cached = store.get(key)
        if left is not None:
            self._wrote(kind, left)
        elif cached is not None and cached.metadata.uid == ref.uid:
            self._caches.expectations(Key(meta.namespace, meta.name)).deleted(store, cached)

    async def _scale_to_zero(self, action: a.Release, existing: ClusterObjects) -> None:
        ref = action.workload
        seen = next((s.metadata for s in existing.sets if s.metadata.name == ref.name), None)
        # The number of the generation that this very write makes.
        mark = {names.ANNOTATION_RELEASED: str(seen.generation + 1)} if seen is not None else {}
        exact = {"uid": ref.uid, "resourceVersion": ref.resource_version, "annotations": mark}
        patch = {"metadata": exact, "spec": {"replicas": 0}}
        await self._patch(kinds.STATEFUL_SETS, existing, ref, patch)

    async def _delete_member(self, action: a.DeleteMember, existing: ClusterObjects) -> None:
        mine = (s.metadata for s in existing.secrets if s.metadata.labels.get(names.LABEL_MEMBER) == action.member)
        for meta in mine:
            await self._delete(kinds.SECRETS, existing, Ref(meta.name, meta.uid, meta.resource_version))
        if action.workload is not None:
            await self._delete(kinds.STATEFUL_SETS, existing, action.workload)

    async def _grow(self, action: a.GrowVolume, existing: ClusterObjects) -> None:
        size = format_quantity(action.size)
        # One write asks for the size and records who wanted it: without the record it would look too large later.
        told = {
            names.ANNOTATION_GROWN: size if action.by_itself else None,
            names.ANNOTATION_RESIZED: rfc3339(action.at),
        }
        metadata = {"uid": action.claim.uid, "annotations": told}
        spec = {"resources": {"requests": {"storage": size}}}
        await self._patch(kinds.CLAIMS, existing, action.claim, {"metadata": metadata, "spec": spec})

    async def _mark_volume(self, action: a.MarkVolume, existing: ClusterObjects) -> None:
        await self._annotate_claim(
            action.claim, existing, {names.ANNOTATION_RETIRED: action.why if action.left else None}
        )

    async def _mark_state(self, action: a.MarkState, existing: ClusterObjects) -> None:
        mark = names.ANNOTATION_DATA if action.only_data else names.ANNOTATION_STATE
        version = {names.ANNOTATION_DATA_VERSION: action.version} if action.version else {}
        await self._annotate_claim(action.claim, existing, {mark: "true", **version})

    async def _forget_state(self, action: a.ForgetState, existing: ClusterObjects) -> None:
        data = {names.ANNOTATION_DATA: "true"} if action.data else {}
        await self._annotate_claim(action.claim, existing, {names.ANNOTATION_STATE: None, **data})

    async def _annotate_claim(self, claim: Ref, existing: ClusterObjects, annotations: dict[str, str | None]) -> None:
        patch = {"metadata": {"uid": claim.uid, "annotations": annotations}}
        await self._patch(kinds.CLAIMS, existing, claim, patch)

    async def _retain_volume(self, action: a.RetainVolume, existing: ClusterObjects) -> None:
        await self._set_owner(action.claim, existing, owned=False)

    async def _own_volume(self, action: a.OwnVolume, existing: ClusterObjects) -> None:
        await self._set_owner(action.claim, existing, owned=True)

    async def _set_owner(self, claim: Ref, existing: ClusterObjects, *, owned: bool) -> None:
        """Record whether the cluster owns a claim. Other owners stay, so the list is read live and replaced as read."""
        meta = existing.cluster.metadata
        read = (await self._api.get(RAW_CLAIMS, Key(meta.namespace, claim.name)))["metadata"]
        others = [known for known in read.get("ownerReferences", []) if known["uid"] != meta.uid]
        owners = [*others, owner(existing.cluster)] if owned else others
        exact = {"uid": claim.uid, "resourceVersion": read["resourceVersion"]}
        await self._patch(kinds.CLAIMS, existing, claim, {"metadata": {**exact, "ownerReferences": owners}})

    async def _patch(self, kind: Resource[Any], existing: ClusterObjects, ref: Ref, patch: dict[str, Any]) -> None:
        key = Key(existing.cluster.metadata.namespace, ref.name)
        self._wrote(kind, await self._api.patch(kind, key, patch, kind=PatchKind.MERGE))


def inputs_text(inputs: Inputs) -> str:
    """Return inputs as an annotation."""
    return json.dumps(dict(inputs), sort_keys=True, separators=(",", ":"))


def in_database(action: a.Action, engine: Engine, target: Target) -> Awaitable[None] | None:
    """Return the call to the database for an action; None for actions on Kubernetes objects."""
    if isinstance(action, a.CreateDatabase | a.ConfigureDatabase):
        return command(action, engine, target)
    calls: dict[type[a.Action], Callable[[Any], Awaitable[None]]] = {
        a.LimitAllocation: lambda step: engine.limit_allocation(target, step.allocation, step.members),
        a.RestoreAllocation: lambda _: engine.restore_allocation(target),
        a.Flush: lambda _: engine.flush(target),
        a.Drain: lambda step: engine.drain(target, step.members),
        a.ExcludeVoters: lambda step: engine.exclude_voters(target, step.members),
        a.MoveCopies: lambda step: engine.move_copies(target, step.moves),
        a.ResumeBalancing: lambda _: engine.resume_balancing(target),
    }
    call = calls.get(type(action))
    return call(action) if call else None


async def command(action: a.CreateDatabase | a.ConfigureDatabase, engine: Engine, target: Target) -> None:
    """Send a command that only databases with explicit commands accept; raises EngineError."""
    if not isinstance(engine, CommandedEngine):
        raise RefusedError("this database needs no creation and no upkeep")
    await (engine.create_database(target) if isinstance(action, a.CreateDatabase) else engine.configure(target))
