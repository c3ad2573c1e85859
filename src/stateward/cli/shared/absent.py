"""Missing members: since when, why, and what happens next; pure, from the cluster's resource alone."""

from collections.abc import Iterator

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.status import MemberStatus
from stateward.planning.facts.missing_members import Cause
from stateward.planning.report.comes_back import comes_back

CAUSES = {
    Cause.NODE_NOT_READY: "its Kubernetes node is not ready, or gone",
    Cause.NODE_TAINTED: "its Kubernetes node has a taint that spec.replacement.onTaints names",
    Cause.NO_CLAIM: "its volume claim is gone; the operator does not recreate it, because an empty one would look"
    " the same",
    Cause.NO_POD: "it has no pod",
    Cause.POD_TERMINATING: "its pod is terminating and does not end",
    Cause.POD_PENDING: "its pod cannot be scheduled",
    Cause.POD_FAILING: "its pod does not run",
    Cause.NOT_IN_CLUSTER: "its process is not in the cluster",
    Cause.DISK_FAULT: "its disk fails",
    Cause.AGENT_UNREACHABLE: "the agent in its pod does not answer",
}
"""The meaning of each cause, as a clause."""

DECIDED = {"Missing": "is replaced at ", "ReplacementHeld": "is not replaced yet: "}
"""By the reason of a wait about a replacement: the start of its last part, which says what happens next."""


def missing_members(cluster: Cluster) -> Iterator[MemberStatus]:
    """Yield the members that are missing, except those that a step of the operator has stopped and that come back."""
    return (m for m in cluster.status.member_states if m.missing_since_time and not comes_back(m))


def cause(member: MemberStatus) -> str:
    """Return why a member is missing; the operator's own word for an unknown cause."""
    return CAUSES[Cause(member.missing_reason)] if member.missing_reason in set(Cause) else member.missing_reason


def what_happens(cluster: Cluster, member: MemberStatus) -> str:
    """Return what happens to a missing member: when it is replaced, what that waits for, or what the user can do."""
    policy, by_hand, name = cluster.spec.replacement, cluster.spec.members, member.name
    going = next((entry for entry in cluster.status.pending_removals if entry.name == name), None)
    if going is not None:
        return f"is being replaced since {going.start_time}: {going.phase}"
    if by_hand is not None and name in (by_hand.keep or ()):
        return "is never replaced: spec.members.keep names it"
    for wait in cluster.status.waiting:
        beginning = DECIDED.get(wait.reason, "")
        if wait.subject == name and beginning and beginning in wait.message:
            return beginning + wait.message.partition(beginning)[2]
    if policy is None or not policy.enabled:
        return (
            f"is not replaced automatically, because spec.replacement is not enabled; `replace {name}` replaces it now"
        )
    return f"is replaced when it has been missing for {policy.after}"
