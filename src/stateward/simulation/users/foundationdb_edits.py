"""Edits of a FoundationDB cluster's spec; edits of members and volumes are those of all engines."""

from collections import Counter
from collections.abc import Sequence
from functools import partial

from stateward.api.values.base import Json
from stateward.simulation.users.edits import Draft, Edit, drop_pool, pause, remove_setting
from stateward.simulation.users.member_requests import MEMBER_EDITS
from stateward.simulation.users.unplaceable_edits import UNPLACEABLE_EDITS
from stateward.simulation.users.volume_edits import VOLUME_EDITS

VERSIONS = ("7.1.57", "7.1.67", "7.3.63")
"""Available versions; the last one is incompatible with the others."""
ABSENT, BROKEN = "7.1.99", "7.1.98"
"""A version whose image cannot be pulled, and one that exits at its start."""
LEAST = {"storage": 4, "log": 3, "stateless": 2}
"""The smallest requested pools: one member more than two replicas on different nodes need."""
MOST = {"storage": 7, "log": 5, "stateless": 4}
LEAST_TRIPLE = {"storage": 5, "log": 5, "stateless": 3}
"""The smallest pools with which a cluster can have three copies of everything and five coordinators."""


def _version(draft: Draft) -> bool:
    return _to(draft, +1)


def _downgrade(draft: Draft) -> bool:
    return _to(draft, -1)


def _to(draft: Draft, step: int) -> bool:
    now = draft.spec["version"]
    at = VERSIONS.index(now) + step if now in VERSIONS else 1
    if not 0 <= at < len(VERSIONS):
        return False
    draft.spec["version"] = VERSIONS[at]
    return True


def _absent(draft: Draft) -> bool:
    if draft.spec["version"] == VERSIONS[-1]:
        return False
    draft.spec["version"] = draft.rng.choice((ABSENT, BROKEN))
    return True


def _knob(draft: Draft) -> bool:
    draft.holder().setdefault("knobs", {})[f"drawn_{draft.rng.randint(1, 3)}"] = str(draft.rng.randint(1, 1000))
    return True


def _environment(draft: Draft) -> bool:
    variable = {"name": "COLOR", "value": draft.rng.choice(("red", "blue", "grey"))}
    draft.pool()["podTemplate"] = {"spec": {"containers": [{"name": "foundationdb", "env": [variable]}]}}
    return True


def _grow(draft: Draft) -> bool:
    pool = draft.pool()
    if pool["replicas"] >= MOST[pool["processClass"]]:
        return False
    pool["replicas"] += 1
    return True


def _shrink(draft: Draft) -> bool:
    pool = draft.pool()
    if pool["replicas"] <= LEAST[pool["processClass"]]:
        return False
    pool["replicas"] -= 1
    return True


def _add_pool(draft: Draft) -> bool:
    if any(pool["name"] == "extra" for pool in draft.pools):
        return False
    draft.pools.append(pool_of("extra", "storage", draft.rng.randint(1, 2)))
    return True


def _processes(draft: Draft) -> bool:
    """Switch between one and two processes in each pod of a pool."""
    pool = draft.pool()
    pool["processesPerMember"] = 3 - pool.get("processesPerMember", 1)
    return True


def _redundancy(draft: Draft) -> bool:
    """Switch between two and three copies of everything."""
    triple = draft.spec.get("redundancy", "double") == "double"
    if triple and not holds_three_copies(draft.pools):
        return False
    draft.spec["redundancy"] = "triple" if triple else "double"
    return True


def holds_three_copies(pools: Sequence[Json]) -> bool:
    """Return whether pools have enough members for the redundancy `triple`."""
    total = Counter[str]()
    for pool in pools:
        total[pool["processClass"]] += pool["replicas"]
    return all(total[each] >= least for each, least in LEAST_TRIPLE.items())


def _invalid(draft: Draft) -> bool:
    spec, pool = draft.spec, draft.pool()
    draft.rng.choice(
        (
            lambda: pool.update(replicas=-1),
            lambda: pool.update(name="Not A Name"),
            lambda: pool.update(processClass="everything"),
            lambda: spec.update(version="newest"),
            lambda: spec["pools"].append(dict(pool)),
        )
    )()
    return True


EDITS = (
    Edit("version up", 4, _version),
    Edit("version down", 1, _downgrade),
    Edit("version that cannot start", 1, _absent),
    Edit("knob changed", 3, _knob),
    Edit("knob removed", 1, partial(remove_setting, field="knobs")),
    Edit("environment changed", 2, _environment),
    Edit("pool grown", 4, _grow),
    Edit("pool shrunk", 4, _shrink),
    Edit("pool added", 2, _add_pool),
    Edit("pool removed", 2, drop_pool),
    Edit("processes of a member changed", 1, _processes),
    Edit("redundancy changed", 1, _redundancy),
    Edit("paused or resumed", 1, pause),
    Edit("invalid edit", 2, _invalid),
)
CHOICE = (*EDITS, *VOLUME_EDITS, *UNPLACEABLE_EDITS, *MEMBER_EDITS)
"""All edits of the spec."""


def pool_of(name: str, process_class: str, replicas: int) -> Json:
    """Return a pool."""
    return {"name": name, "processClass": process_class, "replicas": replicas, "storage": {"size": "2Gi"}}
