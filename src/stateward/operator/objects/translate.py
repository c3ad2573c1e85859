"""Translates what was read into the observation for planning. Pure: no I/O, no clock, no decision.

If an object lacks information that a decision needs, the result is *unknown* and not an optimistic default.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeVar

import msgspec

from stateward.api.values import names
from stateward.api.values.quantity import QuantityError, parse_bytes
from stateward.api.values.version import recorded_version
from stateward.kube.objects.metadata import ObjectMeta, PartialObject
from stateward.kube.objects.nodes import Node
from stateward.kube.objects.pods import ContainerStatus, Pod
from stateward.kube.objects.storage import PersistentVolumeClaim, StorageClass
from stateward.kube.objects.workloads import StatefulSet
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.recorded_status import (
    bootstrap,
    changing,
    disk_samples,
    maintenance_end,
    records,
    times,
    waits,
)
from stateward.planning.model import observation as o
from stateward.planning.model.phase import Phase, parse_phase
from stateward.planning.model.scaling import with_sizes
from stateward.planning.model.times import parse_time
from stateward.planning.report.pending_removals import released_members, removals
from stateward.planning.report.scaling_status import recorded_sizes

LONGEST_NUMBER = 9
"""Digits of a revision."""
LONGEST_CACHED = 2048
"""Characters of inputs that are cached; the operator writes less than a thousand."""
NOT_ABOUT_NODES = re.compile(r"no new claims to deallocate|preemption:", re.IGNORECASE)
"""Begins what a scheduler adds to its reasons why no node takes a pod."""
TROUBLES = frozenset(
    {
        "CrashLoopBackOff",
        "ImagePullBackOff",
        "ErrImagePull",
        "ErrImageNeverPull",
        "InvalidImageName",
        "CreateContainerConfigError",
        "CreateContainerError",
        "RunContainerError",
        "ImageInspectError",
    }
)
"""Reasons of waiting containers that do not end by waiting alone."""


def observation(
    existing: ClusterObjects, desired: o.Desired, database: o.Database | o.Unknown, container: str
) -> o.Observation:
    """Return the observation; `container` is the name of the database's container in the pods."""
    cluster, status = existing.cluster, existing.cluster.status
    meta, there, sizes = cluster.metadata, members(existing, container), recorded_sizes(status)
    return o.Observation(
        name=meta.name,
        namespace=meta.namespace,
        uid=meta.uid,
        generation=meta.generation,
        desired=with_sizes(desired, sizes, there),
        members=there,
        database=database,
        deployed_version=status.version,
        records=records(status),
        since=times(status, lambda m: m.last_transition_time),
        states={m.name: m.state for m in status.member_states},
        away=times(status, lambda m: m.not_serving_since_time),
        missing=times(status, lambda m: m.missing_since_time),
        causes={m.name: m.missing_reason for m in status.member_states if m.missing_reason},
        removals=removals(status),
        last_removal=parse_time(status.last_removal_time),
        maintenance_end=maintenance_end(status),
        let_go=released_members(status),
        protection=existing.protection,
        bootstrap=bootstrap(status),
        restore=existing.restore,
        saved=existing.saved,
        bootstrap_again=meta.annotations.get(names.ANNOTATION_BOOTSTRAP_AGAIN) == "accept-data-loss",
        waits=waits(status),
        changing=changing(status),
        schedule=schedule(meta.annotations),
        apply_pending=meta.annotations.get(names.ANNOTATION_APPLY) == "true",
        stopped=frozenset(names.in_list(meta.annotations.get(names.ANNOTATION_STOPPED, ""))),
        orphans=orphans(existing),
        disk_samples=disk_samples(status),
        sizes=sizes,
        asked=existing.asked,
        settled_writes=existing.caught_up,
        live=existing.live,
    )


def schedule(annotations: Mapping[str, str]) -> o.Schedule | None:
    """Return the restart requested on the cluster."""
    phase = annotations.get(names.ANNOTATION_PHASE, "")
    pools = names.in_list(annotations.get(names.ANNOTATION_RESTART_POOLS, ""))
    return o.Schedule(phase, tuple(pools)) if phase else None


