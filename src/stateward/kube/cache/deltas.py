"""Change notifications of a store, and index functions for lookups other than by name."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Generic

from stateward.kube.objects.metadata import K, Key, KubeObject
from stateward.kube.objects.watching import Unreadable


class Change(Enum):
    """The kind of change of one cached object."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Delta(Generic[K]):
    """One change of the cache: `old` before it, `new` after it.

    An UNREADABLE delta has the last readable version (if any) in both, and the trouble.
    """

    change: Change
    key: Key
    old: K | None
    new: K | None
    trouble: Unreadable | None = None


Subscriber = Callable[[Delta[K]], None]
"""Called for each delta in order; must not block. Usually it adds a key to a queue."""

IndexFunction = Callable[[K], Iterable[str]]
"""The index values of an object."""


def by_label(label: str) -> IndexFunction[K]:
    """Index objects by the value of a label, within their namespace: `namespace/value`."""

    def values(obj: K) -> Iterable[str]:
        labels: dict[str, str] = getattr(obj.metadata, "labels", {})
        if label in labels:
            yield f"{obj.metadata.namespace}/{labels[label]}"

    return values


def by_controller(obj: KubeObject) -> Iterable[str]:
    """Index objects by the UID of their controlling owner: a name can be reused, a UID never is."""
    uid: str = getattr(obj.metadata, "controller_uid", "")
    if uid:
        yield uid
