"""The phases in which a process is restarted inside its pod, and their order.

The phase is an annotation of the pod, so it survives the operator and the agent. The agent reads it too: after its own
restart it acts on the phase. A member that has reached `start` does not stop again, with one exception: its process
does not start, and in between all members have to restart together.
"""

from collections.abc import Mapping
from enum import StrEnum


class Phase(StrEnum):
    """The values of the annotation `stateward.dev/restart-phase`; without it no restart is in progress."""

    NONE = ""
    SCHEDULE = "schedule"
    SCHEDULE_ROLLING = "schedule-rolling"
    SCHEDULE_COORDINATED = "schedule-coordinated"
    STOP = "stop"
    STOP_COORDINATED = "stop-coordinated"
    START = "start"
    START_COORDINATED = "start-coordinated"


SCHEDULED = frozenset({Phase.SCHEDULE, Phase.SCHEDULE_ROLLING, Phase.SCHEDULE_COORDINATED})
"""Values that a person may set; nothing has happened to the process yet."""
STOPPING = frozenset({Phase.STOP, Phase.STOP_COORDINATED})
STARTING = frozenset({Phase.START, Phase.START_COORDINATED})
BEGUN = STOPPING | STARTING
"""The process is being stopped or started: the member counts as down."""
COORDINATED = frozenset({Phase.SCHEDULE_COORDINATED, Phase.STOP_COORDINATED, Phase.START_COORDINATED})

AFTER: Mapping[Phase, frozenset[Phase]] = {
    Phase.NONE: frozenset({*SCHEDULED, Phase.STOP, Phase.START}),
    Phase.SCHEDULE: frozenset({Phase.STOP, Phase.START, Phase.SCHEDULE_COORDINATED}),
    Phase.SCHEDULE_ROLLING: frozenset({Phase.STOP, Phase.START, Phase.SCHEDULE_COORDINATED}),
    Phase.SCHEDULE_COORDINATED: frozenset({Phase.STOP_COORDINATED, Phase.STOP, Phase.START}),
    Phase.STOP: frozenset({Phase.START}),
    Phase.STOP_COORDINATED: frozenset({Phase.START_COORDINATED, Phase.NONE}),
    Phase.START: frozenset({Phase.NONE, Phase.SCHEDULE_COORDINATED}),
    Phase.START_COORDINATED: frozenset({Phase.NONE, Phase.SCHEDULE_COORDINATED}),
}
"""The phases that a plan may write over each; the drawing in docs/concepts.md is this.

`schedule-coordinated` becomes `stop` where a user keeps the member stopped: the others restart without it.
`stop-coordinated` ends at once in a pod without an agent whose pool was removed: no phase stops its process. With a
change without which the member does not talk to the others, that pod is recreated.
"""


def parse_phase(text: str) -> Phase | None:
    """Return the phase that an annotation names; None if it names none."""
    try:
        return Phase(text)
    except ValueError:
        return None