def orphans(existing: ClusterObjects) -> tuple[o.Orphan, ...]:
    """Return the configuration Secrets, and those of agents, of members that have neither StatefulSet nor pod."""
    there = by_member(existing.sets).keys() | by_member(existing.pods).keys()
    left = (s.metadata for s in existing.secrets if s.metadata.labels.get(names.LABEL_MEMBER, "") not in {"", *there})
    return tuple(
        o.Orphan(ref(meta), meta.creation_timestamp.timestamp())
        for meta in left
        if meta.creation_timestamp is not None and not meta.terminating
    )


def members(existing: ClusterObjects, container: str) -> tuple[o.Member, ...]:
    """Return every member of which at least one object is there, in order of name."""
    meta = existing.cluster.metadata
    cluster, since = meta.name, parse_time(meta.creation_timestamp or "")
    sets = by_member(existing.sets)
    pods = by_member(existing.pods)
    claims = by_member(existing.claims)
    secrets = {s.metadata.name: s for s in existing.secrets}
    found: list[o.Member] = []
    for name in sorted(sets.keys() | pods.keys() | claims.keys()):
        parts = [part for part in (sets.get(name), pods.get(name), claims.get(name)) if part is not None]
        pool, ordinal = identity(parts[0].metadata, cluster)
        if ordinal is None:
            continue
        found.append(
            o.Member(
                name=name,
                pool=pool,
                ordinal=ordinal,
                workload=workload(sets[name]) if name in sets else None,
                pod=pod(pods[name], existing.nodes, container) if name in pods else None,
                claim=claim(claims[name], existing.classes, since) if name in claims else None,
                config=inputs(secrets[name].metadata.annotations) if name in secrets else None,
                config_checksum=secrets[name].metadata.annotations.get(names.ANNOTATION_CHECKSUM, "")
                if name in secrets
                else "",
                made_for=made_for(part.metadata for part in parts),
            )
        )
    return tuple(found)


def with_answers(observed: o.Observation, answers: Mapping[str, o.Process | o.Unknown]) -> o.Observation:
    """Return the observation with the answers of some members' agents."""
    if not answers:
        return observed
    heard = (msgspec.structs.replace(m, process=answers.get(m.name, m.process)) for m in observed.members)
    return msgspec.structs.replace(observed, members=tuple(heard))


Labelled = TypeVar("Labelled", StatefulSet, Pod, PersistentVolumeClaim, PartialObject)


def by_member(objects: tuple[Labelled, ...]) -> dict[str, Labelled]:
    """Return objects by the member that their label names."""
    return {
        obj.metadata.labels[names.LABEL_MEMBER]: obj for obj in objects if names.LABEL_MEMBER in obj.metadata.labels
    }


def identity(meta: ObjectMeta, cluster: str) -> tuple[str, int | None]:
    """Return the pool and ordinal of a member's object; the ordinal is None if its labels lack it."""
    ordinal = meta.labels.get(names.LABEL_ORDINAL, "")
    pool = meta.labels.get(names.LABEL_POOL, "")
    fits = ordinal.isdigit() and names.member(cluster, pool, int(ordinal)) == meta.labels.get(names.LABEL_MEMBER)
    return pool, int(ordinal) if fits else None


def made_for(objects: Iterable[ObjectMeta]) -> frozenset[str] | None:
    """Return the roles that a member's objects were made for, by their labels; None if none of them has the label.

    If they differ about `voting_only`, the member may be one that can be elected, and counts as such.
    """
    told = [meta.labels for meta in objects if names.LABEL_ROLES in meta.labels]
    if not told:
        return None
    roles = {"data", "voting"}.intersection("-".join(labels[names.LABEL_ROLES] for labels in told).split("-"))
    only = all(names.LABEL_VOTING_ONLY in labels for labels in told)
    return frozenset(roles | {"voting_only"}) if only else frozenset(roles)


def ref(meta: ObjectMeta) -> o.Ref:
    """Return the exact version of an object that was read."""
    return o.Ref(name=meta.name, uid=meta.uid, resource_version=meta.resource_version)


