"""One run: the shipped planner in the world of a forecast with one fault, until the cluster has its desired state."""

from collections.abc import Callable, Iterator

from msgspec import Struct

from stateward.forecast.durations import Durations, News
from stateward.forecast.forecast import IDLE, PATIENCE, advance
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Observation
from stateward.planning.plan import Plan, plan
from stateward.simulation.rehearsal.faults import Fault
from stateward.simulation.rehearsal.measures import Total
from stateward.simulation.rehearsal.rules import Rules
from stateward.simulation.rehearsal.search import SearchRules
from stateward.simulation.rehearsal.world import RehearsedWorld

Watcher = Callable[[float, Observation, Plan], None]
"""Receives each reconciliation of a run: its time, observation and plan."""

SEARCH: Rules = SearchRules()
"""The rules of search engines, which most clusters have."""
MARGIN = 1800.0
"""Seconds without an action, beyond the time after which missing members are replaced, until a run counts as stuck."""
MOST = 5000
"""Reconciliations after which a run ends as stuck, whatever happens: a thousand are many for 120 members."""
DOES: tuple[tuple[type[a.Create | a.DeletePod | a.StopProcess | a.Release | a.GrowVolume], str], ...] = (
    (a.Create, "the creation of"),
    (a.DeletePod, "the recreation of"),
    (a.StopProcess, "the restart of"),
    (a.Release, "the removal of"),
    (a.GrowVolume, "the expansion of the volume of"),
)


class Doing(Struct, frozen=True):
    """A step that has begun, in words; `at` in seconds from the begin of the run."""

    at: float
    what: str


class Outcome(Struct, frozen=True):
    """What happened in one run."""

    seed: int
    completed: bool
    seconds: float
    """Until the desired state, as the operator reports it; if it was not reached, until nothing happened any more."""
    single: Total
    """Shards without a second copy."""
    red: Total
    """Shards without any copy."""
    refused: Total
    """Shards that refused writes."""
    most_down: int
    """The most members at once that were down."""
    lost: int
    """Shards without any copy at the end."""
    fault: Fault | None
    during: str = ""
    """The step in progress when the fault occurred."""
    waits_for: tuple[str, str] = ("", "")
    """What it waits for at the end, if it did not complete: a reason in one word, and a sentence."""

    @property
    def damage(self) -> tuple[float, ...]:
        """What orders outcomes by how bad they are: data, availability, completion, redundancy, duration."""
        away = max(self.refused.seconds, self.red.seconds)
        return (self.lost, away, not self.completed, self.single.seconds, self.seconds)

    @property
    def damage_without_shards(self) -> tuple[float, ...]:
        """The same if the database does not report its shards: completion, availability, duration."""
        return (not self.completed, self.refused.seconds, self.seconds)


def play(  # noqa: PLR0913 - the last three are for few callers, and by name
    start: Observation,
    now: float,
    durations: Durations,
    seed: int,
    fault: Fault | None = None,
    watch: Watcher | None = None,
    *,
    rules: Rules = SEARCH,
) -> Outcome:
    """Return what happens from an observation on; `seed` is only noted."""
    world = rules.world(start, now, durations, () if fault is None else (fault,))
    doing, made = list[Doing](), plan(start, now)
    for made in rounds(world, durations, patience(start), watch):
        doing += steps(made, world.queue.now - now)
    settled_at, measures = world.queue.now, world.measures
    if made.settled:
        world.recover()
    end = world.queue.now
    return Outcome(
        seed=seed,
        completed=made.settled,
        seconds=settled_at - now if made.settled else max([0.0, *(step.at for step in doing)]),
        single=measures.single.total(end),
        red=measures.red.total(end),
        refused=measures.refused.total(end),
        most_down=measures.down.total(end).most,
        lost=len(measures.red.names),
        fault=fault,
        during=next((step.what for step in reversed(doing) if fault is not None and step.at <= fault.at), ""),
        waits_for=waits_for(made),
    )


def waits_for(made: Plan) -> tuple[str, str]:
    """Return what a run that does not complete waits for: what needs a user first."""
    if made.settled:
        return "", ""
    found = sorted(made.waits, key=lambda wait: not wait.stalled)
    return next(((wait.reason, wait.message) for wait in found), ("Unsettled", made.activity))


def patience(start: Observation) -> int:
    """Return after how many rounds without an action a run is stuck: missing members may still be replaced."""
    policy = start.desired.replacement
    waited = max(policy.after, *policy.taints.values()) if policy.taints else policy.after
    return IDLE + int((waited + MARGIN) / PATIENCE) if policy.enabled else IDLE


def rounds(world: RehearsedWorld, durations: Durations, idle_limit: int, watch: Watcher | None) -> Iterator[Plan]:
    """Yield the plan of each reconciliation, after its actions; the last one has none, or found the run stuck."""
    idle = 0
    for number in range(MOST):
        seen = world.observation()
        made = plan(seen, world.queue.now)
        if watch is not None:
            watch(world.queue.now, seen, made)
        world.news = News.NOTHING
        if (made.settled and not world.pending) or idle >= idle_limit or number == MOST - 1:
            yield made
            return
        world.record(made)
        for action in made.actions:
            world.apply(action)
        yield made
        idle = 0 if made.actions or not world.queue.empty else idle + 1
        pass_time(world, durations, acted=bool(made.actions))


def pass_time(world: RehearsedWorld, durations: Durations, *, acted: bool) -> None:
    """Advance to the next reconciliation: once a fault has occurred, half a minute later at the latest."""
    if acted or not world.disturbed:
        advance(world, durations, acted=acted)
        return
    latest = world.queue.now + PATIENCE
    while not world.news and world.queue.due <= latest:
        world.queue.step()
    reaction = durations.reaction_to(world.news, closely=world.closely)
    world.queue.until(world.queue.now + reaction if world.news else latest)


def steps(made: Plan, at: float) -> Iterator[Doing]:
    """Yield the steps that begin with a plan."""
    for kind, words in DOES:
        names = [action.member for action in made.actions if isinstance(action, kind)]
        if names:
            yield Doing(at, f"{words} {', '.join(names)}")
    drains = [sorted(action.members) for action in made.actions if isinstance(action, a.Drain) and action.members]
    yield from (Doing(at, f"the move of data away from {', '.join(names)}") for names in drains)
