"""What looking at an installation needs of the process that it happens in."""

from dataclasses import dataclass

from stateward.kube.clock import Clock
from stateward.kube.events import EventRecorder
from stateward.operator.installations.hands import Tools
from stateward.operator.installations.library import Library
from stateward.operator.installations.resting import Memory
from stateward.operator.installations.tasks import Exec, no_exec
from stateward.operator.installations.watches import Watches


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The tools, the packages there are, what is known of made objects, and who hears of it."""

    tools: Tools
    library: Library
    watches: Watches
    memory: Memory
    recorder: EventRecorder
    clock: Clock
    execute: Exec = no_exec