def inputs(annotations: Mapping[str, str]) -> Mapping[str, str]:
    """Return the inputs recorded on an object; an unreadable record counts as no inputs."""
    text = annotations.get(names.ANNOTATION_INPUTS, "{}")
    return cached_inputs(text) if len(text) <= LONGEST_CACHED else parse_inputs(text)


@lru_cache(maxsize=4096)
def cached_inputs(text: str) -> Mapping[str, str]:
    """Return the inputs in an annotation. Members of a pool repeat the same text, so the result is cached.

    The disaster this prevents: users write other annotations, of 256 KiB, on their pods, the cache keeps thousands of
    them, and the operator has no memory left.
    """
    return parse_inputs(text)


def parse_inputs(text: str) -> Mapping[str, str]:
    """Return the inputs in an annotation; an unreadable text counts as none."""
    try:
        return msgspec.json.decode(text, type=dict[str, str])
    except msgspec.DecodeError:
        return {}


def workload(stateful_set: StatefulSet) -> o.Workload:
    """Return a StatefulSet as planning sees it."""
    template = stateful_set.spec.template.metadata.annotations
    return o.Workload(
        ref=ref(stateful_set.metadata),
        inputs=inputs(template),
        version=template.get(names.ANNOTATION_VERSION, ""),
        replicas=stateful_set.spec.replicas,
        observed=stateful_set.observed,
        terminating=stateful_set.metadata.terminating,
        released=stateful_set.metadata.annotations.get(names.ANNOTATION_RELEASED)
        == str(stateful_set.metadata.generation),
        agent=template.get(names.ANNOTATION_AGENT, ""),
        revision=revision(template),
    )


def pod(source: Pod, nodes: Mapping[str, Node], container: str) -> o.Pod:
    """Return a pod as planning sees it."""
    meta, annotations = source.metadata, source.metadata.annotations
    node = nodes.get(source.spec.node_name)
    status = next((c for c in source.status.container_statuses if c.name == container), None)
    created = meta.creation_timestamp
    return o.Pod(
        ref=ref(meta),
        inputs=inputs(annotations),
        version=annotations.get(names.ANNOTATION_VERSION, ""),
        created=created.timestamp() if created else 0.0,
        ready=source.ready,
        running=status is not None and status.state.running is not None,
        served=status is not None and status.ready,
        terminating=meta.terminating,
        gone_by=meta.deletion_timestamp.timestamp() if meta.deletion_timestamp else 0.0,
        grace=float(meta.deletion_grace_period_seconds or 0),
        trouble=trouble(source),
        image=next((c.image for c in source.spec.containers if c.name == container), ""),
        node=source.spec.node_name,
        zone=node.zone if node else "",
        taints=tuple(taint.key for taint in node.spec.taints if taint.effect != "PreferNoSchedule") if node else (),
        # A node that was deleted from the API is not waited for; a node that was never observed is not judged.
        node_ready=node.ready if node else not source.spec.node_name or not nodes,
        ip=source.status.pod_ip,
        roles=meta.labels.get(names.LABEL_ROLES, ""),
        beside=annotations.get(names.ANNOTATION_STAGED_VERSION, ""),
        claims=names.claim(meta.labels.get(names.LABEL_MEMBER, "")) in source.claim_names,
        bootstrap=annotations.get(names.ANNOTATION_BOOTSTRAP, ""),
        agent=names.ANNOTATION_AGENT in annotations,
        agent_version=annotations.get(names.ANNOTATION_AGENT, ""),
        revision=revision(annotations),
        checksum=annotations.get(names.ANNOTATION_CHECKSUM, ""),
        phase=parse_phase(annotations.get(names.ANNOTATION_PHASE, "")) or Phase.NONE,
        begun=names.ANNOTATION_RESTART_STARTED in annotations,
        ended=last_end(source),
        strange_phase=invalid_phase(annotations.get(names.ANNOTATION_PHASE, "")),
        candidate=annotations.get(names.ANNOTATION_BOOTSTRAP_CANDIDATE) == "true",
    )


