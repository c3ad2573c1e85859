"""The record of a campaign: a file with one line for each finished run, so that it can be resumed, split and merged.

The first line says which campaign it is: engine, duration, limits, and a digest of the code. Records of different
campaigns cannot be mixed. A run is a function of its seed and the code, so two different results of a seed are an
error, and a recorded run is not repeated.
"""

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

import msgspec
from msgspec import Struct, structs

import stateward
from stateward.simulation.campaign.run import Outcome

STDOUT = Path("-")
"""The name of standard output, for pods whose logs are collected."""


class RecordError(ValueError):
    """A record cannot be read, or belongs to another campaign; the message names the file and the line or field."""


class Campaign(Struct, frozen=True, tag="campaign", tag_field="line", forbid_unknown_fields=True):
    """The common parameters of all runs of a record."""

    engine: str
    code: str
    """Digest of the package's source files."""
    step_limit: int
    hours: float | None = None
    """Hours of storm of each run; None with `days`, or for the usual mix."""
    days: float | None = None
    wall_limit: float | None = None


class Finished(Struct, frozen=True, tag="run", tag_field="line", forbid_unknown_fields=True):
    """One finished run."""

    outcome: Outcome


_DECODER = msgspec.json.Decoder(Campaign | Finished)


@cache
def code_digest() -> str:
    """Return the digest of the package's sources: the same seed is the same run only with the same code."""
    root, digest = Path(stateward.__file__).parent, hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


class Record:
    """A record that is written; a context manager. A line is on disk when `add` returns.

    Raises RecordError if the file belongs to another campaign or cannot be read. An unfinished last line, which an
    interrupted run leaves, is removed.
    """

    def __init__(self, path: Path, campaign: Campaign) -> None:
        self._path = path
        self._campaign = campaign
        self._file: TextIO | None = None
        self.outcomes: Mapping[int, Outcome] = {}
        """The runs recorded earlier, by seed."""

    def __enter__(self) -> Self:
        """Read the earlier runs, and open the file to append."""
        if self._path == STDOUT:
            self._write(self._campaign)
            return self
        fresh = not self._path.exists() or self._path.stat().st_size == 0
        if not fresh:
            _cut_unfinished(self._path)
            before, self.outcomes = read([self._path])
            require_same(before, self._campaign, self._path)
        self._file = self._path.open("a", encoding="utf-8")
        if fresh:
            self._write(self._campaign)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def add(self, outcome: Outcome) -> None:
        """Record a finished run."""
        self._write(Finished(outcome))

    def _write(self, line: Campaign | Finished) -> None:
        text = msgspec.json.encode(line).decode()
        if self._file is None:
            sys.stdout.write(text + "\n")
            sys.stdout.flush()
            return
        self._file.write(text + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())


def read(paths: Iterable[Path]) -> tuple[Campaign, dict[int, Outcome]]:
    """Return the campaign of some records and their runs by seed; one file may contain several records.

    Raises RecordError for a file that is not a record, for records of different campaigns, and for two different
    results of one seed.
    """
    campaign: Campaign | None = None
    found: dict[int, tuple[Path, Outcome]] = {}
    for path in paths:
        heard = False
        for line in _lines(path):
            match line:
                case Campaign():
                    campaign, heard = campaign or line, True
                    require_same(line, campaign, path)
                case Finished(outcome) if heard:
                    first, known = found.setdefault(outcome.seed, (path, outcome))
                    if known != outcome:
                        raise RecordError(
                            f"{path}: seed {outcome.seed} ended differently in {first}, with the same code"
                        )
                case _:
                    raise RecordError(f"{path}: the first line does not name the campaign")
    if campaign is None:
        raise RecordError("no record names its campaign: a record is written by --results")
    return campaign, {seed: outcome for seed, (_, outcome) in sorted(found.items())}


def write(path: Path, campaign: Campaign, outcomes: Iterable[Outcome]) -> None:
    """Write a complete record; the file is replaced atomically."""
    beside = path.with_name(path.name + ".new")
    lines = (campaign, *(Finished(outcome) for outcome in outcomes))
    beside.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in lines))
    beside.replace(path)


def require_same(found: Campaign, wanted: Campaign, path: Path) -> None:
    """Raise RecordError with the first field in which two campaigns differ."""
    for name, value in structs.asdict(found).items():
        if value != getattr(wanted, name):
            raise RecordError(f"{path}: {name} is {value!r}, and not {getattr(wanted, name)!r}: another campaign")


def _lines(path: Path) -> Iterator[Campaign | Finished]:
    try:
        texts = path.read_bytes().splitlines()
    except OSError as error:
        raise RecordError(f"{path}: {error.strerror}") from None
    for number, text in enumerate(texts, 1):
        try:
            yield _DECODER.decode(text)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise RecordError(f"{path}, line {number}: {error}") from None


def _cut_unfinished(path: Path) -> None:
    with path.open("rb+") as file:
        text = file.read()
        file.truncate(text.rfind(b"\n") + 1)
