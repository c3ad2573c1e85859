"""A person who edits the cluster resource in the middle of everything: well, badly, and back again."""

import random
from collections.abc import Callable
from copy import deepcopy

from msgspec import Struct

from stateward.api.base import Json
from stateward.kube.client import DeleteOptions, Preconditions
from stateward.kube.errors import ApiError
from stateward.simulation.apiserver.admission import CLUSTERS
from stateward.simulation.apiserver.documents import part
from stateward.simulation.telling import edited
from stateward.simulation.world import NAME, World

VERSIONS = ("2.17.1", "2.18.0", "2.19.5", "3.4.0")
"""Versions that can be had, each reachable from the one before."""
ABSENT = "2.19.9"
"""A version whose image cannot be pulled."""
BROKEN = "2.19.8"
"""A version that ends as soon as it starts."""


class Edit(Struct, frozen=True):
    """One kind of edit: how often it is chosen, and how it changes a spec in place (False: not possible now)."""

    name: str
    weight: int
    change: Callable[[Json, random.Random], bool]


def _version(spec: Json, _: random.Random) -> bool:
    if spec["version"] not in VERSIONS or spec["version"] == VERSIONS[-1]:
        return False
    spec["version"] = VERSIONS[VERSIONS.index(spec["version"]) + 1]
    return True


def _downgrade(spec: Json, _: random.Random) -> bool:
    if spec["version"] not in VERSIONS[1:]:
        return False
    spec["version"] = VERSIONS[VERSIONS.index(spec["version"]) - 1]
    return True


def _absent(spec: Json, chance: random.Random) -> bool:
    if not spec["version"].startswith("2."):
        return False
    spec["version"] = chance.choice((ABSENT, BROKEN))
    return True


def _config(spec: Json, chance: random.Random) -> bool:
    holder = chance.choice([spec, *spec["pools"]])
    holder.setdefault("config", {})[f"indices.setting{chance.randint(1, 3)}"] = chance.randint(1, 1000)
    return True


def _unconfig(spec: Json, _: random.Random) -> bool:
    holder = next((h for h in [spec, *spec["pools"]] if h.get("config")), None)
    if holder is None:
        return False
    holder["config"].popitem()
    return True


def _bad_config(spec: Json, chance: random.Random) -> bool:
    chance.choice([spec, *spec["pools"]]).setdefault("config", {})["bad.setting"] = 1
    return True


def _environment(spec: Json, chance: random.Random) -> bool:
    variable = {"name": "COLOR", "value": chance.choice(("red", "blue", "grey"))}
    holder = chance.choice([spec, *spec["pools"]])
    holder["podTemplate"] = {"spec": {"containers": [{"name": "opensearch", "env": [variable]}]}}
    return True


def _selector(spec: Json, chance: random.Random) -> bool:
    pool = chance.choice(spec["pools"])
    pool["podTemplate"] = {"spec": {"nodeSelector": {"no-such": "label"}}}
    return True


def _grow(spec: Json, chance: random.Random) -> bool:
    pool = chance.choice(spec["pools"])
    most = 3 if "cluster_manager" in pool["roles"] else 5
    if pool["replicas"] >= most:
        return False
    pool["replicas"] += 2 if "cluster_manager" in pool["roles"] and pool["replicas"] == 1 else 1
    return True


def _shrink(spec: Json, chance: random.Random) -> bool:
    pool = chance.choice(spec["pools"])
    least = 2 if "data" in pool["roles"] else 1 if "cluster_manager" in pool["roles"] else 0
    if pool["replicas"] <= least:
        return False
    pool["replicas"] = least if chance.random() < 0.3 else pool["replicas"] - 1
    return True


def _add_pool(spec: Json, chance: random.Random) -> bool:
    name = f"extra{chance.randint(1, 2)}"
    if any(pool["name"] == name for pool in spec["pools"]):
        return False
    roles = chance.choice((["data"], ["ingest"], []))
    spec["pools"].append({"name": name, "replicas": chance.randint(1, 2), "roles": roles, "storage": {"size": "5Gi"}})
    return True


def _drop_pool(spec: Json, _: random.Random) -> bool:
    kept = [pool for pool in spec["pools"] if not pool["name"].startswith("extra")]
    if len(kept) == len(spec["pools"]):
        return False
    spec["pools"] = kept
    return True


def _rename(spec: Json, _: random.Random) -> bool:
    pool = next((pool for pool in spec["pools"] if pool["roles"] and "cluster_manager" not in pool["roles"]), None)
    if pool is None or pool["name"].startswith("extra"):
        return False
    pool["name"] = {"hot": "warm"}.get(pool["name"], "hot")
    return len({pool["name"] for pool in spec["pools"]}) == len(spec["pools"])


def _unavailable(spec: Json, chance: random.Random) -> bool:
    spec.setdefault("update", {})["maxUnavailable"] = chance.choice((1, 2, 3, "50%", "100%"))
    return True


def _pause(spec: Json, _: random.Random) -> bool:
    update = spec.setdefault("update", {})
    update["paused"] = not update.get("paused", False)
    return True


def _larger(spec: Json, chance: random.Random) -> bool:
    storage = chance.choice(spec["pools"])["storage"]
    storage["size"] = f"{int(storage['size'].removesuffix('Gi')) + 1}Gi"
    return True


def _smaller(spec: Json, chance: random.Random) -> bool:
    storage = chance.choice(spec["pools"])["storage"]
    size = int(storage["size"].removesuffix("Gi"))
    if size < 2:
        return False
    storage["size"] = f"{size - 1}Gi"
    return True


def _class(spec: Json, chance: random.Random) -> bool:
    chance.choice(spec["pools"])["storage"]["storageClass"] = chance.choice(("standard", "fast"))
    return True


