"""The parts of a run that faults change."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from stateward.simulation.users.declared.people import Declarations
from stateward.simulation.users.user import User
from stateward.simulation.world.operators import Process
from stateward.simulation.world.world import World


@dataclass(slots=True)
class FaultTargets:
    """The parts of a run that faults change."""

    world: World
    processes: list[Process]
    user: User
    rng: random.Random
    reverts: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    """Functions that revert active faults when the schedule ends."""
    declarations: Declarations | None = None
    """The declared resources, in runs that have them."""
    empty: bool | None = None
    """True while empty volumes are lost, so no data may be written; False once there is data."""

    @property
    def process(self) -> Process:
        """A random operator process."""
        return self.rng.choice(self.processes)
