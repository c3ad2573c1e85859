"""One planner for the whole cluster: from an observation at a time to a plan with exactly one intent per member.

The order below is the order of precedence. A member that an earlier question has claimed is not seen by a later one,
so no two kinds of work can pick two victims, and none can pick the same one twice.
"""

from collections.abc import Mapping

from msgspec import Struct

from stateward.planning.actions import Action
from stateward.planning.bootstrap import bootstrap
from stateward.planning.budget import Budget, budgets
from stateward.planning.change import change_of
from stateward.planning.facts import Facts, derive
from stateward.planning.intent import Intent, Part, State, Wait, merge
from stateward.planning.leave import leave
from stateward.planning.observation import Effect, Member, Observation, Refusal, Unknown
from stateward.planning.repair import repair
from stateward.planning.roll import roll
from stateward.planning.scale import arriving, create, scale
from stateward.planning.undo import undo
from stateward.planning.upgrade import cannot_go_back
from stateward.planning.volume import volumes


class Plan(Struct, frozen=True):
    """What should happen next, what each member is about, and what waits for what."""

    actions: tuple[Action, ...]
    intents: Mapping[str, Intent]
    waits: tuple[Wait, ...]
    budgets: tuple[Budget, ...]
    doing: str
    settled: bool
    """Whether everything is as it should be: nothing to do, nothing that waits."""

    @property
    def destructive(self) -> bool:
        """Whether carrying it out needs a plan made of live reads."""
        return any(action.destructive for action in self.actions)


def plan(obs: Observation, now: float) -> Plan:
    """Return the plan for an observation at time `now` (seconds since the epoch)."""
    facts = derive(obs, now)
    refusals = refused(obs)
    hold = obs.desired.paused or any(r.everything for r in refusals)
    part = Part(waits=tuple(Wait(r.subject, r.reason, r.message, stalled=True) for r in refusals))
    if obs.desired.paused:
        part = merge(part, Part(waits=(Wait(obs.name, "Paused", "update.paused is set: no new step is taken"),)))
    part = merge(part, Part() if hold else work(facts))
    part = merge(part, Part(actions=undo(facts, part, hold=hold)))
    intents = part.intents | {
        m.name: resting(facts, m) for m in obs.members if m.name not in part.intents and m.workload
    }
    settled = not part.actions and not part.waits and all(i.state is State.READY for i in intents.values())
    if isinstance(obs.database, Unknown):
        part = merge(part, Part(waits=(Wait(obs.name, "DatabaseUnknown", obs.database.why),)))
        settled = False
    return Plan(
        actions=part.actions,
        intents=intents,
        waits=part.waits,
        budgets=budgets(facts),
        doing=sentence(obs, part, intents, settled=settled),
        settled=settled,
    )


def refused(obs: Observation) -> tuple[Refusal, ...]:
    """Return what is refused: by the driver and the validation, and a version that members have already passed."""
    ahead = cannot_go_back(obs)
    if ahead is None:
        return obs.desired.refusals
    text = (
        f"{ahead} has already joined with {obs.records[ahead].version} and its data cannot go back to"
        f" {obs.desired.version}; set spec.version to {obs.records[ahead].version} or later"
    )
    return (*obs.desired.refusals, Refusal("spec.version", "CannotGoBack", text, everything=False))


def work(facts: Facts) -> Part:
    """Return everything that goes on, by precedence."""
    scaling = scale(facts)
    part = bootstrap(facts)
    part = merge(part, create(facts, scaling.missing))
    leaving = {n: why for n, why in scaling.leaving.items() if n not in part.intents}
    part = merge(part, leave(facts, leaving, arriving=arriving(facts, scaling)))
    taken = frozenset(part.intents) | frozenset(leaving)
    part = merge(part, repair(facts, taken))
    moving = next((n for n in sorted(part.drain) if facts.units_of(n) and is_moving(facts, n)), None)
    part = merge(part, roll(facts, taken | frozenset(part.intents), moving=moving))
    return merge(volumes(facts), part)


def is_moving(facts: Facts, name: str) -> bool:
    """Return whether a copy of the member is on its way now; a drain that is stuck does not hold other work back."""
    return any(copy.target and copy.member == name for unit in facts.units_of(name) for copy in unit.copies)


def resting(facts: Facts, member: Member) -> Intent:
    """Return where a member stands that nothing is meant for now."""
    change = change_of(facts, member)
    if member.name not in facts.up:
        state, text = absent(facts, member)
        return Intent(member.name, member.pool, state, change.effect, text)
    if change.effect is Effect.NONE:
        return Intent(member.name, member.pool, State.READY)
    return Intent(member.name, member.pool, State.WAITING, change.effect, f"{member.name} waits ({change.describe()})")


def absent(facts: Facts, member: Member) -> tuple[State, str]:
    """Return the state of a member that does not serve, and why it does not."""
    pod, name = member.pod, member.name
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


BUSY = (
    State.RESTARTING,
    State.PREPARING,
    State.REPAIRING,
    State.CREATING,
    State.DRAINING,
    State.LEAVING,
    State.STARTING,
    State.DOWN,
    State.GROWING,
)
"""States in the order in which they are what is going on."""


def sentence(obs: Observation, part: Part, intents: Mapping[str, Intent], *, settled: bool) -> str:
    """Return what is going on in one sentence."""
    if settled:
        return "everything is as it should be"
    stalled = next((w.message for w in part.waits if w.stalled), None)
    busy = next((i.sentence for state in BUSY for i in intents.values() if i.state is state and i.sentence), None)
    waits = next((w.message for w in part.waits), None)
    return busy or stalled or waits or f"{obs.name} changes"
