"""Reads and writes of one object, in a session with one node."""

from collections.abc import Iterable, Iterator
from typing import Any, cast
from urllib.parse import quote

from msgspec import Struct

from stateward.api.values.base import Json
from stateward.engines.connection.base import GarbledError, RefusedError
from stateward.engines.connection.decoding import decoded
from stateward.engines.search.database.reading import INFO
from stateward.engines.search.database.session import Session
from stateward.engines.search.declared.desired import Observed
from stateward.engines.search.declared.identity import Declared
from stateward.engines.search.declared.writes import Request

_VERSIONS = {"filter_path": "_nodes.failed,nodes.*.version"}
_ABSENT = 404
_LONGEST_PATH = 2000
"""Characters of names in one path: databases take 4096 for the first line of a request."""


async def read(session: Session, what: Declared) -> Observed:
    """Return what the database has of an object; raises EngineError if that is not known."""
    versions = await versions_of_nodes(session)
    try:
        answer: object = await session.get(
            dict[str, Any], what.filled(what.kind.read or what.kind.path), what.kind.reading or None
        )
    except RefusedError as error:
        if error.status != _ABSENT:
            raise
        answer = None
    return Observed(answer, versions)


async def versions_of_nodes(session: Session) -> frozenset[str]:
    """Return the versions of all nodes; empty if a node did not tell. Raises EngineError."""
    info = await session.get(dict[str, Any], INFO, _VERSIONS)
    nodes = cast("dict[str, Json]", info.get("nodes", {}))
    complete = info.get("_nodes", {}).get("failed") == 0 and all(node.get("version") for node in nodes.values())
    return frozenset(str(node["version"]) for node in nodes.values()) if complete else frozenset[str]()


class Acknowledgement(Struct, frozen=True):
    """Whether all nodes have a change; answers of plug-ins say nothing of it."""

    acknowledged: bool = True


async def send(session: Session, request: Request) -> bool:
    """Write; returns whether all nodes surely have it. Raises EngineError, and then the write may have happened."""
    answer = await session.command(request.method, request.path, request.params, request.body)
    try:
        return decoded(Acknowledgement, answer.body, "").acknowledged
    except GarbledError:  # Cut off on its way: it may have said that nodes do not have it yet.
        return False


async def use(session: Session, what: Declared) -> None:
    """Have the nodes use an object of a kind with a trial; raises EngineError, RefusedError if they cannot."""
    await session.command("POST", what.filled(what.kind.trial))


async def outdated_indices(session: Session, policy: str, number: str) -> list[str]:
    """Return the indices that an ISM policy manages in another version of it; raises EngineError."""
    explained = await session.get(dict[str, Any], "/_plugins/_ism/explain/*")
    return sorted(
        name
        for name, index in explained.items()
        if isinstance(index, dict) and _runs_another(cast("Json", index), policy, number)
    )


def _runs_another(index: Json, policy: str, number: str) -> bool:
    asked = index.get("index.plugins.index_state_management.policy_id") == policy
    return asked and index.get("policy_seq_no") is not None and str(index["policy_seq_no"]) != number


async def change_policy(session: Session, policy: str, indices: list[str]) -> None:
    """Make indices follow the current version of their policy from the next step on; raises EngineError."""
    for names in batches(indices):
        await session.command("POST", f"/_plugins/_ism/change_policy/{names}", None, {"policy_id": policy})


def batches(names: Iterable[str]) -> Iterator[str]:
    """Yield names as a path has them, joined by commas, so many at a time as fit into one path.

    Names of indices may have any letters, of which each takes up to nine characters in a path, and percent signs.
    """
    batch, length = list[str](), 0
    for name in (quote(each, safe="") for each in names):
        if batch and length + len(name) > _LONGEST_PATH:
            yield ",".join(batch)
            batch, length = [], 0
        batch.append(name)
        length += len(name) + 1
    if batch:
        yield ",".join(batch)
