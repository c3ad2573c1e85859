"""Where a member stands that nothing is meant for now, and why it does not serve if it does not."""

from stateward.planning.change import change_of, stranded
from stateward.planning.facts import Facts
from stateward.planning.intent import Intent, Part, State, Wait
from stateward.planning.observation import Effect, Member


def resting(facts: Facts, member: Member) -> Part:
    """Return the intent of a member that no question has claimed, and its wait if a change is held back."""
    change, name = change_of(facts, member), member.name
    if name not in facts.up:
        state, text = absent(facts, member)
        return Part(intents={name: Intent(name, member.pool, state, change.effect, text)})
    if change.effect is Effect.NONE:
        return Part(intents={name: Intent(name, member.pool, State.READY)})
    if change.effect is Effect.REPLACE and name in facts.obs.desired.replacement.keep:
        text = f"{name} is kept, and stays without what only a new member has ({change.describe()})"
        return Part(intents={name: Intent(name, member.pool, State.WAITING, change.effect, text)})
    reason = stranded(facts, member)
    code = "CannotGoBack" if reason else "ReplacedLater" if change.effect is Effect.REPLACE else "NotSafeYet"
    reason = reason or (
        "a new member takes its place when its turn comes" if code == "ReplacedLater" else "no step now"
    )
    text = f"{name} waits ({change.describe()}): {reason}"
    intent = Intent(name, member.pool, State.WAITING, change.effect, text)
    return Part(intents={name: intent}, waits=(Wait(name, code, f"{change.describe()}: {reason}"),))


def absent(facts: Facts, member: Member) -> tuple[State, str]:
    """Return the state of a member that does not serve, and why it does not."""
    pod, name = member.pod, member.name
    if member.workload is None and pod is None:
        return State.DOWN, f"{name} has no StatefulSet"
    if pod is None:
        return State.DOWN, f"{name} has no pod yet"
    troubles = (
        (pod.terminating, f"{name} is stopping"),
        (bool(pod.trouble), f"{name} does not start: {pod.trouble}"),
        (not pod.node_ready, f"node {pod.node} of {name} is not ready"),
    )
    for applies, text in troubles:
        if applies:
            return State.DOWN, text
    return State.STARTING, f"{name} has joined and is not ready yet" if facts.joined(name) else f"{name} starts"
