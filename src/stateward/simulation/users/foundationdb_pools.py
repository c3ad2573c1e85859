"""Edits of the pools of a FoundationDB cluster, and of what the database needs from them.

Every edit leaves a spec that the operator accepts, with enough members of each class for the redundancy mode.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import msgspec

from stateward.api.kinds.foundationdb import FoundationDBSpec, ProcessClass, replicas, tolerance
from stateward.api.values.base import Json
from stateward.simulation.users.edits import Draft, Edit

CLASSES = tuple(kind.value for kind in ProcessClass)
MODES = ("single", "double", "triple")
MOST: Mapping[str, int] = {"storage": 7, "log": 5, "stateless": 4}
"""The largest requested pools."""
MOST_POOLS, MOST_MEMBERS = 5, 22
"""More members would not fit on the machines while half of them are replaced."""


class PoolsDraft(Draft):
    """A draft of the spec of a FoundationDB cluster, whose pools may leave their size to the default."""

    def size(self, pool: Json) -> int:
        """Return how many members a pool has."""
        return size_of(self.spec, pool)


def pool_of(name: str, process_class: str, replicas: int) -> Json:
    """Return a pool; all its members have volumes."""
    return {"name": name, "processClass": process_class, "replicas": replicas, "storage": {"size": "2Gi"}}


def size_of(spec: Json, pool: Json) -> int:
    """Return how many members a pool of a spec has."""
    if "replicas" in pool:
        return pool["replicas"]
    typed = msgspec.convert({**spec, "pools": [pool]}, FoundationDBSpec)
    return replicas(typed, typed.pools[0])


def is_enough(spec: Json) -> bool:
    """Return whether a spec has as many members of each class as its redundancy mode needs, and not too many.

    So many storage members bear the promised failures; a log process must be able to fail before each of them.
    """
    spare = tolerance(msgspec.convert(spec, FoundationDBSpec))
    least = {"storage": 2 * spare + 1, "log": spare + 2, "stateless": 1}
    total = Counter[str]()
    for pool in spec["pools"]:
        total[pool["processClass"]] += size_of(spec, pool)
    return all(total[kind] >= least[kind] for kind in CLASSES) and total.total() <= MOST_MEMBERS


def _kept(draft: Draft, pools: list[Json]) -> bool:
    """Replace the pools if there are enough members then; the order of changes names no other pools."""
    if not is_enough({**draft.spec, "pools": pools}):
        return False
    draft.spec["pools"] = pools
    order = draft.spec.get("update", {}).get("order")
    if order:
        draft.spec["update"]["order"] = [name for name in order if name in {pool["name"] for pool in pools}]
    return True


def _changed(draft: Draft, pool: Json, **changes: Json | str | int) -> bool:
    """Change fields of one pool if there are enough members then."""
    return _kept(draft, [{**each, **changes} if each is pool else each for each in draft.pools])


def _grow(draft: Draft) -> bool:
    pool = draft.pool()
    size = draft.size(pool)
    return size < MOST[pool["processClass"]] and _changed(draft, pool, replicas=size + 1)


def _shrink(draft: Draft) -> bool:
    pool = draft.pool()
    size = draft.size(pool)
    return size > 0 and _changed(draft, pool, replicas=size - 1)


def _default(draft: Draft) -> bool:
    """Leave the size of a pool to the default, which follows the redundancy mode."""
    pool = draft.pool()
    if "replicas" not in pool:
        return _changed(draft, pool, replicas=draft.size(pool))
    bare = {field: value for field, value in pool.items() if field != "replicas"}
    return _kept(draft, [bare if each is pool else each for each in draft.pools])


def _add(draft: Draft) -> bool:
    name = f"extra{draft.rng.randint(1, 2)}"
    if len(draft.pools) >= MOST_POOLS or any(pool["name"] == name for pool in draft.pools):
        return False
    kind, at = draft.rng.choice(CLASSES), draft.rng.randint(0, len(draft.pools))
    return _kept(draft, [*draft.pools[:at], pool_of(name, kind, draft.rng.randint(0, 3)), *draft.pools[at:]])


def _remove(draft: Draft) -> bool:
    pool = draft.pool()
    return _kept(draft, [each for each in draft.pools if each is not pool])


def _rename(draft: Draft) -> bool:
    """Move all members of a pool to another one by renaming it, or back."""
    pool = draft.pool()
    base = pool["name"].removesuffix("-b")
    name = base if base != pool["name"] else f"{base}-b"
    return all(each["name"] != name for each in draft.pools) and _changed(draft, pool, name=name)


def _class(draft: Draft) -> bool:
    """Use a pool for another class; processes with data need volumes."""
    pool, kind = draft.pool(), draft.rng.choice(CLASSES)
    bare = pool["storage"].get("ephemeral") and kind != "stateless"
    return kind != pool["processClass"] and _changed(
        draft, pool, processClass=kind, storage={"size": "2Gi"} if bare else pool["storage"]
    )


def _volumes(draft: Draft) -> bool:
    """Run a stateless pool without volumes, or give it volumes again."""
    found = [pool for pool in draft.pools if pool["processClass"] == "stateless"]
    if not found:
        return False
    pool = draft.rng.choice(found)
    pool["storage"] = {"size": "2Gi"} if pool["storage"].get("ephemeral") else {"ephemeral": True}
    return True


def _processes(draft: Draft) -> bool:
    """Run one, two or three processes in each pod of a pool."""
    pool = draft.pool()
    return _changed(draft, pool, processesPerMember=draft.rng.choice((1, 2, 3)))


def _redundancy(draft: Draft) -> bool:
    """Keep one, two or three copies of everything."""
    mode = draft.rng.choice(MODES)
    if mode == draft.spec.get("redundancy", "double") or not is_enough({**draft.spec, "redundancy": mode}):
        return False
    draft.spec["redundancy"] = mode
    return True


def _order(draft: Draft) -> bool:
    order = draft.rng.sample([pool["name"] for pool in draft.pools], draft.rng.randint(0, len(draft.pools)))
    draft.spec.setdefault("update", {})["order"] = order
    return True


POOL_EDITS = (
    Edit("pool grown", 4, _grow),
    Edit("pool shrunk", 4, _shrink),
    Edit("pool size left to the default", 1, _default),
    Edit("pool added", 2, _add),
    Edit("pool removed", 2, _remove),
    Edit("pool renamed", 2, _rename),
    Edit("process class changed", 2, _class),
    Edit("volumes of stateless members toggled", 2, _volumes),
    Edit("processes of a member changed", 1, _processes),
    Edit("redundancy changed", 2, _redundancy),
    Edit("order of pools changed", 1, _order),
)


def several(draft: Draft, edits: tuple[Edit, ...]) -> bool:
    """Make two or three edits in one write."""
    made = 0
    for _ in range(draft.rng.randint(2, 3)):
        edit = draft.rng.choices(edits, [edit.weight for edit in edits])[0]
        trial = replace(draft, spec=msgspec.json.decode(msgspec.json.encode(draft.spec)))
        if edit.change(trial):
            draft.spec.clear()
            draft.spec.update(trial.spec)
            made += 1
    return made > 1
