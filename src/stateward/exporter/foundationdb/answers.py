"""Reads the last answer of the database, which the second container of the pod has left.

An answer that is too old, from the future, too large or garbled is none: no value of it is served.
"""

import asyncio
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct

from stateward.engines.connection.base import EngineError, GarbledError
from stateward.engines.connection.decoding import decoded
from stateward.engines.foundationdb.database.status import document
from stateward.engines.foundationdb.exporter.settings import LARGEST, MARK, OLDEST, FoundationSettings
from stateward.engines.foundationdb.spec.connection import without_keys
from stateward.exporter.foundationdb.catalog import AGE
from stateward.exporter.foundationdb.translation import problem, status_samples
from stateward.exporter.metric import DURATION, UP
from stateward.exporter.rounds import Round
from stateward.exporter.samples import Sample, labels_of

LAST_LINE = re.compile(rf"\n{MARK} ([0-9]{{1,12}}\.[0-9]{{1,9}}) ([0-9]{{1,12}}\.[0-9]{{1,9}})\n".encode())
LONGEST_LINE = 100
AHEAD = 5.0
"""Seconds by which a clock may be set back between an answer and its reading."""
WHOSE = "fdbcli printed a status that cannot be read:"


class Answer(Struct, frozen=True):
    """What was printed, and when the question began and ended, in seconds since the epoch."""

    output: bytes
    began: float
    ended: float


class Answers:
    """The answers of one database; `clock` returns seconds since the epoch."""

    def __init__(self, settings: FoundationSettings, clock: Callable[[], float] = time.time) -> None:
        self._settings = settings
        self._clock = clock

    async def ask(self) -> Round:
        """Return present samples."""
        return await asyncio.to_thread(self._round)  # A large status takes longer than others may wait.

    def _round(self) -> Round:
        labels = labels_of(self._settings)
        down = Sample(UP, labels, 0.0)
        try:
            answer = _parsed(_content(Path(self._settings.answer)))
            age = self._clock() - answer.ended
            if not -AHEAD <= age <= OLDEST:
                return Round((down,), _dated(answer, age))
            status = decoded(dict[str, Any], document(answer.output), WHOSE)
        except FileNotFoundError:
            return Round((down,), "fdbcli has not answered yet", starting=True)
        except (EngineError, OSError) as error:
            return Round((down,), _shown(str(error)))
        failure = problem(status, self._settings)
        own = [Sample(UP, labels, float(not failure)), Sample(AGE, labels, max(0.0, age))]
        if answer.ended >= answer.began:
            own.append(Sample(DURATION, labels, answer.ended - answer.began))
        return Round((*own, *status_samples(status, self._settings)), _shown(failure))


def _content(path: Path) -> bytes:
    """Return the content of the file; raises GarbledError if it is too large, OSError."""
    with path.open("rb") as file:
        content = file.read(LARGEST + LONGEST_LINE)
    if len(content) >= LARGEST:
        raise GarbledError(f"fdbcli printed more than {LARGEST} bytes")
    return content


def _parsed(content: bytes) -> Answer:
    found = LAST_LINE.search(content, max(0, len(content) - LONGEST_LINE))
    if found is None or found.end() != len(content):
        raise GarbledError("the answer of fdbcli has no times")
    return Answer(content[: found.start()], float(found[1]), float(found[2]))


def _dated(answer: Answer, age: float) -> str:
    """Return why the time of an answer is wrong: the same text each time, because a new one is a line in the log."""
    moment = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(answer.ended))
    why = "its container does not run" if age > 0 else "a clock was set back"
    return f"the last answer of fdbcli is from {moment}: {why}"


def _shown(failure: str) -> str:
    """Return a text for logs and status, without the key of a cluster file: what the database said is in it."""
    return without_keys("".join(each if each.isprintable() else " " for each in failure))[:500]
