"""Decides which members are missing, and why: desired, joined before, and absent now, whatever the process reports.

Missing is not the same as down: a member that restarts is down. The time, which the status keeps, distinguishes them.
A new member that has not joined is only missing if its machine is lost: whatever else keeps it from starting would most
likely keep another one from starting too.
Nothing follows from what could not be read: while the database does not answer, no member becomes missing from it, and
no missing member counts as back.
"""

from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from stateward.planning.facts.facts import Facts, unschedulable
from stateward.planning.model.observation import Member, Pod, Unknown


class Cause(StrEnum):
    """Why a member is missing, in one word for programs."""

    NODE_NOT_READY = "NodeNotReady"
    NODE_TAINTED = "NodeTainted"
    NO_CLAIM = "NoClaim"
    NO_POD = "NoPod"
    POD_TERMINATING = "PodTerminating"
    POD_PENDING = "PodPending"
    POD_FAILING = "PodFailing"
    NOT_IN_CLUSTER = "NotInCluster"
    DISK_FAULT = "DiskFault"
    AGENT_UNREACHABLE = "AgentUnreachable"


OF_THE_MACHINE = frozenset(
    {Cause.NODE_NOT_READY, Cause.NODE_TAINTED, Cause.NO_CLAIM, Cause.POD_TERMINATING, Cause.DISK_FAULT}
)
"""Causes that no edit of the spec can bring about."""

OF_A_NEW_MEMBER = frozenset({Cause.NODE_NOT_READY, Cause.NODE_TAINTED, Cause.POD_TERMINATING})
"""Causes for which a member that has never joined counts as missing."""

STILL_SERVING = frozenset({Cause.NODE_TAINTED, Cause.AGENT_UNREACHABLE})
"""Causes with which a member may still serve: their time is no time of absence."""


class Missing(Struct, frozen=True):
    """That a member is missing: the cause, and a clause for people."""

    cause: Cause
    text: str


def missing(facts: Facts, member: Member) -> Missing | None:
    """Return why the member is missing, the root cause first; None if it is not, or if that is unknown."""
    if not member.alive or member.pool not in facts.pools:
        return None
    if member.name in facts.obs.stopped:
        return None  # A person keeps it stopped: it is where it should be.
    if member.name in facts.obs.records:
        return next(causes(facts, member), None)
    return missing_new_member(facts, member)


def missing_new_member(facts: Facts, member: Member) -> Missing | None:
    """Return why a member that has never joined is missing; None unless its machine is lost.

    Once its pod is gone with its Kubernetes node, the next pod can wait forever for the volume on that node.
    """
    lost = next((found for found in causes(facts, member) if found.cause in OF_A_NEW_MEMBER), None)
    before = facts.obs.causes.get(member.name, "")
    placed = member.pod is not None and member.pod.node
    if lost is not None or placed or before not in (Cause.NODE_NOT_READY, Cause.POD_TERMINATING):
        return lost
    trouble = facts.trouble(member)
    return Missing(
        Cause(before), f"its Kubernetes node was lost, and no other has its pod ({trouble or 'not scheduled yet'})"
    )


def causes(facts: Facts, member: Member) -> Iterator[Missing]:
    """Yield every cause, the one that explains the others first."""
    pod, pool = member.pod, facts.pools[member.pool]
    if pod is not None and pod.node and not pod.node_ready:
        yield Missing(Cause.NODE_NOT_READY, f"node {pod.node} is not ready or gone")
    if member.claim is None and (pod.claims if pod is not None else True) and not pool.ephemeral:
        yield Missing(Cause.NO_CLAIM, "its volume claim is gone")
    if pod is None:
        yield Missing(Cause.NO_POD, "it has no pod")
        return
    yield from pod_causes(pod)
    node = facts.node(member.name)
    if facts.database is not None and node is None and not pod.trouble and not pod.terminating:
        yield Missing(Cause.NOT_IN_CLUSTER, "its process is not in the cluster")
    if node is not None and node.fault:
        yield Missing(Cause.DISK_FAULT, node.fault)
    taint = next((key for key in pod.taints if key in facts.obs.desired.replacement.taints), None)
    if taint is not None:
        yield Missing(Cause.NODE_TAINTED, f"node {pod.node} has the taint {taint}")
    if isinstance(member.process, Unknown) and pod.running and not pod.terminating:
        yield Missing(Cause.AGENT_UNREACHABLE, f"its agent does not answer ({member.process.why})")


def pod_causes(pod: Pod) -> Iterator[Missing]:
    """Yield what the pod itself shows."""
    if pod.terminating:
        yield Missing(Cause.POD_TERMINATING, "its pod is terminating and does not end")
    elif unschedulable(pod.trouble):
        yield Missing(Cause.POD_PENDING, f"its pod cannot be scheduled ({pod.trouble})")
    elif pod.trouble:
        yield Missing(Cause.POD_FAILING, f"its pod does not run ({pod.trouble})")


def still_missing(facts: Facts, member: Member, cause: str) -> bool:
    """Return whether a member that was missing from a database that now is silent still counts as missing."""
    return facts.database is None and cause in (Cause.NOT_IN_CLUSTER, Cause.DISK_FAULT) and member.alive


def same_kind(before: str, now: Cause) -> bool:
    """Return whether the time of one cause counts for another: the time of a taint does not count for a failure."""
    return before == now if {before, now} & STILL_SERVING else True


def loses_data_with_pod(facts: Facts, member: Member) -> bool:
    """Return whether a member loses its data with its pod: it is in the pod, or on a claim that is being deleted.

    Kubernetes keeps such a claim only as long as a pod uses it. The disaster this prevents: someone deletes the claims
    of a cluster by mistake, and nothing happens; the next restart deletes a pod, and the only copy of a shard with it.
    """
    claim, pod = member.claim, member.pod
    ending = claim is not None and claim.terminating and pod is not None and pod.claims
    return ending or facts.ephemeral(member)


def is_stateless(facts: Facts, member: Member) -> bool:
    """Return whether the member was made to hold no data, whatever its pool asks for now, or without its pool."""
    made, stateless = member.pod or member.workload, facts.obs.desired.stateless
    return made is not None and bool(stateless) and stateless.items() <= made.inputs.items()


def lacks_claim(facts: Facts, member: Member) -> bool:
    """Return whether the member's pod waits for a claim that does not exist."""
    pod = member.pod
    if member.claim is not None or pod is None or pod.terminating or facts.ephemeral(member):
        return False
    return not (pod.node or pod.running or pod.ready)
