"""Plans one reconciliation: one intent per member, and the actions, from an observation at a given time.

`STEPS` is the order of precedence. A later step leaves a member alone that an earlier step has claimed. So two kinds of
work never take down two members, and no member gets two intents. Replacement is decided before the steps, because it
determines which members leave. Retention and revert come after them, because they also run while the cluster is paused.
"""

from collections.abc import Callable, Mapping

import msgspec
from msgspec import Struct

from stateward.planning.after_refusal import LATE
from stateward.planning.facts.change import change_of
from stateward.planning.facts.facts import Facts, derive
from stateward.planning.facts.removals import Removals, is_released
from stateward.planning.model.actions import (
    Action,
    Drain,
    ExcludeVoters,
    MarkState,
    Release,
    SetPhase,
)
from stateward.planning.model.intent import Intent, State, StepResult, Wait, merge
from stateward.planning.model.member import Member
from stateward.planning.model.observation import Observation, PoolSize, ProtocolSwitch, Removal, Unknown
from stateward.planning.model.phase import Phase
from stateward.planning.model.security import CERTIFICATES
from stateward.planning.refusals import refusal_waits
from stateward.planning.safety.disruption_budget import Budget, budgets, stops_serving
from stateward.planning.steps.membership.automatic_scaling import pool_sizes
from stateward.planning.steps.membership.bootstrap import bootstrap
from stateward.planning.steps.membership.create_members import create
from stateward.planning.steps.membership.decommission import decommission
from stateward.planning.steps.membership.kept_volumes import kept_volumes, stays_on_record
from stateward.planning.steps.membership.pacing import limit_releases
from stateward.planning.steps.membership.protocol_switch import switch_waits
from stateward.planning.steps.membership.replacement import replacement
from stateward.planning.steps.membership.scale import Scale, scale
from stateward.planning.steps.membership.surge import departures
from stateward.planning.steps.rollout.default_intent import default_intent
from stateward.planning.steps.rollout.restart_all import restart_all
from stateward.planning.steps.rollout.restart_one import cannot_finish
from stateward.planning.steps.rollout.restarts_in_progress import continue_restarts
from stateward.planning.steps.rollout.rolling_change import OtherWork, roll
from stateward.planning.steps.rollout.stopped_processes import handle_stopped
from stateward.planning.steps.rollout.user_requests import schedule
from stateward.planning.steps.upkeep.database_upkeep import configure_database
from stateward.planning.steps.upkeep.first_restore import first_restore
from stateward.planning.steps.upkeep.garbage_collection import collect_garbage
from stateward.planning.steps.upkeep.repair import repair
from stateward.planning.steps.upkeep.retention import retention
from stateward.planning.steps.upkeep.revert import revert_settings
from stateward.planning.steps.upkeep.templates import templates
from stateward.planning.steps.upkeep.volume_change import volumes


class Plan(Struct, frozen=True):
    """What should happen next, what each member is about, and what waits for what."""

    actions: tuple[Action, ...]
    """In the order in which they are carried out."""
    intents: Mapping[str, Intent]
    waits: tuple[Wait, ...]
    budgets: tuple[Budget, ...]
    activity: str
    settled: bool
    """Whether the cluster matches its spec: no action is due, and nothing waits."""
    removals: Mapping[str, Removal] = {}
    """The members that are replaced, as the status is to remember them."""
    leaving: Mapping[str, str] = {}
    """Every member that leaves, with the reason."""
    sizes: Mapping[str, PoolSize] = {}
    """By pool that scales: the number of members that the status is to record; later rounds obey it."""
    resizes: bool = False
    """Whether one of these numbers is another one than now."""
    disrupts: bool = False
    """Whether an action stops a member that serves, which waits until no disruption budget admits an eviction."""
    forgets: bool = False
    """Whether the status would lose its record of a member because none of its objects was observed."""

    @property
    def endings(self) -> tuple[Action, ...]:
        """Actions that come before everything else, because they only end something."""
        return tuple(action for action in self.actions if runs_first(action))

    @property
    def steps(self) -> tuple[Action, ...]:
        """The other actions, in the order in which they run."""
        return tuple(action for action in self.actions if not runs_first(action))

    @property
    def needs_live(self) -> bool:
        """Whether the plan must be made again from live reads: for an action, to forget a member or resize a pool.

        Nothing but the status holds this record. The disaster this prevents: a cache that starts with an old state does
        not show a new member. A forgotten member does not count as down while it restarts, so the operator stops
        another one.
        """
        return self.forgets or self.resizes or any(action.needs_live for action in self.actions)

    @property
    def records_first(self) -> bool:
        """Whether the status is written before the actions: before all but those that may run on cached reads.

        Also before the version of a member's data is marked on its claim. The disaster this prevents: the operator is
        killed between that and the status. The upgrade is reverted, and the status, which counts before the claim, says
        that the member never ran the later version.
        """
        return self.needs_live or any(isinstance(action, MarkState) and action.version for action in self.actions)


