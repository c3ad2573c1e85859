"""The requests about remote clusters, in a session that they are given, and the meaning of the answers."""

from typing import Any, cast

from stateward.api.values.base import Json
from stateward.engines.connection.base import EngineError, GarbledError
from stateward.engines.search.database.session import Session
from stateward.engines.search.remote.decision import OWN, Do, Found, Wanted, decide, values

SETTINGS = "/_cluster/settings"
INFO = "/_remote/info"
PREFIX = "cluster.remote."
NO_INDEX = "stateward-readiness-none"
"""The name of an index that does not exist."""
PATIENCE = 8.0
"""Seconds for a search that only wakes a connection."""


async def read(session: Session) -> dict[str, Found]:
    """Return what the database has for each alias; raises EngineError."""
    answer = await session.get(dict[str, Any], SETTINGS, {"flat_settings": "true"})
    return found_of(answer)


def found_of(answer: Json) -> dict[str, Found]:
    """Return the settings of each alias from an answer with flat settings; raises GarbledError."""
    groups = {kind: answer.get(kind, {}) for kind in ("persistent", "transient")}
    if "persistent" not in answer or not all(isinstance(group, dict) for group in groups.values()):
        raise GarbledError("the answer with the settings of the cluster has no persistent settings")
    persistent, transient = (by_alias(cast("Json", groups[kind])) for kind in ("persistent", "transient"))
    aliases = persistent.keys() | transient.keys()
    return {alias: Found(persistent.get(alias, {}), alias in transient) for alias in aliases}


def by_alias(settings: Json) -> dict[str, dict[str, str]]:
    """Return the settings of remote clusters by alias and last part; settings of all of them are left out."""
    found: dict[str, dict[str, str]] = {}
    for key, value in settings.items():
        alias, dot, last = key.removeprefix(PREFIX).partition(".")
        if key.startswith(PREFIX) and dot:
            found.setdefault(alias, {})[last] = value if isinstance(value, str) else str(value)
    return found


async def settle(alias: str, wanted: Wanted | None, recorded: str, session: Session) -> tuple[Do, Found]:
    """Decide from a read of this session, and write; returns what was decided, and from what. Raises EngineError."""
    found = (await read(session)).get(alias, Found())
    do = decide(wanted, recorded, found)
    if do is Do.SET and wanted is not None:
        await set_alias(session, alias, wanted)
    elif do is Do.CLEAR:
        await clear_alias(session, alias)
    return do, found


async def set_alias(session: Session, alias: str, wanted: Wanted) -> None:
    """Set an alias; raises EngineError, and then it may have happened."""
    await _change(session, {f"{PREFIX}{alias}.{key}": value for key, value in values(wanted).items()})


async def clear_alias(session: Session, alias: str) -> None:
    """Remove the settings that `set_alias` makes; raises EngineError, and then it may have happened."""
    await _change(session, {f"{PREFIX}{alias}.{key}": None for key in OWN})


async def _change(session: Session, settings: Json) -> None:
    await session.command("PUT", SETTINGS, body={"persistent": settings})


async def connected(session: Session) -> dict[str, bool]:
    """Return whether one node has a connection, by alias; raises EngineError."""
    answer = await session.get(dict[str, Any], INFO)
    known = ((alias, cast("Json", each)) for alias, each in answer.items() if isinstance(each, dict))
    return {alias: each.get("connected") is True for alias, each in known}


async def wake(session: Session, alias: str) -> str:
    """Have a node connect now: it does so only for a search. Returns the database's complaint, or nothing."""
    params = {"size": "0", "ignore_unavailable": "true", "allow_no_indices": "true"}
    try:
        await session.call(dict[str, Any], "GET", f"/{alias}:{NO_INDEX}/_search", params, patience=PATIENCE)
    except EngineError as error:
        return str(error)
    return ""
