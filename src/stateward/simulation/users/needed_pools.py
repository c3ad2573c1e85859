"""What a user changes in the spec so that kept volumes are used: only what the operator's waits ask for."""

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy

from stateward.api.values.base import Json

_MEMBERS = re.compile(r"(\d+) members? of pool ")
_KEPT = re.compile(r"(\S+) in members\.keep")


def needed_pools(
    cluster: str, pools: Sequence[Json], waits: Iterable[Json], known: Mapping[str, Json], manager: str
) -> list[Json]:
    """Return the pools with what waits of the reason `PoolNeeded` ask for.

    `known` has the pools of all earlier specs by name: a removed pool is restored as it was last. `manager` is the
    engine's name of that role.
    """
    found: dict[str, Json] = {pool["name"]: deepcopy(pool) for pool in pools}
    for wait in waits:
        if wait["reason"] != "PoolNeeded":
            continue
        name = wait["subject"].removeprefix(f"{cluster}-").rpartition("-")[0]
        if name not in found and name in known:
            found[name] = deepcopy(known[name])
        if name in found:
            _correct(found[name], wait["message"], manager)
    return list(found.values())


def needed_members(waits: Iterable[Json]) -> list[str]:
    """Return the members whose replacement waits of the reason `PoolNeeded` ask to take back, with `members.keep`."""
    found = (name for wait in waits if wait["reason"] == "PoolNeeded" for name in _KEPT.findall(wait["message"]))
    return sorted({*found})


def _correct(pool: Json, message: str, manager: str) -> None:
    role = "data" if "the role data" in message else manager if "the role of a manager" in message else ""
    if role and role not in pool["roles"]:
        pool["roles"] = [*pool["roles"], role]
    asked = _MEMBERS.search(message)
    if asked is None:
        return
    members = max(pool.get("replicas", 0), int(asked[1]))
    pool["replicas"] = members
    if "scaling" in pool:
        limits = pool["scaling"]
        pool["scaling"] = {**limits, "min": members, "max": max(limits.get("max", 0), members)}
