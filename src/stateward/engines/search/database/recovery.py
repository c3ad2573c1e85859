"""How fast a cluster recovers copies: by its settings, and by the last recovery of each copy that is there now.

Only a forecast of time is made from it, so what is missing or garbled is simply not known.
"""

import re
from statistics import median

from msgspec import Struct

from stateward.engines.connection.base import Target, Transport
from stateward.engines.search.database.session import Session, at_any
from stateward.engines.search.database.wire import Whole

SETTINGS_FIELDS = (
    "*.indices.recovery.max_bytes_per_sec,*.cluster.routing.allocation.node_concurrent_incoming_recoveries,"
    "*.cluster.routing.allocation.node_concurrent_recoveries"
)
RECOVERY_FIELDS = (
    "*.shards.type,*.shards.stage,*.shards.total_time_in_millis,"
    "*.shards.index.size.recovered_in_bytes,*.shards.index.size.reused_in_bytes"
)
LARGE = 64 * 2**20
"""Bytes from which on a recovery tells something about the rate, and not only about its beginning and end."""
FEW = 3
"""Recoveries below which a median says nothing."""

Settings = dict[str, "Settings | str"]


class Size(Struct, frozen=True):
    """How many bytes came over the network, and how many were there already."""

    recovered_in_bytes: Whole = 0
    reused_in_bytes: Whole = 0


class Files(Struct, frozen=True):
    """The files of a recovery."""

    size: Size = Size()


class Recovered(Struct, frozen=True):
    """The last recovery of one copy."""

    type: str = ""
    stage: str = ""
    total_time_in_millis: Whole = 0
    index: Files = Files()


class Recoveries(Struct, frozen=True):
    """The recoveries of an index."""

    shards: tuple[Recovered, ...] = ()


class Speed(Struct, frozen=True):
    """What is known; None and 0 where it is not. Rates in bytes a second, times in seconds."""

    limit: float | None = None
    """What one node takes at most; none where it is unlimited."""
    at_once: int = 0
    rate: float = 0.0
    """Median of the last large recoveries, and how many they were."""
    rates: int = 0
    reopen: float = 0.0
    """Median time of the last recoveries for which next to nothing had to come, and how many they were."""
    reopened: int = 0


async def speed(transport: Transport, target: Target) -> Speed:
    """Ask the cluster; raise `EngineError` where it does not answer."""

    async def work(session: Session) -> Speed:
        params = {"include_defaults": "true", "filter_path": SETTINGS_FIELDS}
        settings = await session.get(dict[str, dict[str, object]], "/_cluster/settings", params)
        found = await session.get(dict[str, Recoveries], "/_recovery", {"filter_path": RECOVERY_FIELDS})
        return told(settings, [shard for index in found.values() for shard in index.shards])

    return await at_any(transport, target, work)


def told(settings: dict[str, dict[str, object]], recovered: list[Recovered]) -> Speed:
    """Return what the answers say."""
    peers = [r for r in recovered if (r.type, r.stage) == ("PEER", "DONE") and r.total_time_in_millis > 0]
    large = [r for r in peers if r.index.size.recovered_in_bytes >= LARGE]
    rates = [r.index.size.recovered_in_bytes * 1000 / r.total_time_in_millis for r in large]
    again = [r for r in peers if r.index.size.reused_in_bytes > r.index.size.recovered_in_bytes * 10]
    times = [r.total_time_in_millis / 1000 for r in again]
    concurrent = "cluster.routing.allocation.node_concurrent_"
    at_once = first(settings, (f"{concurrent}incoming_recoveries", f"{concurrent}recoveries"))
    return Speed(
        limit=size(first(settings, ("indices.recovery.max_bytes_per_sec",))),
        at_once=int(at_once) if re.fullmatch(r"[0-9]{1,9}", at_once) else 0,
        rate=median(rates) if len(rates) >= FEW else 0.0,
        rates=len(rates),
        reopen=median(times) if len(times) >= FEW else 0.0,
        reopened=len(times),
    )


def first(settings: dict[str, dict[str, object]], names: tuple[str, ...]) -> str:
    """Return the value that counts: set by somebody before the default, and the narrower setting before the wider."""
    for section in (("transient", "persistent"), ("defaults",)):
        for name in names:
            for level in section:
                value = at(settings.get(level, {}), name)
                if value:
                    return value
    return ""


def at(section: dict[str, object], name: str) -> str:
    """Return a nested setting; empty where it is not there."""
    found: object = section
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return found if isinstance(found, str) else ""


def size(text: str) -> float | None:
    """Return a size such as `40mb` in bytes; None where it is none, or no limit."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(b|kb|mb|gb|tb)", text.lower())
    if match is None:
        return None
    return float(match[1]) * 1024.0 ** ("b", "kb", "mb", "gb", "tb").index(match[2]) or None
