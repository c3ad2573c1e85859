"""What an operator asked of the API server, counted by the server itself: in its audit log of that operator's user."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec


class Target(msgspec.Struct, frozen=True):
    """What a request was about."""

    resource: str = ""


class Event(msgspec.Struct, frozen=True, rename="camel"):
    """One line of the log. A watch is told when it begins and when it ends, any other request when it ends."""

    stage: str
    verb: str
    object_ref: Target = Target()


def count(lines: Iterable[bytes]) -> Counter[str]:
    """Return the requests by verb; raise msgspec.DecodeError for a line that is no event.

    Leases are left out: each operator renews the one of its leader, continuously and by design.
    """
    events = (msgspec.json.decode(line, type=Event) for line in lines if line.strip())
    return Counter(event.verb for event in events if _counts(event))


def _counts(event: Event) -> bool:
    stage = "ResponseStarted" if event.verb == "watch" else "ResponseComplete"
    return event.stage == stage and event.object_ref.resource != "leases"


def read(log: Path) -> Counter[str]:
    """Return the requests since the server's start, by verb. A line that is being written is left for later."""
    whole = log.read_bytes().rpartition(b"\n")[0] if log.exists() else b""
    return count(whole.split(b"\n"))


def words(calls: Mapping[str, int]) -> str:
    """Return how many of each verb, the most frequent first."""
    ordered = sorted(calls.items(), key=lambda call: (-call[1], call[0]))
    return ", ".join(f"{number} {verb}" for verb, number in ordered if number)