ENDING = 30.0
"""Seconds after its time to end is over for which a pod is still expected to go: the kubelet has to say so first."""


def plan(obs: Observation, now: float) -> Plan:
    """Return the plan for an observation at time `now` (seconds since the epoch)."""
    facts = derive(obs, now)
    obs = facts.obs
    refusals = refusal_waits(obs)
    hold = obs.desired.paused or any(r.everything for r in refusals)
    part = StepResult(waits=tuple(Wait(r.subject, r.reason, r.message, stalled=True) for r in refusals))
    if facts.held is not None:
        part = merge(part, StepResult(waits=(facts.held,)))
    if obs.desired.paused:
        part = merge(part, StepResult(waits=(Wait(obs.name, "Paused", "update.paused is set: no new step is taken"),)))
    removals, said = (Removals(obs.removals, obs.removals), StepResult()) if hold else replacement(facts)
    scaling = scale(facts, {} if hold else removals.obeyed)
    part = merge(part, said, continue_restarts(facts, frozenset()) if hold else run_steps(facts, scaling))
    part = merge(part, retention(facts, hold=hold))
    part = merge(revert_settings(facts, part, hold=hold), part)
    part = merge(part, default_intents(facts, part, hold=hold))
    sizes = pool_sizes(facts, hold=hold)
    resizes = any(sizes[name].replicas != facts.pools[name].replicas for name in sizes)
    settled = (
        not part.actions
        and not part.waits
        and not resizes
        and all(at_rest(facts, removals, i) for i in part.intents.values())
    )
    settled = settled and facts.turn is None and undone(facts)
    if isinstance(obs.database, Unknown):
        part = merge(
            part, StepResult(waits=(Wait(obs.name, obs.database.reason, obs.database.why + certificate_advice(facts)),))
        )
        settled = False
    actions = allowed_on_these_reads(obs, ordered(part.actions))
    return Plan(
        actions=actions,
        intents=part.intents,
        waits=part.waits,
        budgets=budgets(facts, part),
        activity=summary(obs, part, settled=settled),
        settled=settled,
        removals=removals.recorded,
        leaving=scaling.leaving,
        sizes=sizes,
        resizes=resizes,
        disrupts=stops_serving(facts, actions),
        forgets=loses_record(obs, part, removals),
    )


def certificate_advice(facts: Facts) -> str:
    """Return advice for a silent database whose members all run with certificates from before the last renewal.

    If these certificates have expired, the members no longer trust each other. Then no member can restart on its own,
    because the others would not trust it afterwards.
    """
    running = [m for m in facts.obs.members if m.pod is not None and m.alive]
    if not running or not all(CERTIFICATES in change_of(facts, m).because for m in running):
        return ""
    return (
        "; all members run with certificates from before the last renewal: if these have expired, restart all members"
        f" together: kubectl stateward restart {facts.obs.name} --coordinated"
    )


def loses_record(obs: Observation, part: StepResult, removals: Removals) -> bool:
    """Return whether the status would lose a member or a replacement that it records now."""
    shown = {m.name for m in obs.members if m.present or m.name in part.intents}
    return not (obs.records.keys() <= shown and obs.removals.keys() <= removals.recorded.keys())


def at_rest(facts: Facts, removals: Removals, intent: Intent) -> bool:
    """Return whether no step is due for a member, also if it was replaced and cannot end."""
    if intent.state is State.READY:
        return True
    member = facts.members[intent.member]
    released = intent.member in removals.obeyed and is_released(member)
    return released and (member.pod is None or cannot_end(facts, member))


