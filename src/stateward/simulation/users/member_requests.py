"""Requests for single members and processes: replacements, members to keep, restarts, and stops.

Replacements are fields of the spec. Restarts and stops are annotations of the cluster, as `kubectl stateward restart`
and `stop` write them.
"""

from collections.abc import Callable
from functools import partial

from stateward.api.values import names
from stateward.planning.model.phase import Phase
from stateward.simulation.cluster.nodes import TAINT
from stateward.simulation.users.edits import Draft, Edit

Annotations = dict[str, str | None]
"""Annotations to set, or to remove (None)."""


def _name_member(draft: Draft, field: str) -> bool:
    listed = draft.spec.setdefault("members", {}).setdefault(field, [])
    member = draft.member()
    if member in listed:
        return False
    listed.append(member)
    return True


def _keep_and_replace(draft: Draft) -> bool:
    member = draft.member()
    draft.spec["members"] = {"replace": [member], "keep": [member]}
    return True


def _replace_unknown(draft: Draft) -> bool:
    draft.spec.setdefault("members", {})["replace"] = [f"{draft.cluster}-nowhere-0"]
    return True


def _name_pool(draft: Draft, field: str) -> bool:
    pool = draft.pool()
    members = [names.member(draft.cluster, pool["name"], ordinal) for ordinal in range(draft.size(pool))]
    draft.spec["members"] = {field: members}
    return bool(members)


def _cancel_replacement(draft: Draft) -> bool:
    """Keep a member that is being replaced."""
    if not draft.leaving:
        return False
    draft.spec["members"] = {"keep": [draft.rng.choice(draft.leaving)]}
    return True


def _remove_requests(draft: Draft) -> bool:
    return draft.spec.pop("members", None) is not None


def _policy(draft: Draft) -> bool:
    if draft.spec.pop("replacement", None) is None:
        rng = draft.rng
        draft.spec["replacement"] = {
            "enabled": True,
            "after": rng.choice(("2m", "10m")),
            "maxConcurrent": rng.choice((1, 2)),
            "perZone": rng.random() < 0.3,
            "onTaints": [{"key": TAINT, "after": "1m"}] if rng.random() < 0.3 else [],
        }
    return True


MEMBER_EDITS = (
    Edit("member replacement requested", 2, partial(_name_member, field="replace")),
    Edit("member replacement without draining requested", 1, partial(_name_member, field="replaceWithoutDraining")),
    Edit("member marked to keep", 1, partial(_name_member, field="keep")),
    Edit("member marked to keep and to replace", 1, _keep_and_replace),
    Edit("replacement of an unknown member requested", 1, _replace_unknown),
    Edit("pool replacement requested", 1, partial(_name_pool, field="replace")),
    Edit("pool replacement without draining requested", 1, partial(_name_pool, field="replaceWithoutDraining")),
    Edit("replacement cancelled", 3, _cancel_replacement),
    Edit("member requests removed", 1, _remove_requests),
    Edit("automatic replacement toggled", 2, _policy),
)
"""Edits of the spec that concern single members; users here never set acceptDataLoss."""


def _restart(draft: Draft) -> Annotations:
    phase = draft.rng.choice((Phase.SCHEDULE, Phase.SCHEDULE_ROLLING, Phase.SCHEDULE_COORDINATED))
    pools = draft.pool()["name"] if draft.rng.random() < 0.5 else None
    return {names.ANNOTATION_PHASE: phase.value, names.ANNOTATION_RESTART_POOLS: pools}


def _restart_coordinated(_: Draft) -> Annotations:
    return {names.ANNOTATION_PHASE: Phase.SCHEDULE_COORDINATED.value, names.ANNOTATION_RESTART_POOLS: None}


def _stop(draft: Draft) -> Annotations:
    return {names.ANNOTATION_STOPPED: draft.member()}


def _start(_: Draft) -> Annotations:
    return {names.ANNOTATION_STOPPED: None}


def _restart_unknown_pool(_: Draft) -> Annotations:
    return {names.ANNOTATION_PHASE: Phase.SCHEDULE.value, names.ANNOTATION_RESTART_POOLS: "nowhere"}


def _restart_unknown_kind(_: Draft) -> Annotations:
    return {names.ANNOTATION_PHASE: "sometime", names.ANNOTATION_RESTART_POOLS: None}


Request = tuple[str, int, Callable[[Draft], Annotations]]
"""Its name, its weight, and its annotations."""
REQUESTS: tuple[Request, ...] = (
    ("restart requested", 3, _restart),
    ("coordinated restart requested", 1, _restart_coordinated),
    ("restart of an unknown pool requested", 1, _restart_unknown_pool),
    ("restart of an unknown kind requested", 1, _restart_unknown_kind),
    ("member stop requested", 2, _stop),
    ("member stops cancelled", 2, _start),
)
"""Requests by annotations of the cluster."""
CLEARED_REQUESTS: Annotations = {
    names.ANNOTATION_STOPPED: None,
    names.ANNOTATION_PHASE: None,
    names.ANNOTATION_RESTART_POOLS: None,
}
"""Removes all requests at the end of a run."""
