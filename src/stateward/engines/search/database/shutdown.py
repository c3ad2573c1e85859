"""Telling the database which of its nodes go down, for a moment or for good, where it has a word for that.

Elasticsearch has one since 7.15: tasks move off such a node beforehand, and its copies are waited for. It comes on top
of the limit of the allocation and of the exclusion, and nothing rests on it: builds without the module don't know it,
and clusters with operator privileges may refuse it.

A record belongs to a node, whose name nobody knows once it is away, and never ends by itself. So each of ours carries
the member's name in its reason, and whoever finds it can take it back, also after a crash.
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
"""Answers of a database that has no such records, or lets us have none."""


class Kind(StrEnum):
    """What becomes of a node."""

    RESTART = "restart"
    """It is back in a moment."""
    REMOVE = "remove"
    """It leaves for good."""


class Record(Struct, frozen=True):
    """A node of which the database was told, by us or by somebody else."""

    node_id: str
    type: str
    reason: str

    @property
    def member(self) -> str:
        """The member that we meant; empty where the record is somebody else's."""
        return self.reason.removeprefix(OURS) if self.reason.startswith(OURS) else ""

    def ours(self, kind: Kind) -> bool:
        """Whether it is of this kind, and was made by us."""
        return bool(self.member) and self.type.lower() == kind


class Records(Struct, frozen=True):
    """The answer; a database without the module takes the last part of the path for the name of a node."""

    nodes: list[Record] | dict[str, Any]


class Names(Struct, frozen=True):
    """The nodes in the cluster by their ids."""

    nodes: dict[str, StateNode] = {}


async def told(session: Session) -> tuple[Record, ...] | None:
    """Return all records; None where the database knows of no such thing. Raise `EngineError` where it is not known."""
    try:
        nodes = (await session.get(Records, PATH)).nodes
    except RefusedError as error:
        if error.status in UNKNOWN:
            return None
        raise
    return tuple(nodes) if isinstance(nodes, list) else None


def members(records: Iterable[Record], kind: Kind) -> frozenset[str]:
    """Return the members of which we told that they go, in this way."""
    return frozenset(record.member for record in records if record.ours(kind))


async def tell(session: Session, kind: Kind, going: frozenset[str]) -> None:
    """Tell of members that go; one that is away, or of which was told already, is left as it is.

    What was told of a node that leaves for good is more than that it restarts, and stays.
    """
    records = await told(session) if going else None
    if records is None:
        return
    known = {r.node_id for r in records if not r.member or kind is Kind.RESTART or r.ours(kind)}
    there = await session.get(Names, NODES, {"filter_path": "nodes.*.name"})
    for identifier, node in sorted(there.nodes.items(), key=lambda item: item[1].name):
        if node.name in going and identifier not in known:
            body = {"type": kind.value, "reason": OURS + node.name}
            with suppress(RefusedError):
                await session.command("PUT", path_of(identifier), None, body)


async def take_back(session: Session, kind: Kind, staying: frozenset[str] = frozenset()) -> None:
    """Take back what was told of all members but those named."""
    for record in await told(session) or ():
        if record.ours(kind) and record.member not in staying:
            try:
                await session.command("DELETE", path_of(record.node_id))
            except RefusedError as error:
                if error.status != 404:  # Somebody was faster.
                    raise


def path_of(identifier: str) -> str:
    """Return the path of a node's record."""
    return f"/_nodes/{identifier}/shutdown"