def undone(facts: Facts) -> bool:
    """Return whether no drain is left in the database but that of a member that cannot end.

    Ready means that nothing is left to undo: a client that waits for it would find the drain in the database.
    """
    draining = facts.database.draining if facts.database is not None else frozenset[str]()
    return all(name in facts.members and cannot_end(facts, facts.members[name]) for name in draining)


def cannot_end(facts: Facts, member: Member) -> bool:
    """Return whether the pod of a released member should have ended: its node is unreachable, or something holds it.

    No step can help, and nothing else has to wait for it. A pod that is not terminating yet has been released a moment
    ago, and a pod that ends normally is gone soon.
    """
    pod = member.pod
    if pod is None or not is_released(member):
        return False
    return not pod.node_ready or (pod.terminating and facts.now > pod.gone_by + ENDING)


def runs_first(action: Action) -> bool:
    """Return whether an action runs before the shared objects are written, because it only ends something.

    A shared object that cannot be written must not keep the allocation limited or a process stopped. Lifting a drain
    can wait for the shared objects, so that a refusal of the database cannot keep a process stopped either.
    """
    return action.ends and not isinstance(action, Drain | ExcludeVoters)


def ordered(actions: tuple[Action, ...]) -> tuple[Action, ...]:
    """Return the actions in the order in which they run; the run ends with the first one that fails.

    Actions that undo a setting are already first. Actions that may be refused repeatedly are last: an exhausted quota
    must not keep the allocation limited, delay the departure that would free space, or delay the repair of a broken
    member. The version of a volume's data comes last of all: every claim of a cluster gets it after an upgrade.
    """
    return tuple(sorted(actions, key=urgency))


def urgency(action: Action) -> int:
    """Return what sorts an action among the others of its plan; those of one urgency keep their order."""
    if isinstance(action, MarkState) and action.again:
        return len(LATE)
    return LATE.index(type(action)) if isinstance(action, LATE) else -2 if runs_first(action) else -1


def allowed_on_these_reads(obs: Observation, actions: tuple[Action, ...]) -> tuple[Action, ...]:
    """Return the actions that are safe on these reads: while the caches lag behind, only those that end something.

    The disaster this prevents: the operator does not see its own deletion yet, and stops a second manager. Actions that
    end something stay in the plan: those that require live reads are the reason to make the plan again, and do not wait
    for the caches.
    """
    if obs.settled_writes:
        return actions
    return tuple(action for action in actions if action.ends or not action.needs_live)


def run_steps(facts: Facts, scaling: Scale) -> StepResult:
    """Return the result of all steps in order; a later step leaves alone what an earlier step has claimed."""
    part = StepResult()
    for step in STEPS.values():
        part = merge(part, step(facts, scaling, part))
    return part


def claimed(part: StepResult) -> frozenset[str]:
    """Return the members that earlier steps have claimed."""
    return frozenset(part.intents)


def excluded_from_restarts(facts: Facts, scaling: Scale, part: StepResult) -> frozenset[str]:
    """Return the members that no step restarts: those claimed, and those that leave and cannot be reached."""
    return claimed(part) | {name for name in scaling.leaving if cannot_finish(facts, name)}


def leaving(scaling: Scale, part: StepResult) -> Mapping[str, str]:
    """Return the members that leave and that no earlier step has claimed, with the reason."""
    return {name: why for name, why in scaling.leaving.items() if name not in part.intents}


def decommissions(facts: Facts, scaling: Scale, part: StepResult) -> StepResult:
    """Return the next step of the members that leave; no step while all processes change to another protocol."""
    nobody: Mapping[str, str] = {}
    going = nobody if facts.crossing is ProtocolSwitch.SWITCHED else leaving(scaling, part)
    return limit_releases(facts, decommission(facts, going, scaling, departures(facts, scaling)))


