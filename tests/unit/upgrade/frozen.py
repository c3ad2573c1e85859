"""The format of frozen objects: what the API server has of one settled cluster, and what its database answers."""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from stateward.api.values.base import Json
from stateward.simulation.apiserver.store import Fields, Manager, Store, Stored
from stateward.simulation.apiserver.writing.ownership import Element, Item

RELEASED = Path(__file__).with_name("released")
"""One folder for each released version, with one file for each cluster."""
OPERATOR = "stateward"
"""Field manager of the operator."""


class FrozenObject(Struct, frozen=True):
    """One object, and the fields that the operator owns by server-side apply."""

    kind: str
    body: Json
    applied: list[list[Any]] = []


class FrozenCluster(Struct, frozen=True):
    """One settled cluster; `seconds` of virtual time since the start of its world."""

    version: str
    """Of the operator that made the objects."""
    engine: str
    agents: bool
    seconds: float
    database: Json
    """The operator's observation of the database."""
    objects: list[FrozenObject]


def write(path: Path, frozen: FrozenCluster) -> None:
    """Write a cluster; `zcat FILE | jq` shows it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(msgspec.json.encode(frozen, order="deterministic"), mtime=0))


def read(path: Path) -> FrozenCluster:
    """Return a cluster from its file."""
    return msgspec.json.decode(gzip.decompress(path.read_bytes()), type=FrozenCluster)


def frozen_objects(store: Store) -> Iterator[FrozenObject]:
    """Yield what a server has, except for events and what only the world needs."""
    for stored in store.everything():
        if stored.kind not in {"events.k8s.io/events", "coordination.k8s.io/leases", "/persistentvolumes"}:
            yield FrozenObject(stored.kind, stored.doc, [_plain(path) for path in sorted(_applied(stored), key=repr)])


def _applied(stored: Stored) -> Fields:
    """Return the fields that the operator applied; the model of the server counts its own defaults as applied too."""
    fields = stored.managers.get(Manager(OPERATOR, "", applies=True), frozenset())
    if stored.kind != "/services":
        return fields
    other = "type" if stored.doc["spec"]["clusterIP"] == "None" else "clusterIP"
    return fields - {("spec", "sessionAffinity"), ("spec", other)}


def restore(store: Store, frozen: FrozenCluster) -> None:
    """Put the objects into an empty server, with their UIDs and versions."""
    for each in frozen.objects:
        fields = frozenset(tuple(_part(part) for part in path) for path in each.applied)
        store.put(each.kind, each.body, {Manager(OPERATOR, "", applies=True): fields} if fields else {})
        store.new_uid()  # later objects get other ones


def _plain(path: tuple[Any, ...]) -> list[Any]:
    return [
        {"i": part.values} if isinstance(part, Item) else {"e": part.value} if isinstance(part, Element) else part
        for part in path
    ]


def _part(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    return Item(tuple(part["i"])) if "i" in part else Element(part["e"])
