"""The way of a cluster from what it is to what it should be, when all goes well: the shipped planner, look by look."""

from msgspec import Struct

from stateward.planning.model.observation import Observation
from stateward.planning.plan import Plan, plan
from stateward.simulation.forecast.pace import Pace
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


class Journey(Struct, frozen=True):
    """The plans in their order, what ended when, and the last plan, after which nothing happens."""

    began: float
    legs: tuple[PlannedStep, ...]
    log: tuple[Event, ...]
    end: Observation
    last: Plan
    arrived: float
    """When everything was as it should be, or the last thing happened that did."""


def travel(start: Observation, now: float, pace: Pace | None = None) -> Journey:
    """Return the way from an observation to where its cluster comes to rest: as it should be, or stuck."""
    pace = pace or Pace()
    world, legs = TimedWorld(start, now, pace), list[PlannedStep]()
    idle, most = 0, IDLE * 2 + 100 * (len(start.members) + sum(pool.replicas for pool in start.desired.pools))
    for _ in range(most):
        seen = world.observation()
        made = plan(seen, world.agenda.now)
        world.news = False
        if made.settled or idle >= IDLE:
            break
        world.noted({name: intent.state.value for name, intent in made.intents.items()})
        for action in made.actions:
            world.take(action)
        if made.actions:
            legs.append(PlannedStep(world.agenda.now, seen, made))
        idle = 0 if made.actions or not world.agenda.empty else idle + 1
        proceed(world, pace, acted=bool(made.actions))
    else:
        seen = world.observation()
        made = plan(seen, world.agenda.now)
    ends = [now, *(leg.at for leg in legs), *(happening.at for happening in world.log)]
    arrived = world.agenda.now if made.settled else max(ends)
    return Journey(now, tuple(legs), tuple(world.log), seen, made, arrived if legs else now)


def proceed(world: TimedWorld, pace: Pace, *, acted: bool) -> None:
    """Advance to the next reconciliation: soon after an action, or after the next event that it would notice."""
    agenda = world.agenda
    if acted:
        agenda.until(agenda.now + STEP)
        return
    while not world.news and not agenda.empty:
        agenda.step()
    agenda.until(agenda.now + (pace.look if world.news else PATIENCE))
