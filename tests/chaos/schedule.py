"""The schedule of a run: a function of its seed, without any clock.

A run is a sequence of episodes. An episode begins when the cluster is healthy and settled; it has at most one fault
that takes a copy of the data away (the cluster has two copies), any faults of the control plane beside it, and an edit.
All faults end before the next episode begins.
"""

import random
from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct


class Fault(StrEnum):
    """What can be broken; `faults.py` says how."""

    OPERATOR_KILLED = "operator killed"
    KUBELET_STOPPED = "kubelet stopped"
    CONTAINERD_STOPPED = "containerd stopped"
    NODE_OFF = "node off"
    DISK_FULL = "disk full"
    VOLUME_LOST = "volume lost"
    NETWORK_CUT = "network cut"
    NETWORK_CUT_ONE_WAY = "network cut one way"
    CLOCK_MOVED = "clock moved"
    API_SERVER_OFF = "API server off"
    CERTIFICATE_EXPIRED = "certificate expired"
    WEBHOOK_OFF = "webhook off"


class Edit(StrEnum):
    """What a user changes; `edits.py` says how."""

    NONE = "none"
    CONFIGURATION = "configuration"
    GROW = "grow"
    SHRINK = "shrink"
    MEMORY = "memory"
    UPGRADE = "upgrade"
    WRONG_VERSION = "wrong version, then back"
    REPLACE = "replace a member"


OF_DATA = (
    Fault.KUBELET_STOPPED,
    Fault.CONTAINERD_STOPPED,
    Fault.NODE_OFF,
    Fault.DISK_FULL,
    Fault.VOLUME_LOST,
    Fault.NETWORK_CUT,
    Fault.NETWORK_CUT_ONE_WAY,
)
"""Faults after which a copy of the data may be away: at most one in an episode."""
OF_CONTROL = (
    Fault.OPERATOR_KILLED,
    Fault.CLOCK_MOVED,
    Fault.API_SERVER_OFF,
    Fault.CERTIFICATE_EXPIRED,
    Fault.WEBHOOK_OFF,
)


UNSEEN = (Fault.KUBELET_STOPPED, Fault.CONTAINERD_STOPPED)
"""Faults of data that the database does not see, because its processes continue."""
RESTARTS = (Edit.CONFIGURATION, Edit.MEMORY, Edit.UPGRADE, Edit.WRONG_VERSION)
"""Edits that restart members. The others add members, or remove some that hold nothing any more."""


class Timed(Struct, frozen=True):
    """A fault, `at` seconds after its episode began, for `seconds`."""

    fault: Fault
    at: float
    seconds: float
    pick: float
    """From 0 to 1: which of the possible targets, in order of their names."""


class Episode(Struct, frozen=True):
    """What happens in one episode, from its beginning in a healthy cluster."""

    number: int
    edit: Edit
    edit_at: float
    pick: float
    faults: tuple[Timed, ...]


def episodes(seed: int) -> Iterator[Episode]:
    """Yield the episodes of a seed, without end; a longer run begins with those of a shorter one.

    Each fault of the data comes once before any of them comes again.
    """
    rng = random.Random(seed)  # noqa: S311 - a schedule that can be repeated
    data: list[Fault] = []
    number = 0
    while True:
        if not data:
            data = rng.sample(OF_DATA, len(OF_DATA))
        yield _episode(number, data.pop() if rng.random() < 0.8 else None, rng)
        number += 1


def _episode(number: int, of_data: Fault | None, rng: random.Random) -> Episode:
    control = rng.sample(OF_CONTROL, rng.choice((0, 1, 1, 2)))
    chosen = [*control, of_data] if of_data is not None else control
    faults = (
        Timed(fault, round(rng.uniform(0, 40), 1), round(rng.uniform(10, 120), 1), rng.random()) for fault in chosen
    )
    ordered = tuple(sorted(faults, key=lambda timed: timed.at))
    return Episode(number, rng.choice(tuple(Edit)), round(rng.uniform(0, 40), 1), rng.random(), ordered)


def destroys(episode: Episode) -> bool:
    """Return whether the episode destroys a volume: its edit comes after that."""
    return any(timed.fault is Fault.VOLUME_LOST for timed in episode.faults)
