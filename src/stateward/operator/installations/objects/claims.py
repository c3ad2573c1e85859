"""Ownership of an object: two installations that create the same one must not both take it as free.

The second one waits, and names the first. The disaster this prevents: the second reads that the object does not exist,
the first creates it, the second applies over it, and its label makes the object the second's. When the second is
deleted, the first loses what it runs on.
"""

import asyncio
from collections.abc import Callable

from stateward.api.kinds.installation import Installation
from stateward.api.values.base import Json
from stateward.kube.cache.store import Store
from stateward.kube.objects.metadata import Key
from stateward.kube.queue.locks import Locks
from stateward.operator.installations.objects.faults import HeldError
from stateward.operator.installations.objects.kinds import Raw
from stateward.packages.plans.steady_state import owner_of
from stateward.packages.plans.steps import LABEL_PART_OF, set_id
from stateward.packages.rendering.objects import identity_of


class OwnershipLocks:
    """Lets one installation at a time check the owner of an object and create it; only the leader does either."""

    def __init__(self) -> None:
        self._locks = Locks[tuple[str, str, Key]]()

    def on(self, kind: Raw, key: Key) -> asyncio.Lock:
        """Return the lock of an object."""
        return self._locks[kind.group, kind.kind, key]


Names = Callable[[str], str]
"""Returns what the installation of a set is called; nothing for one that is not known."""


def names_in(store: Store[Installation]) -> Names:
    """Return the names of the installations that are watched."""

    def name_of(owner: str) -> str:
        metas = (found.metadata for found in store.all())
        places = (f"{meta.namespace}/{meta.name}" for meta in metas if set_id(meta.name, meta.namespace) == owner)
        return next(places, "")

    return name_of


def check_owner(live: Json, mine: str, name_of: Names, *, adopt: bool) -> None:
    """Raise HeldError for an object that is not of the set `mine` and may not be taken over."""
    owner = owner_of(live)
    if owner == mine:
        return
    if owner and (name := name_of(owner)):
        raise HeldError(f"{identity_of(live)} belongs to installation {name}: only one of the two can have it")
    if owner:
        raise HeldError(
            f"{identity_of(live)} belongs to another installation, which does not exist: remove its"
            f" label {LABEL_PART_OF}"
            " and set spec.adopt to adopt it"
        )
    if not adopt:
        raise HeldError(f"{identity_of(live)} already exists: delete it, or set spec.adopt to adopt it")
