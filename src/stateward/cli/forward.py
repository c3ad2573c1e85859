"""What a plan leads to when all goes well: the shipped planner, run forward in a world where everything works.

It shows the order and the end, not the duration, which belongs to the simulation.
"""

from msgspec import Struct

from stateward.cli.easy_world import EasyWorld
from stateward.planning.observation import Observation
from stateward.planning.plan import Plan, plan

SECONDS = 30.0
"""How far the clock goes from one look to the next: past every patience of the planner within a few looks."""
IDLE = 40
"""Looks without an action after which nothing more will happen."""


class Journey(Struct, frozen=True):
    """The plans in their order, each with what it was made from, and the last one, after which nothing happens."""

    legs: tuple[tuple[Observation, Plan], ...]
    end: Observation
    last: Plan


def forward(start: Observation, now: float) -> Journey:
    """Return the way from an observation to where its cluster comes to rest: as it should be, or stuck."""
    world = EasyWorld(start)
    legs: list[tuple[Observation, Plan]] = []
    idle = 0
    most = IDLE * 2 + 50 * (len(start.members) + sum(pool.replicas for pool in start.desired.pools))
    for look in range(most):
        observed = world.observation()
        made = plan(observed, now + look * SECONDS)
        idle = 0 if made.actions else idle + 1
        if made.actions:
            legs.append((observed, made))
        if made.settled or idle >= IDLE:
            return Journey(tuple(legs), observed, made)
        for action in made.actions:
            world.take(action)
        world.settle(now + look * SECONDS)
    return Journey(tuple(legs), world.observation(), plan(world.observation(), now + most * SECONDS))
