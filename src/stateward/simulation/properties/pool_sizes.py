"""The number of members that each pool of a cluster should have, from the resource: also of pools that scale."""

from collections.abc import Iterator, Mapping

import msgspec

from stateward.api.kinds.foundationdb import FoundationDBSpec, replicas
from stateward.simulation.apiserver.documents import Doc, items, part

POOL_SCALES = "stateward.dev/poolscales"


def with_sizes(doc: Doc) -> Doc:
    """Return the spec of a cluster with a number for each pool: its own, the default, or what the status records of it.

    Only pools of FoundationDB may leave the number out.
    """
    spec = part(doc, "spec")
    if any("replicas" not in pool for pool in items(spec, "pools")):
        typed = msgspec.convert(spec, FoundationDBSpec)
        sizes = {pool.name: replicas(typed, pool) for pool in typed.pools}
        spec = {**spec, "pools": [{**pool, "replicas": sizes[pool["name"]]} for pool in items(spec, "pools")]}
    known = {p["name"]: p["scaling"]["replicas"] for p in items(doc, "status", "pools") if p.get("scaling")}
    if not any(pool.get("scaling") for pool in items(spec, "pools")):
        return spec
    return {**spec, "pools": [{**pool, "replicas": size_of(pool, known)} for pool in items(spec, "pools")]}


def size_of(pool: Doc, known: dict[str, int]) -> int:
    """Return how many members a pool should have."""
    asked, limits = pool["replicas"], pool.get("scaling")
    return asked if not limits else max(limits["min"], min(limits["max"], known.get(pool["name"], asked)))


def not_followed(doc: Doc, asked: Mapping[str, int]) -> Iterator[str]:
    """Yield the pools without rules that do not follow the number that a PoolScale asks for, by pool, in `asked`."""
    for pool in items(with_sizes(doc), "pools"):
        limits = pool.get("scaling")
        if limits and not limits.get("rules") and (number := asked.get(pool["name"])) is not None:
            near = max(limits["min"], min(limits["max"], number))
            if pool["replicas"] != near:
                yield f"pool {pool['name']} is to have {pool['replicas']} members, and its PoolScale asks for {near}"