def _invalid(spec: Json, chance: random.Random) -> bool:
    pool = chance.choice(spec["pools"])
    chance.choice(
        (
            lambda: pool.update(replicas=-1),
            lambda: pool.update(name="Not A Name"),
            lambda: pool.update(storage={"size": "much"}),
            lambda: spec.update(version="newest"),
            lambda: spec.update(image="example.com/opensearch:1.0.0"),
            lambda: spec["pools"].append(dict(pool)),
            lambda: spec.update(pools=[p for p in spec["pools"] if "cluster_manager" not in p["roles"]]),
            lambda: spec.setdefault("config", {}).update({"cluster.name": "mine"}),
        )
    )()
    return True


EDITS = (
    Edit("version up", 5, _version),
    Edit("version down", 1, _downgrade),
    Edit("version that does not start", 1, _absent),
    Edit("setting changed", 5, _config),
    Edit("setting removed", 2, _unconfig),
    Edit("setting that does not start", 1, _bad_config),
    Edit("environment changed", 3, _environment),
    Edit("selector that fits no node", 1, _selector),
    Edit("pool grown", 4, _grow),
    Edit("pool shrunk", 4, _shrink),
    Edit("pool added", 2, _add_pool),
    Edit("pool removed", 2, _drop_pool),
    Edit("pool renamed", 1, _rename),
    Edit("budget changed", 2, _unavailable),
    Edit("paused or resumed", 1, _pause),
    Edit("volumes grown", 2, _larger),
    Edit("volumes shrunk", 1, _smaller),
    Edit("storage class changed", 1, _class),
    Edit("invalid edit", 2, _invalid),
)


class User:
    """Edits one cluster resource."""

    def __init__(self, world: World, spec: Json, name: str = NAME) -> None:
        self.spec = spec
        self._world = world
        self._name = name
        self._chance = world.ground.stream("user")
        self._before: list[Json] = []

    def act(self) -> None:
        """Make one edit."""
        dice = self._chance.random()
        if dice < 0.15 and self._before:
            self._apply("revert", deepcopy(self._before.pop()))
        elif dice < 0.2:
            self._annotate()
        else:
            self._edit()

    def calm_down(self) -> None:
        """Ask for something that can be had, whatever was asked for before."""
        spec = deepcopy(self.spec)
        spec["version"] = self._reachable()
        spec.pop("image", None)
        spec.pop("update", None)
        for holder in [spec, *spec["pools"]]:
            holder.get("config", {}).pop("bad.setting", None)
            holder.get("config", {}).pop("cluster.name", None)
            if "nodeSelector" in part(holder, "podTemplate", "spec"):
                del holder["podTemplate"]
        self._apply("an edit that makes sense", spec)

    def set(self, what: str, **changes: Json | int | str | bool) -> None:
        """Change parts of the spec."""
        self._apply(what, {**deepcopy(self.spec), **changes})

    def annotate(self, annotations: Json) -> None:
        """Set annotations of the cluster resource."""
        resource = self._world.resource(self._name)
        if resource is not None:
            self._world.ground.tell(f"the user annotates the cluster: {annotations}")
            meta = {**resource.meta, "annotations": {**resource.meta.get("annotations", {}), **annotations}}
            self._world.server.update(CLUSTERS, resource.key, {**resource.doc, "metadata": meta}, manager="kubectl")

    def delete(self) -> None:
        """Delete the cluster resource."""
        resource = self._world.resource(self._name)
        if resource is not None:
            self._world.ground.tell("the user deletes the cluster resource")
            self._world.ground.count("user: deleted")
            self._world.server.delete(CLUSTERS, resource.key, DeleteOptions(Preconditions(resource.uid)))

    def create(self) -> None:
        """Create the cluster resource again."""
        if self._world.resource(self._name) is None:
            self._world.ground.tell("the user creates the cluster resource")
            self._world.create(deepcopy(self.spec), self._name)

    def _edit(self) -> None:
        spec = deepcopy(self.spec)
        edit = self._chance.choices(EDITS, [edit.weight for edit in EDITS])[0]
        if edit.change(spec, self._chance):
            self._apply(edit.name, spec)

    def _apply(self, what: str, spec: Json) -> None:
        resource = self._world.resource(self._name)
        if resource is None:
            return
        try:
            self._world.server.update(CLUSTERS, resource.key, {**resource.doc, "spec": spec}, manager="kubectl")
        except ApiError:
            self._world.ground.count(f"user: {what} (refused)")
            return
        self._world.ground.count(f"user: {what}")
        self._world.ground.tell(f"the user edits the cluster ({what}): {edited(self.spec, spec) or 'nothing'}")
        self._before.append(self.spec)
        self.spec = spec
        if what == "invalid edit":
            # Nobody leaves it like that: the next edit begins with what was there before.
            self.spec = self._before.pop()

    def _annotate(self) -> None:
        resource = self._world.resource(self._name)
        if resource is not None:
            meta = {**resource.meta, "labels": {"team": self._chance.choice("abc")}}
            self._world.ground.count("user: labels changed")
            self._world.server.update(CLUSTERS, resource.key, {**resource.doc, "metadata": meta}, manager="kubectl")

    def _reachable(self) -> str:
        """Return a version that can be had from here: what is wanted, or else the newest that a member has run."""
        resource = self._world.resource(self._name)
        deployed = part(resource.doc, "status").get("version", "") if resource is not None else ""
        passed = [d.version for d in self._world.databases.disks.values() if d.version in VERSIONS]
        newest = max(passed, key=VERSIONS.index, default=VERSIONS[0])
        last = VERSIONS.index(deployed) + 2 if deployed in VERSIONS else None
        steps = VERSIONS[VERSIONS.index(newest) : last]
        return self.spec["version"] if self.spec["version"] in steps else newest
