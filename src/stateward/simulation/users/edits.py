"""Edits of a search cluster's spec: valid ones, invalid ones, harmful ones, and changes during another change."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from msgspec import Struct

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.api.values.roles import VOTING_ONLY
from stateward.simulation.world.engine_products import Product


@dataclass(frozen=True)
class Draft:
    """A spec that is edited in place, with its cluster and random source."""

    spec: Json
    cluster: str
    """Name of the cluster."""
    rng: random.Random
    product: Product
    leaving: tuple[str, ...] = ()
    """Names of the members that are being replaced, as the status lists them."""

    @property
    def pools(self) -> list[Json]:
        """The pools of the spec."""
        return self.spec["pools"]

    def pool(self) -> Json:
        """Return one of the pools."""
        return self.rng.choice(self.pools)

    def holder(self) -> Json:
        """Return an object with settings: the spec, or one of the pools."""
        return self.rng.choice([self.spec, *self.pools])

    def storage(self) -> Json | None:
        """Return the storage of one of the pools; None if its members have no volumes."""
        storage = self.pool()["storage"]
        return None if storage.get("ephemeral") else storage

    def size(self, pool: Json) -> int:
        """Return how many members a pool has."""
        return pool["replicas"]

    def manages(self, pool: Json) -> bool:
        """Return whether members of a pool vote."""
        return self.product.manager in pool["roles"]

    def member(self) -> str:
        """Return the name of a member, usually of an existing one."""
        pool = self.pool()
        return names.member(self.cluster, pool["name"], self.rng.randint(0, self.size(pool)))


NAMES_OF_MANAGERS = {"managers": "masters", "masters": "managers"}


class Edit(Struct, frozen=True):
    """One kind of edit: its weight, and its change of a draft, which returns False if it is not possible now."""

    name: str
    weight: int
    change: Callable[[Draft], bool]


def _version(draft: Draft) -> bool:
    known, now = draft.product.versions, draft.spec["version"]
    if now not in known[:-1]:
        return False
    draft.spec["version"] = known[known.index(now) + 1]
    return True


def _downgrade(draft: Draft) -> bool:
    known, now = draft.product.versions, draft.spec["version"]
    if now not in known[1:]:
        return False
    draft.spec["version"] = known[known.index(now) - 1]
    return True


def _absent(draft: Draft) -> bool:
    if draft.spec["version"] not in draft.product.versions[:-1]:
        return False
    draft.spec["version"] = draft.rng.choice((draft.product.absent, draft.product.broken))
    return True


def _config(draft: Draft) -> bool:
    setting = f"indices.setting{draft.rng.randint(1, 3)}"
    draft.holder().setdefault("config", {})[setting] = draft.rng.randint(1, 1000)
    return True


def remove_setting(draft: Draft, field: str) -> bool:
    """Remove the newest setting of the first object that has any in a field."""
    holder = next((h for h in [draft.spec, *draft.pools] if h.get(field)), None)
    if holder is None:
        return False
    holder[field].popitem()
    return True


def _bad_config(draft: Draft) -> bool:
    draft.holder().setdefault("config", {})["bad.setting"] = 1
    return True


def _environment(draft: Draft) -> bool:
    variable = {"name": "COLOR", "value": draft.rng.choice(("red", "blue", "grey"))}
    draft.holder()["podTemplate"] = {"spec": {"containers": [{"name": draft.product.engine, "env": [variable]}]}}
    return True


def _grow(draft: Draft) -> bool:
    pool = draft.pool()
    if pool["replicas"] >= (3 if draft.manages(pool) else 5):
        return False
    pool["replicas"] += 2 if draft.manages(pool) and pool["replicas"] == 1 else 1
    return True


def _shrink(draft: Draft) -> bool:
    pool = draft.pool()
    least = 2 if "data" in pool["roles"] else 1 if draft.manages(pool) else 0
    if pool["replicas"] <= least:
        return False
    pool["replicas"] = least if draft.rng.random() < 0.3 else pool["replicas"] - 1
    return True


def _add_pool(draft: Draft) -> bool:
    name = f"extra{draft.rng.randint(1, 2)}"
    if any(pool["name"] == name for pool in draft.pools):
        return False
    roles = draft.rng.choice((["data"], ["ingest"], []))
    replicas = draft.rng.randint(1, 2)
    draft.pools.append({"name": name, "replicas": replicas, "roles": roles, "storage": {"size": "5Gi"}})
    return True


def drop_pool(draft: Draft) -> bool:
    """Remove the pools that users have added."""
    kept = [pool for pool in draft.pools if not pool["name"].startswith("extra")]
    if len(kept) == len(draft.pools):
        return False
    draft.spec["pools"] = kept
    return True


def _rename(draft: Draft) -> bool:
    pool = next((pool for pool in draft.pools if pool["roles"] and not draft.manages(pool)), None)
    if pool is None or pool["name"].startswith("extra"):
        return False
    pool["name"] = {"hot": "warm"}.get(pool["name"], "hot")
    return len({pool["name"] for pool in draft.pools}) == len(draft.pools)


def _rename_managers(draft: Draft) -> bool:
    """Move the managers to another pool by renaming it, as users do with a broken pool."""
    pool = next((pool for pool in draft.pools if pool["name"] in NAMES_OF_MANAGERS), None)
    if pool is None:
        return False
    pool["name"] = NAMES_OF_MANAGERS[pool["name"]]
    pool.get("config", {}).pop("bad.setting", None)
    return len({pool["name"] for pool in draft.pools}) == len(draft.pools)


def _roles(draft: Draft) -> bool:
    """Change the roles of a pool on which the cluster does not depend."""
    pools = [pool for pool in draft.pools if pool["name"].startswith("extra") or pool["name"] == "gateway"]
    if not pools:
        return False
    pool = draft.rng.choice(pools)
    pool["roles"] = draft.rng.choice([roles for roles in (["data"], ["ingest"], []) if roles != pool["roles"]])
    return True


def _voting_only(draft: Draft) -> bool:
    """Let the managers of a pool only vote, or be elected again; some can still be elected."""
    managers = [pool for pool in draft.pools if draft.manages(pool)]
    pool = draft.rng.choice(managers)
    roles = pool["roles"]
    pool["roles"] = [*roles, VOTING_ONLY] if VOTING_ONLY not in roles else [r for r in roles if r != VOTING_ONLY]
    return any(VOTING_ONLY not in pool["roles"] for pool in managers)


def _unavailable(draft: Draft) -> bool:
    draft.spec.setdefault("update", {})["maxUnavailable"] = draft.rng.choice((1, 2, 3, "50%", "100%"))
    return True


def pause(draft: Draft) -> bool:
    """Pause the cluster, or resume it."""
    update = draft.spec.setdefault("update", {})
    update["paused"] = not update.get("paused", False)
    return True


def _invalid(draft: Draft) -> bool:
    spec, pool = draft.spec, draft.pool()
    draft.rng.choice(
        (
            lambda: pool.update(replicas=-1),
            lambda: pool.update(name="Not A Name"),
            lambda: pool.update(storage={"size": "much"}),
            lambda: spec.update(version="newest"),
            lambda: spec.update(image=f"example.com/{draft.product.engine}:1.0.0"),
            lambda: spec["pools"].append(dict(pool)),
            lambda: spec.update(pools=[p for p in draft.pools if not draft.manages(p)]),
            lambda: spec.setdefault("config", {}).update({"cluster.name": "mine"}),
        )
    )()
    return True


EDITS = (
    Edit("version up", 5, _version),
    Edit("version down", 1, _downgrade),
    Edit("version that cannot start", 1, _absent),
    Edit("setting changed", 5, _config),
    Edit("setting removed", 2, partial(remove_setting, field="config")),
    Edit("setting that prevents startup", 1, _bad_config),
    Edit("environment changed", 3, _environment),
    Edit("pool grown", 4, _grow),
    Edit("pool shrunk", 4, _shrink),
    Edit("pool added", 2, _add_pool),
    Edit("pool removed", 2, drop_pool),
    Edit("pool renamed", 1, _rename),
    Edit("managers renamed", 1, _rename_managers),
    Edit("maxUnavailable changed", 2, _unavailable),
    Edit("paused or resumed", 1, pause),
    Edit("roles changed", 1, _roles),
    Edit("invalid edit", 2, _invalid),
    Edit("managers only vote, or can be elected again", 0, _voting_only),
)
