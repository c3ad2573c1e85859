"""What is known of applied objects without a request: the caches, and how this process has left each object.

It only ever saves requests: an object without changes is not written and, if no step waits for its health, not read.
Before anything is destroyed, adopted or restarted it is always read live.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from stateward.api.values.base import Json
from stateward.kube.cache.apply import state_of
from stateward.kube.objects.metadata import Key, PartialObject
from stateward.operator.installations.objects.kinds import Raw
from stateward.operator.installations.objects.views import GroupKind, set_of
from stateward.operator.installations.objects.watches import Watches
from stateward.operator.installations.objects.write_memory import WriteMemory
from stateward.packages.format.trees import at, obj
from stateward.packages.plans.steps import set_id


@dataclass(frozen=True, slots=True)
class CachedObjects:
    """What is known of the objects of one installation."""

    watches: Watches
    memory: WriteMemory
    installation: Key

    @property
    def set_id(self) -> str:
        """The name of the set of these objects."""
        return set_id(self.installation.name, self.installation.namespace)

    def ours(self, kind: Raw, key: Key) -> PartialObject | None:
        """Return an object that the caches show as one of the installation, and as one that stays."""
        seen = self.watches.find((kind.group, kind.kind), key)
        if seen is None or set_of(seen.metadata) != self.set_id or seen.metadata.terminating:
            return None
        return seen

    def is_as_written(self, seen: PartialObject, wanted: Json) -> bool:
        """Return whether an object is as this process has left it, and was created from the current manifest."""
        meta = seen.metadata
        if self.memory.of(self.set_id).get(meta.uid) != state_of(meta):
            return False
        labels, notes = obj(at(wanted, "metadata", "labels")), obj(at(wanted, "metadata", "annotations"))
        return labels.items() <= meta.labels.items() and notes.items() <= meta.annotations.items()

    def inventory(self, kinds: frozenset[GroupKind]) -> Mapping[GroupKind, tuple[PartialObject, ...]] | None:
        """Return all objects of the installation; None if the caches may lack some of them.

        They may if a kind is not watched yet, or if an object that this process has created is not in them.
        """
        seen = self.watches.all_of(self.installation, kinds)
        if seen is None:
            return None
        there = {body.metadata.uid for bodies in seen.values() for body in bodies}
        return seen if self.memory.of(self.set_id).keys() <= there else None
