"""How fast a cluster recovers copies: from its settings, and from the last recovery of each existing copy.

Only the forecast of durations uses it, so missing or malformed values count as not known.
"""

import re
from statistics import median

from msgspec import Struct

from stateward.engines.connection.base import Speed
from stateward.engines.search.database.session import Session
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
"""Bytes from which a recovery measures the transfer rate and not mostly its own overhead."""
FEW = 3
"""Fewer recoveries give no useful median."""

Settings = dict[str, "Settings | str"]


class Size(Struct, frozen=True):
    """Bytes that came over the network, and bytes that were already on the node."""

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


async def speed(session: Session) -> Speed:
    """Query the cluster; raise `EngineError` if it does not answer."""
    params = {"include_defaults": "true", "filter_path": SETTINGS_FIELDS}
    settings = await session.get(dict[str, dict[str, object]], "/_cluster/settings", params)
    found = await session.get(dict[str, Recoveries], "/_recovery", {"filter_path": RECOVERY_FIELDS})
    return measured_speed(settings, [shard for index in found.values() for shard in index.shards])


def measured_speed(settings: dict[str, dict[str, object]], recovered: list[Recovered]) -> Speed:
    """Return the speed that the answers imply."""
    peers = [r for r in recovered if (r.type, r.stage) == ("PEER", "DONE") and r.total_time_in_millis > 0]
    large = [r for r in peers if r.index.size.recovered_in_bytes >= LARGE]
    rates = [r.index.size.recovered_in_bytes * 1000 / r.total_time_in_millis for r in large]
    # A copy that only lacks operations reports no files at all: neither recovered nor reused bytes.
    again = [r for r in peers if r.index.size.reused_in_bytes >= r.index.size.recovered_in_bytes * 10]
    times = [r.total_time_in_millis / 1000 for r in again]
    concurrent = "cluster.routing.allocation.node_concurrent_"
    at_once = effective(settings, (f"{concurrent}incoming_recoveries", f"{concurrent}recoveries"))
    return Speed(
        limit=size(effective(settings, ("indices.recovery.max_bytes_per_sec",))),
        at_once=int(at_once) if re.fullmatch(r"[0-9]{1,9}", at_once) else 0,
        rate=median(rates) if len(rates) >= FEW else 0.0,
        rates=len(rates),
        reopen=median(times) if len(times) >= FEW else 0.0,
        reopened=len(times),
    )


def effective(settings: dict[str, dict[str, object]], names: tuple[str, ...]) -> str:
    """Return the effective value: explicit settings before defaults, the narrower setting before the wider."""
    for section in (("transient", "persistent"), ("defaults",)):
        for name in names:
            for level in section:
                value = nested(settings.get(level, {}), name)
                if value:
                    return value
    return ""


def nested(section: dict[str, object], name: str) -> str:
    """Return a nested setting; empty if absent."""
    found: object = section
    for part in name.split("."):
        found = found.get(part) if isinstance(found, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    return found if isinstance(found, str) else ""


def size(text: str) -> float | None:
    """Return a size such as `40mb` in bytes; None if it is not a size, or 0 (no limit)."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(b|kb|mb|gb|tb)", text.lower())
    if match is None:
        return None
    return float(match[1]) * 1024.0 ** ("b", "kb", "mb", "gb", "tb").index(match[2]) or None
