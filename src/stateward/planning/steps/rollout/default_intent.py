"""Reports the state of members without a step: whether they serve, and if not, why."""

from stateward.api.values.problem import first_of
from stateward.planning.facts.change import change_of, coordinated_inputs, differing, downgrade_problem
from stateward.planning.facts.facts import OVERDUE, Facts
from stateward.planning.facts.upgrade_order import newer
from stateward.planning.model.intent import Intent, State, StepResult, Wait
from stateward.planning.model.observation import Effect, Member, Pod

REPLACED = 60.0
"""Seconds after the creation of a pod for which the database may still list the process of the one before."""
JOINS = 120.0
"""Seconds of an answering database in which a process that could not join before is expected to join."""


def default_intent(facts: Facts, member: Member) -> StepResult:
    """Return the intent of a member that no question has claimed, and its wait if a change is held back."""
    change, name = change_of(facts, member), member.name
    if name not in facts.up:
        state, text = not_serving(facts, member)
        return StepResult(
            intents={name: Intent(name, member.pool, state, change.effect, text)},
            waits=(*not_starting(facts, member), *joined_elsewhere(facts, member), *wrong_version(facts, member)),
        )
    if change.effect is Effect.NONE:
        return StepResult(intents={name: Intent(name, member.pool, State.READY)})
    if change.effect is Effect.REPLACE and name in facts.obs.desired.replacement.keep:
        text = f"{name} is kept, without the changes that only a new member can have ({change.describe()})"
        return StepResult(intents={name: Intent(name, member.pool, State.WAITING, change.effect, text)})
    reason = downgrade_problem(facts, member)
    code = "CannotGoBack" if reason else "ReplacedLater" if change.effect is Effect.REPLACE else "NotSafeYet"
    reason = reason or (
        "a new member takes its place later in the rollout order" if code == "ReplacedLater" else "no step now"
    )
    text = f"{name} waits ({change.describe()}): {reason}"
    intent = Intent(name, member.pool, State.WAITING, change.effect, text)
    return StepResult(intents={name: intent}, waits=(Wait(name, code, f"{change.describe()}: {reason}"),))


def not_serving(facts: Facts, member: Member) -> tuple[State, str]:
    """Return the state of a member that does not serve, and why it does not."""
    pod, name = member.pod, member.name
    if member.workload is None and pod is None:
        return State.DOWN, f"{name} has no StatefulSet"
    if pod is None:
        return State.DOWN, f"{name} has no pod yet"
    troubles = (
        (pod.terminating and not pod.node_ready, f"node {pod.node} of {name} is not ready, and the pod does not end"),
        (pod.terminating, f"{name} is stopping"),
        (bool(pod.trouble), f"{name} does not start: {pod.trouble}"),
        (not pod.node_ready, f"node {pod.node} of {name} is not ready"),
        (
            left_with_ready_pod(facts, member),
            f"{name} is no longer in the cluster, and its pod on {pod.node} is still reported as ready",
        ),
    )
    for applies, text in troubles:
        if applies:
            return State.DOWN, text
    if found := other_version(facts, member):
        return State.DOWN, f"{name} runs {found}, and its pod is for {pod.version}: its image has another version"
    return State.STARTING, f"{name} has joined and is not ready yet" if facts.joined(name) else f"{name} starts"


def left_with_ready_pod(facts: Facts, member: Member) -> bool:
    """Return whether a member that served with this very pod has left the database, and its pod counts as ready.

    Kubernetes takes about 40 seconds to notice that a node lost its power; until then nothing starts there.
    """
    pod, away = member.pod, facts.away(member)
    if facts.database is None or pod is None or not pod.ready or away is None or facts.joined(member.name):
        return False
    return member.name in facts.obs.records and away > pod.created


def not_starting(facts: Facts, member: Member) -> tuple[Wait, ...]:
    """Return the wait for a pod that has a node and no running container for long: a volume is gone, for example.

    Kubernetes reports the cause only in the pod's events. It is no state that a spec is judged by, because an image may
    take as long.
    """
    pod, name = member.pod, member.name
    if pod is None or pod.running or pod.terminating or not pod.node or not pod.node_ready or facts.trouble(member):
        return ()
    if not facts.overdue(member) or facts.now - pod.created <= OVERDUE:
        return ()
    text = f"the pod of {name} on {pod.node} has not started its container for more than {OVERDUE / 60:.0f} minutes"
    return (Wait(name, "PodNotStarting", text),)


