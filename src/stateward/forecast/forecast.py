"""Runs the shipped planner without failures, round by round, from an observation to the desired state."""

from msgspec import Struct

from stateward.forecast.durations import STEP, Durations, News
from stateward.forecast.world import Event, TimedWorld
from stateward.planning.model.observation import Observation
from stateward.planning.plan import Plan, plan

PATIENCE = 30.0
"""Seconds to advance when no event is due: a few rounds exceed each timeout of the planner."""
IDLE = 40
"""Rounds without an action after which the forecast ends."""


class PlannedStep(Struct, frozen=True):
    """A plan with actions, its observation, and its time."""

    at: float
    seen: Observation
    made: Plan


class Forecast(Struct, frozen=True):
    """The plans in order, the events, and the last plan, which has no actions."""

    began: float
    steps: tuple[PlannedStep, ...]
    log: tuple[Event, ...]
    end: Observation
    last: Plan
    ended_at: float
    """When the desired state was reached, or else the time of the last event."""

    @property
    def seconds(self) -> float | None:
        """The duration until the desired state is reached; None if it would not be."""
        return self.ended_at - self.began if self.last.settled else None


def run_forecast(start: Observation, now: float, durations: Durations | None = None) -> Forecast:
    """Return the forecast from an observation until the cluster has its desired state or is stuck."""
    durations = durations or Durations()
    world, steps = TimedWorld(start, now, durations), list[PlannedStep]()
    idle, most = 0, IDLE * 2 + 100 * (len(start.members) + sum(pool.replicas for pool in start.desired.pools))
    for _ in range(most):
        seen = world.observation()
        made = plan(seen, world.queue.now)
        world.news = News.NOTHING
        if made.settled or idle >= IDLE:
            break
        world.record_states({name: intent.state.value for name, intent in made.intents.items()})
        world.record_waits(made)
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
    while not world.news and not queue.empty:
        queue.step()
    queue.until(queue.now + (durations.reaction_to(world.news, closely=world.closely) if world.news else PATIENCE))
