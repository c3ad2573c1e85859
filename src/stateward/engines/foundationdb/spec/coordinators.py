"""The choice of coordinators: at most one per zone if possible, and as few changes as possible.

Clients find the database through its coordinators. Losing a majority of them makes it unavailable, whatever else runs.
So they are spread over zones first, and none is on a leaving member. New coordinators are members that stay: each
change makes all clients reconnect, so one change must be enough for all leaving members.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

COUNTS = {"single": 1, "double": 3, "triple": 5, "three_data_hall": 9, "three_datacenter": 9}
"""Coordinators by redundancy mode, from FoundationDB's administration guide: with 2n+1 of them, n may fail."""

PREFERRED = ("coordinator", "storage", "log", "transaction", "stateless")
"""Process classes, the best first: members that move least often and keep their disks."""


class Prospect(IntEnum):
    """The expected future of a member, the best first."""

    STAYS = 0
    AWAY_SOON = 1
    """Its pod is recreated soon, or its node is tainted or not ready."""
    GOES = 2
    """It will be replaced or removed, but not now."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A possible coordinator."""

    name: str
    zone: str
    """Its fault domain. Members without a known zone share one, so that they never count as spread."""
    kind: str
    """Its process class."""
    serves: bool = True
    """Whether its process was reached, with the desired properties."""
    leaves: bool = False
    """Whether it is excluded or leaving."""
    prospect: Prospect = Prospect.STAYS


@dataclass(frozen=True, slots=True)
class Choice:
    """The chosen coordinators, and the problem with them, if any."""

    members: frozenset[str]
    problem: str = ""


def count_of(redundancy: str) -> int:
    """Return the number of coordinators of a redundancy mode; raise KeyError for an unknown one."""
    return COUNTS[redundancy]


def choose(candidates: Iterable[Candidate], now: frozenset[str], count: int) -> Choice:
    """Return the coordinators to use, given the present ones.

    In each zone, members that are expected to stay come first, and among these the present coordinators. The rest comes
    from the zones with the fewest. If too few members serve, there are fewer coordinators, but always an odd number: an
    even number tolerates no more failures.
    """
    fit = [c for c in candidates if c.serves and not c.leaves and c.kind in PREFERRED]
    fit.sort(key=lambda c: (c.prospect, c.name not in now, PREFERRED.index(c.kind), c.name))
    chosen = spread(fit, count)
    if len(chosen) % 2 == 0:
        chosen = chosen[:-1]
    names = frozenset(c.name for c in chosen)
    if len(chosen) < count:
        return Choice(
            names, f"{count} coordinators are desired, and only {len(fit)} of the remaining members can be one"
        )
    return Choice(names, crowded_zone(chosen))


def spread(fit: Sequence[Candidate], count: int) -> list[Candidate]:
    """Return at most `count` candidates, in rounds over the zones, the best of each zone first."""
    left, chosen = list(fit), list[Candidate]()
    while left and len(chosen) < count:
        zones = set[str]()
        for candidate in list(left):
            if candidate.zone not in zones and len(chosen) < count:
                zones.add(candidate.zone)
                chosen.append(candidate)
                left.remove(candidate)
    return chosen


def crowded_zone(chosen: Sequence[Candidate]) -> str:
    """Return which zone has so many coordinators that its loss loses the majority; empty if none has."""
    zones = [c.zone for c in chosen]
    worst = max(sorted(set(zones)), key=zones.count, default="")
    if len(chosen) > 1 and zones.count(worst) * 2 >= len(chosen):
        place = worst or "a zone that is not known"
        return f"{zones.count(worst)} of {len(chosen)} coordinators are in {place}: losing it stops the database"
    return ""


def has_to_change(
    now: frozenset[str], choice: Choice, candidates: Iterable[Candidate], reachable: frozenset[str]
) -> bool:
    """Return whether the coordinators should change now.

    Each change makes every client reconnect, so an equally good choice changes nothing.
    """
    known = {c.name: c for c in candidates}
    if any(name not in known or known[name].leaves for name in now):
        return True
    if len(now) < len(choice.members) or not now <= reachable:
        return True
    before = crowded_zone([known[name] for name in sorted(now)])
    return bool(before) and not choice.problem
