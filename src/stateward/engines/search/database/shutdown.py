"""Registers nodes that restart or leave in the database's shutdown API, if it has one.

Elasticsearch has this API since 7.15: tasks move off such a node beforehand, and the database waits for its copies.
Stateward uses it in addition to the allocation limit and the exclusion, and never depends on it: builds without the
module lack it, and clusters with operator privileges may refuse it.

A record belongs to a node id, which cannot be resolved to a name once the node is gone, and never expires. So each
record of Stateward carries the member's name in its reason. Any later operator can remove it, also after a crash.
"""

from collections.abc import Iterable
from contextlib import suppress
from enum import StrEnum
from typing import Any

from msgspec import Struct

from stateward.engines.connection.base import RefusedError
from stateward.engines.search.database.session import Session
from stateward.engines.search.database.wire import StateNode

PATH = "/_nodes/shutdown"
NODES = "/_cluster/state/nodes"
OURS = "stateward: "
UNKNOWN = (400, 403, 404, 405, 410)
"""Status codes of a database without such records, or without the permission to use them."""


class Kind(StrEnum):
    """The kind of shutdown."""

    RESTART = "restart"
    """The node comes back soon."""
    REMOVE = "remove"
    """The node leaves permanently."""


class Record(Struct, frozen=True):
    """A node that is registered for shutdown, by Stateward or by others."""

    node_id: str
    type: str
    reason: str

    @property
    def member(self) -> str:
        """The member in Stateward's own record; empty if others made the record."""
        return self.reason.removeprefix(OURS) if self.reason.startswith(OURS) else ""

    def ours(self, kind: Kind) -> bool:
        """Whether it is of this kind and Stateward made it."""
        return bool(self.member) and self.type.lower() == kind


class Records(Struct, frozen=True):
    """The answer. A database without the module takes the last part of the path for a node name."""

    nodes: list[Record] | dict[str, Any]


class Names(Struct, frozen=True):
    """The names of the nodes in the cluster, by id."""

    nodes: dict[str, StateNode] = {}


async def all_records(session: Session) -> tuple[Record, ...] | None:
    """Return all records; None if the database has no such API. Raise `EngineError` if they cannot be read."""
    try:
        nodes = (await session.get(Records, PATH)).nodes
    except RefusedError as error:
        if error.status in UNKNOWN:
            return None
        raise
    return tuple(nodes) if isinstance(nodes, list) else None


def members(records: Iterable[Record], kind: Kind) -> frozenset[str]:
    """Return the members that Stateward has registered with this kind."""
    return frozenset(record.member for record in records if record.ours(kind))


async def register(session: Session, kind: Kind, going: frozenset[str]) -> None:
    """Register members for shutdown; skip members that are absent or already registered.

    A removal implies more than a restart, so it is never replaced by one.
    """
    records = await all_records(session) if going else None
    if records is None:
        return
    known = {r.node_id for r in records if not r.member or kind is Kind.RESTART or r.ours(kind)}
    there = await session.get(Names, NODES, {"filter_path": "nodes.*.name"})
    for identifier, node in sorted(there.nodes.items(), key=lambda item: item[1].name):
        if node.name in going and identifier not in known:
            body = {"type": kind.value, "reason": OURS + node.name}
            with suppress(RefusedError):
                await session.command("PUT", path_of(identifier), None, body)


async def deregister(session: Session, kind: Kind, staying: frozenset[str] = frozenset()) -> None:
    """Remove Stateward's records of this kind, except those of `staying`."""
    for record in await all_records(session) or ():
        if record.ours(kind) and record.member not in staying:
            try:
                await session.command("DELETE", path_of(record.node_id))
            except RefusedError as error:
                if error.status != 404:  # It is already removed.
                    raise


def path_of(identifier: str) -> str:
    """Return the path of a node's record."""
    return f"/_nodes/{identifier}/shutdown"