def after_steps(facts: Facts, part: StepResult) -> Facts:
    """Return the facts for a later step of a plan: members that earlier steps stop together count as down already.

    The disasters this prevents: a coordinated restart is requested for one of three managers, and the plan that stops
    it also stops another one for a rolling change; or a drained member leaves whose copy has no other place, and the
    only other member with that shard restarts at the same time. So copies on members that leave do not count. Or the
    only voter restarts, and its vote is to move to a manager that leaves; so no vote moves to one that loses its own.
    """
    left = {action.member for action in part.actions if isinstance(action, Release)}
    left |= {m.name for m in facts.obs.members if not m.alive}
    written = (action for action in part.actions if isinstance(action, SetPhase))
    names = frozenset(action.member for action in written if action.phase is Phase.STOP_COORDINATED)
    holders = {unit: holding - left for unit, holding in facts.holders.items()} if left else facts.holders
    database = facts.database
    if database is not None and part.exclude:
        told = database.voting_exclusions | part.exclude
        database = msgspec.structs.replace(database, voting_exclusions=told)
    up, down = facts.up - names, facts.down | names
    return msgspec.structs.replace(facts, up=up, down=down, holders=holders, database=database)


def other_work(facts: Facts, part: StepResult) -> OtherWork:
    """Return the work of earlier steps that a rolling change has to leave room for."""
    moving = next((name for name in sorted(part.drain) if is_moving(facts, name)), None)
    voters = facts.database.voters if facts.database is not None else frozenset[str]()
    return OtherWork(
        moving=moving,
        unvoting=min(part.exclude, default=None),
        drained=part.drain,
        losing_votes=part.exclude & voters,
    )


Step = Callable[[Facts, Scale, StepResult], StepResult]
"""A step takes the facts, the members that come and leave, and the result so far; it returns what it adds."""

STEPS: Mapping[str, Step] = {
    "kept volumes": lambda facts, scaling, _part: kept_volumes(facts, scaling),
    "bootstrap": lambda facts, scaling, _part: bootstrap(facts, scaling.leaving),
    "create members": lambda facts, scaling, _part: create(facts, scaling),
    "restarts in progress": lambda facts, scaling, part: continue_restarts(
        facts, excluded_from_restarts(facts, scaling, part)
    ),
    "stopped processes": lambda facts, scaling, part: handle_stopped(
        facts, excluded_from_restarts(facts, scaling, part)
    ),
    "protocol switch": lambda facts, scaling, part: switch_waits(facts, leaving(scaling, part)),
    "decommission": decommissions,
    "repair": lambda facts, _scaling, part: repair(facts, claimed(part), part.drain),
    "coordinated restart": lambda facts, scaling, part: restart_all(
        facts, excluded_from_restarts(facts, scaling, part)
    ),
    "rolling change": lambda facts, _scaling, part: roll(
        after_steps(facts, part), claimed(part), other_work(facts, part)
    ),
    "volume changes": lambda facts, _scaling, _part: volumes(facts),
    "database upkeep": lambda facts, _scaling, _part: configure_database(facts),
    "first restore": lambda facts, _scaling, _part: first_restore(facts),
    "templates": lambda facts, _scaling, part: templates(facts, part.intents),
    "user requests": lambda facts, _scaling, part: schedule(facts, part.actions),
    "garbage collection": lambda facts, _scaling, _part: collect_garbage(facts),
}
"""The steps in their order of precedence. To add a step, write its module and give it a line here."""


def is_moving(facts: Facts, name: str) -> bool:
    """Return whether a shard of the member is relocating now; a blocked drain does not hold other work back."""
    return any(copy.target and copy.member == name for unit in facts.units_of(name) for copy in unit.copies)


def default_intents(facts: Facts, part: StepResult, *, hold: bool) -> StepResult:
    """Return the intents of the members that no step has claimed: what held them back, or their state."""
    found: list[StepResult] = []
    for member in facts.obs.members:
        stays = member.present or stays_on_record(facts, member, hold=hold)
        if member.name in part.intents or not stays:
            continue
        own = default_intent(facts, member)
        said = part.otherwise.get(member.name)
        if said is not None and own.intents[member.name].state in (State.READY, State.WAITING):
            own = msgspec.structs.replace(own, intents={member.name: said})
        found.append(own)
    return merge(*found)


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


def summary(obs: Observation, part: StepResult, *, settled: bool) -> str:
    """Return what is going on in one sentence."""
    if settled:
        return "the cluster matches its spec"
    stalled = next((w.message for w in part.waits if w.stalled), None)
    intents = part.intents.values()
    busy = next((i.sentence for state in BUSY for i in intents if i.state is state and i.sentence), None)
    waits = next((w.message for w in part.waits), None)
    return busy or stalled or waits or f"{obs.name} changes"