def revision(annotations: Mapping[str, str]) -> int:
    """Return the recorded revision of a template; 0 without one, and for one that is not a number."""
    text = annotations.get(names.ANNOTATION_TEMPLATE, "")
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= LONGEST_NUMBER else 0


def invalid_phase(text: str) -> str:
    """Return the value of a pod's phase annotation if it is not a phase."""
    return text if parse_phase(text) is None else ""


def trouble(source: Pod) -> str:
    """Return what keeps the pod from running, in Kubernetes' words; empty if nothing does.

    A pod that is being deleted ends as Failed if a signal stopped its database: that is not trouble but the requested
    end. As trouble it would lift the limit on the allocation at each restart. A Ready pod runs, even if an earlier
    condition says otherwise.
    """
    if source.metadata.terminating or source.ready:
        return ""
    for condition in source.status.conditions:
        if condition.type == "PodScheduled" and condition.status == "False":
            return f"{condition.reason or 'Unschedulable'}: {why_not_scheduled(condition.message)}"
    for status in (*source.status.init_container_statuses, *source.status.container_statuses):
        found = container_trouble(status)
        if found:
            return found
    failed = source.status.phase == "Failed"
    return f"{source.status.reason or 'Failed'}: {source.status.message}" if failed else ""


def why_not_scheduled(message: str) -> str:
    """Return what the scheduler says about the nodes, without claims and preemption, which end nothing here.

    What it says about preemption stays if it says nothing else: the rest of the text decides what can be done.
    """
    about_nodes = NOT_ABOUT_NODES.split(message, maxsplit=1)[0].strip().rstrip(".")
    return about_nodes if ":" in about_nodes else message


def container_trouble(status: ContainerStatus) -> str:
    """Return what keeps a container from running."""
    waiting, last = status.state.waiting, status.last_state.terminated
    if waiting is None or waiting.reason not in TROUBLES:
        return ""
    ended = f" (it ended with code {last.exit_code}: {last.message.strip() or last.reason})" if last is not None else ""
    return f"{waiting.reason}: {waiting.message}{ended}"


def last_end(source: Pod) -> float:
    """Return when a container of a pod last ended before it was started again; 0 if none has."""
    every = (*source.status.init_container_statuses, *source.status.container_statuses)
    ends = (status.last_state.terminated for status in every)
    return max((end.finished_at.timestamp() for end in ends if end is not None and end.finished_at), default=0.0)


def claim(source: PersistentVolumeClaim, classes: Mapping[str, StorageClass], since: float | None = None) -> o.Claim:
    """Return a claim as planning sees it; sizes in bytes.

    `since` is when the cluster resource was created, in seconds since the epoch; None if that is unknown.
    """
    name = source.spec.storage_class_name or ""
    known = classes.get(name)
    requested, told = parse_bytes(source.requested) if source.requested else 0, source.metadata.annotations
    resizing = [c.message for c in source.status.conditions if "esiz" in c.type and c.message]
    created = source.metadata.creation_timestamp
    return o.Claim(
        ref=ref(source.metadata),
        requested=requested,
        capacity=parse_bytes(source.capacity) if source.capacity else 0,
        storage_class=name,
        expandable=known.allow_volume_expansion if known else None,
        # Without any observed class, the existing classes are unknown.
        classless=bool(name and classes) and known is None,
        terminating=source.metadata.terminating,
        left=names.ANNOTATION_RETIRED in told,
        state=names.ANNOTATION_STATE in told,
        data=names.ANNOTATION_DATA in told,
        version=recorded_version(told.get(names.ANNOTATION_DATA_VERSION, "")),
        earlier=created is not None and since is not None and created.timestamp() < since,
        owner=source.metadata.controller_uid,
        message=resizing[0] if resizing else "",
        # The record may lower what counts as grown, and never asks for more than the claim does.
        grown=min(requested, size_in(told.get(names.ANNOTATION_GROWN, ""))),
        resized=parse_time(told.get(names.ANNOTATION_RESIZED, "")),
        named=bool(source.spec.volume_name),
    )


def size_in(text: str) -> int:
    """Return a recorded size in bytes; 0 without one, and for one that is not a size."""
    try:
        return max(0, parse_bytes(text))
    except QuantityError:
        return 0