def other_version(facts: Facts, member: Member) -> str:
    """Return the version with which a member has joined if its pod is for another one; empty if it is not."""
    pod, node = member.pod, facts.node(member.name)
    if pod is None or node is None or not (pod.ready and pod.version) or node.version in (pod.version, pod.beside):
        return ""
    return node.version


def wrong_version(facts: Facts, member: Member) -> tuple[Wait, ...]:
    """Return the wait for a member whose image has another version than its tag and the spec say, with what to do.

    For a moment the database may still list the process of the last pod.
    """
    pod, name, found = member.pod, member.name, other_version(facts, member)
    if pod is None or not found or facts.now - pod.created <= REPLACED:
        return ()
    text = f"{name} runs {found} from the image {pod.image or 'of its pod'}, and spec.version is {pod.version}"
    fix = f"set spec.version to {found}"
    if newer(pod.version, found):
        fix += f", or spec.image to an image that has {pod.version}"
    return (Wait(name, "WrongVersion", f"{text}: {fix}", stalled=True),)


def joined_elsewhere(facts: Facts, member: Member) -> tuple[Wait, ...]:
    """Return the wait for a member that runs outside the database of the others, with what to do.

    It may belong to another cluster: one that lost the volumes of its managers, and with them its cluster state. Only
    the user knows whether its volume is needed. A member that has joined before counts as missing; where the policy
    replaces missing members, nothing is asked. The disasters this prevents: a setting keeps all members of a pool from
    joining, the pool gets another name with the correction, and the user is told to give up the only data. Or a new
    member has a change of all members before the others, whose restart waits; the user is told to replace it, and the
    next one does not join either. Or no member could join because there was no database: in the second in which it
    answers again, the user is told to give up members that are about to join.
    """
    pod, name, policy = member.pod, member.name, facts.obs.desired.replacement
    if facts.database is None or pod is None or not pod.running or facts.joined(name):
        return ()
    if facts.trouble(member) or not pod.node_ready or not facts.overdue(member):
        return ()
    ahead = ahead_of_all(facts, member, pod)
    if ahead is not None:
        return (ahead,)
    if member.pool not in facts.pools:
        text = (
            f"{name} runs, and has not been in the cluster for more than {OVERDUE / 60:.0f} minutes; its log says why,"
            f" and it can only be repaired with pool {member.pool} in the spec"
        )
        return (Wait(name, "PoolNeeded", text, stalled=True),)
    replaced = name in facts.obs.records and policy.enabled and name not in policy.keep
    return () if replaced else (outside(facts, name),)


def outside(facts: Facts, name: str) -> Wait:
    """Return the wait of a member that is not in the database, with what to do if it does not join now."""
    reason, text, cluster = "NeverJoined", f"{name} runs, and has not joined", "a deleted cluster"
    if name in facts.obs.records:
        reason, text, cluster = "NotInCluster", f"{name} runs, and has not been in the cluster", "a lost cluster"
    text = f"{text} for more than {OVERDUE / 60:.0f} minutes; its log says why"
    if facts.seconds_waited(name, reason) <= JOINS:
        return Wait(name, reason, text)
    advice = "it never joins: spec.members.replaceWithoutDraining gives it a new volume"
    return Wait(name, reason, f"{text}, and if its volume is from {cluster}, {advice}", stalled=True)


def ahead_of_all(facts: Facts, member: Member, pod: Pod) -> Wait | None:
    """Return the wait of a member whose pod has a change of all members that none in the database has; None without.

    The disaster this prevents: one edit turns encryption on and gives the pool of the managers another name. The new
    members can talk to none that is in the database, and each that a user replaces gives its place to another such one.
    """
    own, name = coordinated_inputs(facts, pod.inputs), member.name
    joined = [(m, m.pod) for m in facts.obs.members if m.pod is not None and facts.joined(m.name)]
    changes = {m.name: differing(coordinated_inputs(facts, other.inputs), own) for m, other in joined}
    if not changes or not all(changes.values()):
        return None
    removed = next((m for m, _ in joined if m.pool not in facts.pools), None)
    change = first_of(changes[(removed or joined[0][0]).name], 4)
    if removed is None:
        text = f"{name} runs, and joins when all others have restarted together to apply {change}"
        return Wait(name, "RestartsFirst", text)
    text = (
        f"{name} runs, and cannot talk to {removed.name}, which has not changed to {change}: only with pool"
        f" {removed.pool} in the spec it gets the change"
    )
    return Wait(name, "PoolNeeded", text, stalled=True)
