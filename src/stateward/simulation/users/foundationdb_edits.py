"""Edits of a FoundationDB cluster's spec; edits of members and volumes are those of all engines."""

from functools import partial

from stateward.simulation.users.edits import Draft, Edit, pause, remove_setting
from stateward.simulation.users.foundationdb_pools import POOL_EDITS, several
from stateward.simulation.users.member_requests import MEMBER_EDITS
from stateward.simulation.users.unplaceable_edits import UNPLACEABLE_EDITS
from stateward.simulation.users.volume_edits import VOLUME_EDITS

VERSIONS = ("7.1.57", "7.1.67", "7.3.63")
"""Available versions; the last one is incompatible with the others."""
ABSENT, BROKEN = "7.1.99", "7.1.98"
"""A version whose image cannot be pulled, and one that exits at its start."""


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
    Edit("paused or resumed", 1, pause),
)
VOLUMES = tuple(edit for edit in VOLUME_EDITS if edit.name != "growth of volumes changed")
"""Only profiles of search clusters draw volumes that grow by themselves: their disks fill."""
SINGLE_EDITS = (*EDITS, *POOL_EDITS, *VOLUMES, *UNPLACEABLE_EDITS, *MEMBER_EDITS)
CHOICE = (
    *SINGLE_EDITS,
    Edit("several edits at once", 4, partial(several, edits=SINGLE_EDITS)),
    Edit("invalid edit", 2, _invalid),
)
"""All edits of the spec."""
