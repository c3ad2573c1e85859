"""What is known of made objects without asking for them: the caches, and how this process has left each object.

It is only ever a reason not to ask: for what is said to be as it was left, nothing is written and, where nobody has to
wait for its health, nothing is read. What is destroyed, taken over or restarted is read live, always.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from stateward.api.values.base import Json
from stateward.kube.cache.apply import state_of
from stateward.kube.objects.metadata import Key, PartialObject
from stateward.operator.installations.objects.kinds import Raw
from stateward.operator.installations.objects.views import GroupKind, by_set
from stateward.operator.installations.objects.watches import Watches
from stateward.operator.installations.objects.write_memory import Memory
from stateward.packages.format.trees import at, obj


@dataclass(frozen=True, slots=True)
class Familiar:
    """What is known of the objects of one installation."""

    watches: Watches
    memory: Memory
    set_id: str

    def ours(self, kind: Raw, key: Key) -> PartialObject | None:
        """Return an object that the caches show as one of the installation, and as one that stays."""
        seen = self.watches.find((kind.group, kind.kind), key)
        return seen if seen is not None and self.set_id in by_set(seen) and not seen.metadata.terminating else None

    def as_left(self, seen: PartialObject, wanted: Json) -> bool:
        """Return whether an object is as this process has left it, and was made from what is wanted now."""
        meta = seen.metadata
        if self.memory.of(self.set_id).get(meta.uid) != state_of(meta):
            return False
        labels, notes = obj(at(wanted, "metadata", "labels")), obj(at(wanted, "metadata", "annotations"))
        return labels.items() <= meta.labels.items() and notes.items() <= meta.annotations.items()

    def inventory(self, kinds: frozenset[GroupKind]) -> Mapping[GroupKind, tuple[PartialObject, ...]] | None:
        """Return all objects of the installation; None when the caches may not have heard of each of them.

        They have not where a kind is not watched yet, and where something that this process has made is not in them.
        """
        seen = self.watches.all_of(self.set_id, kinds)
        if seen is None:
            return None
        there = {body.metadata.uid for bodies in seen.values() for body in bodies}
        return seen if self.memory.of(self.set_id).keys() <= there else None
