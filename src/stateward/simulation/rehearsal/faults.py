"""The fault of one run: what fails, when, and for how long.

The moments and targets of many runs are spread evenly, so that a few hundred runs meet every target at many moments.
Durations are drawn.
"""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum

from msgspec import Struct

from stateward.planning.model.observation import Member, Observation

GOLDEN = (math.sqrt(5) - 1) / 2
"""Multiples of it, modulo 1, are spread evenly for any number of them. Source: Weyl's equidistribution theorem."""
ZONES = 4
"""Every fourth fault of nodes or network affects a whole zone, if there are several."""


class Kind(StrEnum):
    """What fails."""

    NODE = "node"
    """A Kubernetes node, or all of a zone, loses power: processes end. It returns with its data, or stays away."""
    DISK = "disk"
    """A volume fails: the process ends, and the data is lost. An empty volume takes its place, or none does."""
    NETWORK = "network"
    """A Kubernetes node, or all of a zone, cannot be reached: processes run on, and return with their data."""


class Fault(Struct, frozen=True):
    """One fault. Times are seconds, `at` from the begin of the run."""

    kind: Kind
    place: str
    """What fails, in words: a node, a zone, or the volume of a member."""
    members: tuple[str, ...]
    at: float
    seconds: float
    """How long; infinite if it does not end by itself."""

    @property
    def lasting(self) -> bool:
        """Whether it does not end by itself."""
        return math.isinf(self.seconds)


class Target(Struct, frozen=True):
    """Members that fail together."""

    place: str
    members: tuple[str, ...]


def targets(start: Observation, kind: Kind) -> tuple[Target, ...]:
    """Return what can fail: each node with its members, or each volume. A member on an unknown node has its own."""
    running = [member for member in start.members if member.alive]
    if kind is Kind.DISK:
        return tuple(Target(f"the volume of {m.name}", (m.name,)) for m in running if m.claim is not None)
    return grouped(running, node_of)


def zones(start: Observation) -> tuple[Target, ...]:
    """Return each zone with its members; none if there is only one."""
    found = grouped([m for m in start.members if m.alive and m.pod is not None and m.pod.zone], zone_of)
    return found if len(found) > 1 else ()


def node_of(member: Member) -> str:
    """Return the Kubernetes node of a member, in words."""
    node = member.pod.node if member.pod is not None else ""
    return f"node {node}" if node else f"the node of {member.name}"


def zone_of(member: Member) -> str:
    """Return the zone of a member, in words."""
    return f"zone {member.pod.zone}" if member.pod is not None else ""


def grouped(members: Sequence[Member], key: Callable[[Member], str]) -> tuple[Target, ...]:
    """Return the members that have the same key as one target each."""
    found = dict[str, list[str]]()
    for member in members:
        found.setdefault(key(member), []).append(member.name)
    return tuple(Target(place, tuple(names)) for place, names in sorted(found.items()))


def fault_of(start: Observation, kinds: Sequence[Kind], seed: int, length: float) -> Fault | None:
    """Return the fault of the run with this seed, at a moment within `length` seconds; None if nothing can fail."""
    kind = kinds[seed % len(kinds)] if kinds else None
    number = seed // len(kinds) if kinds else 0
    found = chosen(start, kind, number) if kind is not None else None
    if kind is None or found is None:
        return None
    seconds = duration(kind, random.Random(f"fault {seed}"), returns=found.place.startswith("zone "))  # noqa: S311
    return Fault(kind, found.place, found.members, (seed * GOLDEN) % 1.0 * length, seconds)


def chosen(start: Observation, kind: Kind, number: int) -> Target | None:
    """Return the target of the run with this number among those of a kind."""
    wide = zones(start) if kind is not Kind.DISK else ()
    if wide and number % ZONES == ZONES - 1:
        return wide[number // ZONES % len(wide)]
    found = targets(start, kind)
    return found[(number - number // ZONES if wide else number) % len(found)] if found else None


def duration(kind: Kind, rng: random.Random, *, returns: bool) -> float:
    """Return for how long a fault lasts, in seconds.

    Assumed: a reboot takes minutes, and one node in five does not return, unless it `returns`, as zones do; every other
    failed volume is replaced by an empty one at once, the others need a user or the replacement policy; a network
    recovers in seconds to minutes.
    """
    if kind is Kind.NODE:
        return math.inf if rng.random() < 0.2 and not returns else rng.lognormvariate(math.log(240.0), 0.8)
    if kind is Kind.DISK:
        return math.inf if rng.random() < 0.5 else 0.0
    return rng.lognormvariate(math.log(60.0), 1.0)


def kinds_of(name: str) -> tuple[Kind, ...]:
    """Return the kinds of faults that a name stands for: `none`, `all`, or one of them."""
    return () if name == "none" else tuple(Kind) if name == "all" else (Kind(name),)


def names() -> Iterator[str]:
    """Yield what `kinds_of` accepts."""
    yield from ("none", *(kind.value for kind in Kind), "all")
