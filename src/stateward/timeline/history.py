"""The history of a cluster: a bounded list of short entries, as its ConfigMap holds it.

An entry is something that lasts, with its begin and end, or an event with one moment. Times are whole seconds since the
epoch. When the list is full, the oldest entries that have ended are dropped, and `begin` moves to the end of the last
of them: what was before is not known, which is not the same as nothing.
"""

from enum import StrEnum

import msgspec

from stateward.api.values.base import Record

MAX_ENTRIES = 1000
"""Entries: a rolling upgrade of 120 members makes about 500."""
MAX_BYTES = 128 * 1024
"""Bytes of the encoded history: an eighth of what a ConfigMap may hold."""
MAX_TEXT = 160
"""Characters of a reason."""


LAST = 32_503_680_000
"""The last time that an entry may have, in the year 3000: calendars end a little later."""
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Kind(StrEnum):
    """What an entry is about."""

    MEMBER = "member"
    """A member's phase."""
    WAIT = "wait"
    """A wait of a pool or of the whole cluster, by its reason."""
    HEALTH = "health"
    """The health that the database reports."""
    WRITES = "writes"
    """Whether every shard accepts writes: accepted, refused or unknown."""
    REMOVAL = "removal"
    """A member on the list of those that are replaced or leave."""
    EVENT = "event"
    """A moment: an edit, a deployed version, a start of the operator."""


class Entry(Record):
    """One entry; `end` is 0 while it lasts."""

    kind: Kind
    subject: str
    what: str
    begin: int
    end: int = 0
    why: str = ""
    pool: str = ""

    @property
    def identity(self) -> tuple[Kind, str, str]:
        """What tells it from others at the same time."""
        return self.kind, self.subject, self.what


class History(Record):
    """All entries of one cluster: those that have ended in order of their end, and those that last."""

    begin: int = 0
    """Since when the history is complete; 0 for one without entries."""
    until: int = 0
    """Until when it is complete: when it was stored; 0 if it never was, or if that is not known."""
    ended: tuple[Entry, ...] = ()
    lasting: tuple[Entry, ...] = ()
    generation: int = 0
    """The generation of the spec that was last observed."""
    version: str = ""
    """The version that was last deployed everywhere."""


def bounded(history: History) -> History:
    """Return a history within the limits: the oldest entries that have ended go first, then the oldest others."""
    excess = len(history.ended) + len(history.lasting) - MAX_ENTRIES
    if excess > 0:
        history = _without(history, excess)
    while len(text := encode(history)) > MAX_BYTES and (history.ended or history.lasting):
        count = len(history.ended) + len(history.lasting)
        history = _without(history, max(1, count * (len(text) - MAX_BYTES) // len(text)))
    return history


def _without(history: History, count: int) -> History:
    """Return a history without its `count` oldest entries."""
    dropped, ended = history.ended[:count], history.ended[count:]
    lasting = history.lasting[max(0, count - len(dropped)) :]
    begin = max([history.begin, *(entry.end for entry in dropped)])
    if len(lasting) < len(history.lasting):
        begin = max([begin, *(entry.begin for entry in history.lasting)])
    return msgspec.structs.replace(history, begin=begin, ended=ended, lasting=lasting)


def encode(history: History) -> bytes:
    """Return a history as JSON, one entry a line, so that a person can read it in the ConfigMap."""
    head = msgspec.to_builtins(msgspec.structs.replace(history, ended=(), lasting=()))
    lines = [msgspec.json.encode(head | {"format": 1})]
    lines += [msgspec.json.encode(entry) for entry in (*history.ended, *history.lasting)]
    return b"\n".join(lines) + b"\n"


def decode(text: bytes) -> History:
    """Return an encoded history; lines that cannot be read are left out, and a head that cannot: an empty history.

    A user who may write ConfigMaps may have written anything into it.
    """
    lines = text.splitlines()
    try:
        head = msgspec.json.decode(lines[0] if lines else b"", type=History)
    except _UNREADABLE:
        return History()
    if not 0 <= head.begin <= LAST:
        return History()
    entries = [entry for line in lines[1:] if (entry := _entry(line)) is not None]
    ended = tuple(entry for entry in entries if entry.end)
    return msgspec.structs.replace(head, ended=ended, lasting=tuple(entry for entry in entries if not entry.end))


def _entry(line: bytes) -> Entry | None:
    try:
        found = msgspec.json.decode(line, type=Entry)
    except _UNREADABLE:
        return None
    return found if 0 <= found.begin <= LAST and 0 <= found.end <= LAST else None
