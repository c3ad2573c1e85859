"""What a person may ask of single members and of processes: replacements, members to keep, restarts, and stops.

Replacements are wishes in the spec. Restarts and stops are annotations of the cluster, as `kubectl stateward restart`
and `stop` write them.
"""

from collections.abc import Callable

from stateward.api.values import names
from stateward.planning.model.phase import Phase
from stateward.simulation.cluster.nodes import TAINT
from stateward.simulation.people.edits import Draft, Edit

Annotations = dict[str, str | None]
"""Annotations to set, or (None) to take off."""


def _replace(draft: Draft) -> bool:
    return _named(draft, "replace")


def _replace_undrained(draft: Draft) -> bool:
    return _named(draft, "replaceWithoutDraining")


def _keep(draft: Draft) -> bool:
    return _named(draft, "keep")


def _named(draft: Draft, wish: str) -> bool:
    listed = draft.spec.setdefault("members", {}).setdefault(wish, [])
    member = draft.member()
    if member in listed:
        return False
    listed.append(member)
    return True


def _keep_and_replace(draft: Draft) -> bool:
    member = draft.member()
    draft.spec["members"] = {"replace": [member], "keep": [member]}
    return True


def _replace_nobody(draft: Draft) -> bool:
    draft.spec.setdefault("members", {})["replace"] = [f"{draft.cluster}-nowhere-0"]
    return True


def _replace_pool(draft: Draft) -> bool:
    return _all_of_a_pool(draft, "replace")


def _give_pool_up(draft: Draft) -> bool:
    """Give up data that is in one pool only; without acceptDataLoss, which users here never set."""
    return _all_of_a_pool(draft, "replaceWithoutDraining")


def _all_of_a_pool(draft: Draft, wish: str) -> bool:
    pool = draft.pool()
    members = [names.member(draft.cluster, pool["name"], ordinal) for ordinal in range(pool["replicas"])]
    draft.spec["members"] = {wish: members}
    return bool(members)


def _take_back(draft: Draft) -> bool:
    """Keep after all who is being replaced."""
    if not draft.leaving:
        return False
    draft.spec["members"] = {"keep": [draft.chance.choice(draft.leaving)]}
    return True


def _unwish(draft: Draft) -> bool:
    return draft.spec.pop("members", None) is not None


def _policy(draft: Draft) -> bool:
    if draft.spec.pop("replacement", None) is None:
        chance = draft.chance
        draft.spec["replacement"] = {
            "enabled": True,
            "after": chance.choice(("2m", "10m")),
            "maxConcurrent": chance.choice((1, 2)),
            "perZone": chance.random() < 0.3,
            "onTaints": [{"key": TAINT, "after": "1m"}] if chance.random() < 0.3 else [],
        }
    return True


WISHES = (
    Edit("member to be replaced", 2, _replace),
    Edit("member to be replaced undrained", 1, _replace_undrained),
    Edit("member to be kept", 1, _keep),
    Edit("member to be kept and replaced at once", 1, _keep_and_replace),
    Edit("member replaced that is none", 1, _replace_nobody),
    Edit("pool to be replaced", 1, _replace_pool),
    Edit("pool to be replaced undrained", 1, _give_pool_up),
    Edit("replacement taken back", 3, _take_back),
    Edit("wishes for members taken back", 1, _unwish),
    Edit("automatic replacement on or off", 2, _policy),
)
"""Edits of the spec that are about single members."""


def _restart(draft: Draft) -> Annotations:
    phase = draft.chance.choice((Phase.SCHEDULE, Phase.SCHEDULE_ROLLING, Phase.SCHEDULE_COORDINATED))
    pools = draft.pool()["name"] if draft.chance.random() < 0.5 else None
    return {names.ANNOTATION_PHASE: phase.value, names.ANNOTATION_RESTART_POOLS: pools}


def _restart_together(_: Draft) -> Annotations:
    return {names.ANNOTATION_PHASE: Phase.SCHEDULE_COORDINATED.value, names.ANNOTATION_RESTART_POOLS: None}


def _stop(draft: Draft) -> Annotations:
    return {names.ANNOTATION_STOPPED: draft.member()}


def _start(_: Draft) -> Annotations:
    return {names.ANNOTATION_STOPPED: None}


def _restart_nowhere(_: Draft) -> Annotations:
    return {names.ANNOTATION_PHASE: Phase.SCHEDULE.value, names.ANNOTATION_RESTART_POOLS: "nowhere"}


def _strange_restart(_: Draft) -> Annotations:
    return {names.ANNOTATION_PHASE: "sometime", names.ANNOTATION_RESTART_POOLS: None}


Request = tuple[str, int, Callable[[Draft], Annotations]]
"""Its name, how often it is chosen, and what is written."""
REQUESTS: tuple[Request, ...] = (
    ("restart asked for", 3, _restart),
    ("coordinated restart asked for", 1, _restart_together),
    ("restart of a pool that is none", 1, _restart_nowhere),
    ("restart of a kind that is none", 1, _strange_restart),
    ("member kept stopped", 2, _stop),
    ("nobody kept stopped", 2, _start),
)
"""Annotations of the cluster."""
CALM: Annotations = {
    names.ANNOTATION_STOPPED: None,
    names.ANNOTATION_PHASE: None,
    names.ANNOTATION_RESTART_POOLS: None,
}
"""What is taken off in the end, when only what can be had is asked for."""
