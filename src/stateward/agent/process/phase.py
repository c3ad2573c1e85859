"""The restart phase of the pod, as the downward API writes it into a file."""

import json
from enum import Enum
from pathlib import Path

from stateward.agent.io.log import say

ANNOTATION = "stateward.dev/restart-phase"


class Phase(Enum):
    """The values of the annotation `stateward.dev/restart-phase`. No annotation means that there is nothing to do."""

    NONE = ""
    SCHEDULE = "schedule"
    SCHEDULE_ROLLING = "schedule-rolling"
    SCHEDULE_COORDINATED = "schedule-coordinated"
    STOP = "stop"
    STOP_COORDINATED = "stop-coordinated"
    START = "start"
    START_COORDINATED = "start-coordinated"

    @property
    def stays_stopped(self) -> bool:
        """Whether the process waits for the operator's word after the container has come back."""
        return self in {Phase.STOP, Phase.STOP_COORDINATED}

    @property
    def takes_new_configuration(self) -> bool:
        """Whether what is mounted now, rather than what ran before, is what the process should have."""
        return self in {Phase.START, Phase.START_COORDINATED}


def read(path: Path | None) -> Phase:
    """Return the phase in a file that holds this annotation alone, or all annotations as `name="value"` lines.

    What is missing or not understood counts as no phase: a member stays down only on a clear word, never by a mistake.
    """
    if path is None:
        return Phase.NONE
    try:
        return _parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Phase.NONE
    except (OSError, ValueError) as error:
        say(f"the restart phase is not valid and is ignored: {path}: {error}")
        return Phase.NONE


def _parse(text: str) -> Phase:
    lines = text.strip().splitlines()
    if len(lines) == 1 and "=" not in lines[0]:
        return Phase(lines[0].strip())
    for line in lines:
        name, _, value = line.partition("=")
        if name == ANNOTATION:
            return Phase(json.loads(value))
    return Phase.NONE
