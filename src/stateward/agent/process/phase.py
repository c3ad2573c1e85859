"""The restart phase of the pod, from the file of the downward API."""

import json
from enum import Enum
from pathlib import Path

from stateward.agent.io.log import say
from stateward.agent.process.configuration import UnreadableError

ANNOTATION = "stateward.dev/restart-phase"


class Phase(Enum):
    """The values of the annotation `stateward.dev/restart-phase`. No annotation means that nothing is to do."""

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
        """Whether the process waits for the operator's request after the container has come back."""
        return self in {Phase.STOP, Phase.STOP_COORDINATED}

    @property
    def takes_new_configuration(self) -> bool:
        """Whether the process must get the mounted configuration instead of its previous one."""
        return self in {Phase.START, Phase.START_COORDINATED}


def read(path: Path | None) -> Phase:
    """Return the phase from a file that holds only this annotation, or all annotations as `name="value"` lines.

    A missing or invalid value counts as no phase: a member stays down only on an explicit request. Raise
    `UnreadableError` while the file cannot be read: it may say that the process stays stopped.
    """
    if path is None:
        return Phase.NONE
    try:
        return _parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Phase.NONE
    except OSError as error:
        raise UnreadableError(f"the restart phase cannot be read: {error}") from error
    except ValueError as error:
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
