"""The way of a cluster from what it is to what it should be, when all goes well: the shipped planner, look by look."""

from msgspec import Struct

from stateward.planning.model.observation import Observation
from stateward.planning.plan import Plan, plan
from stateward.simulation.forecast.durations import Durations
from stateward.simulation.forecast.world import Event, TimedWorld

STEP = 1.0
"""Seconds from one look to the next while the operator has something to do."""
PATIENCE = 30.0
"""How far the clock goes when nothing is to come: past every patience of the planner within a few looks."""
IDLE = 40
"""Looks without an action after which nothing more will happen."""


class PlannedStep(Struct, frozen=True):
    """A plan with actions, what it was made from, and when."""

    at: float
    seen: Observation
    made: Plan


class Forecast(Struct, frozen=True):
    """The plans in their order, what ended when, and the last plan, after which nothing happens."""

    began: float
    steps: tuple[PlannedStep, ...]
    log: tuple[Event, ...]
    end: Observation
    last: Plan
    ended_at: float
    """When everything was as it should be, or the last thing happened that did."""


def run_forecast(start: Observation, now: float, durations: Durations | None = None) -> Forecast:
    """Return the way from an observation to where its cluster comes to rest: as it should be, or stuck."""
    durations = durations or Durations()
    world, steps = TimedWorld(start, now, durations), list[PlannedStep]()
    idle, most = 0, IDLE * 2 + 100 * (len(start.members) + sum(pool.replicas for pool in start.desired.pools))
    for _ in range(most):
        seen = world.observation()
        made = plan(seen, world.queue.now)
        world.changed = False
        if made.settled or idle >= IDLE:
            break
        world.record_states({name: intent.state.value for name, intent in made.intents.items()})
        for action in made.actions:
            world.apply(action)
        if made.actions:
            steps.append(PlannedStep(world.queue.now, seen, made))
        idle = 0 if made.actions or not world.queue.empty else idle + 1
        advance(world, durations, acted=bool(made.actions))
    else:
        seen = world.observation()
        made = plan(seen, world.queue.now)
    ends = [now, *(step.at for step in steps), *(happening.at for happening in world.log)]
    ended_at = world.queue.now if made.settled else max(ends)
    return Forecast(now, tuple(steps), tuple(world.log), seen, made, ended_at if steps else now)


def advance(world: TimedWorld, durations: Durations, *, acted: bool) -> None:
    """Advance to the next reconciliation: soon after an action, or after the next event that it would notice."""
    queue = world.queue
    if acted:
        queue.until(queue.now + STEP)
        return
    while not world.changed and not queue.empty:
        queue.step()
    queue.until(queue.now + (durations.reaction if world.changed else PATIENCE))
