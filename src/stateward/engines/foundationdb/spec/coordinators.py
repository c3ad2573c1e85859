"""Which members are coordinators: one zone loses at most one of them, and as few change as have to.

Coordinators are where clients find the database. Losing a majority of them makes it unavailable for everybody, whatever
else runs; so they are spread over zones first, and none is on a member that leaves. When they change, they change to
members that stay: each change makes all clients connect anew, so one has to be enough for all members that will go.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

COUNTS = {"single": 1, "double": 3, "triple": 5, "three_data_hall": 9, "three_datacenter": 9}
"""Coordinators by redundancy mode: with 2n+1 of them, n may fail; as FoundationDB's administration guide has them."""

PREFERRED = ("coordinator", "storage", "log", "transaction", "stateless")
"""Classes from the best to the least: those whose members are moved least often, and keep their disks, come first."""


class Prospect(IntEnum):
    """What is to be expected of a member, from the best to the worst."""

    STAYS = 0
    AWAY_SOON = 1
    """Its pod is made anew soon, or its node is tainted or not ready."""
    GOES = 2
    """It will be replaced or removed, though not now."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A member that may be a coordinator."""

    name: str
    zone: str
    """Its fault domain; members whose zone is not known share one, so that they are never counted as spread."""
    kind: str
    """Its process class."""
    serves: bool = True
    """Whether its process was reached, and is what it should be."""
    leaves: bool = False
    """Whether it is excluded, or on its way out."""
    prospect: Prospect = Prospect.STAYS


@dataclass(frozen=True, slots=True)
class Choice:
    """Who should be a coordinator, and why that is not as good as it should be, if it is not."""

    members: frozenset[str]
    problem: str = ""


def count_of(redundancy: str) -> int:
    """Return how many coordinators a redundancy mode asks for; raises KeyError for one that is not known."""
    return COUNTS[redundancy]


def choose(candidates: Iterable[Candidate], now: frozenset[str], count: int) -> Choice:
    """Return who should be a coordinator, given who is one now.

    In each zone those come first that are expected to stay, and of these the ones that are coordinators; the rest is
    filled from zones that have the fewest. Where there are not enough that serve, there are fewer, but always an odd
    number: an even one bears no more.
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
    return Choice(names, crowded(chosen))


def spread(fit: Sequence[Candidate], count: int) -> list[Candidate]:
    """Return at most so many, in rounds over the zones, each zone's best first."""
    left, chosen = list(fit), list[Candidate]()
    while left and len(chosen) < count:
        zones = set[str]()
        for candidate in list(left):
            if candidate.zone not in zones and len(chosen) < count:
                zones.add(candidate.zone)
                chosen.append(candidate)
                left.remove(candidate)
    return chosen


def crowded(chosen: Sequence[Candidate]) -> str:
    """Return which zone has so many coordinators that losing it loses the majority; empty when none has."""
    zones = [c.zone for c in chosen]
    worst = max(sorted(set(zones)), key=zones.count, default="")
    if len(chosen) > 1 and zones.count(worst) * 2 >= len(chosen):
        place = worst or "a zone that is not known"
        return f"{zones.count(worst)} of {len(chosen)} coordinators are in {place}: losing it stops the database"
    return ""


def has_to_change(
    now: frozenset[str], choice: Choice, candidates: Iterable[Candidate], reachable: frozenset[str]
) -> bool:
    """Return whether the coordinators should be changed now.

    Each change makes every client connect anew, so a choice that is only as good as what there is changes nothing.
    """
    known = {c.name: c for c in candidates}
    if any(name not in known or known[name].leaves for name in now):
        return True
    if len(now) < len(choice.members) or not now <= reachable:
        return True
    before = crowded([known[name] for name in sorted(now)])
    return bool(before) and not choice.problem
