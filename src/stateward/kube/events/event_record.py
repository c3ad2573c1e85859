"""The content of an event, and its object."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from stateward.api.values.problem import printable
from stateward.kube.objects.metadata import Key, KubeObject
from stateward.kube.objects.records import ObjectReference, micro_time
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.resources import EVENTS

_NOTE_BYTES = 1024


class Severity(StrEnum):
    """The two types of events in Kubernetes."""

    NORMAL = "Normal"
    WARNING = "Warning"


def about(resource: Resource[Any], obj: KubeObject) -> ObjectReference:
    """Return a reference to the object of an event."""
    meta = obj.metadata
    return ObjectReference(
        api_version=resource.api_version, kind=resource.kind, namespace=meta.namespace, name=meta.name, uid=meta.uid
    )


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An occurrence about an object.

    `reason` and `action` are machine-readable CamelCase words, `note` is a readable sentence (at most 1,024 bytes).
    """

    regarding: ObjectReference
    severity: Severity
    reason: str
    action: str
    note: str

    @property
    def namespace(self) -> str:
        """The namespace of the object: namespaces take turns when events are written."""
        return self.regarding.namespace


@dataclass(slots=True)
class Series:
    """Repetitions of one occurrence: their number, and the number that the server knows."""

    first: datetime
    last: datetime
    heard_at: float
    count: int = 1
    written: int = 0
    written_at: float = float("-inf")


def name_of(occurrence: Occurrence, first: datetime) -> str:
    """Return the name of the event of a series."""
    # A retry has the same name, so a lost answer does not cause a second event.
    digest = hashlib.sha256(f"{occurrence}{first.isoformat()}".encode()).hexdigest()
    # Cut off where no label of a name may end, the server would refuse it.
    return f"{occurrence.regarding.name[:230].rstrip('-.')}.{digest[:16]}"


def tally(series: Series, count: int) -> dict[str, Any]:
    """Return the `series` field of an event that happened `count` times."""
    return {"count": count, "lastObservedTime": micro_time(series.last)}


def manifest(occurrence: Occurrence, series: Series, key: Key) -> dict[str, Any]:
    """Return the event object, without the reporting fields."""
    return {
        "apiVersion": EVENTS.api_version,
        "kind": EVENTS.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "regarding": occurrence.regarding,
        "type": occurrence.severity.value,
        "reason": occurrence.reason[:128],
        "action": occurrence.action[:128],
        "note": printable(occurrence.note).encode()[:_NOTE_BYTES].decode(errors="ignore"),
        "eventTime": micro_time(series.first),
    }
