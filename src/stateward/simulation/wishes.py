"""What a person may ask of single members and of processes: replacements, members to keep, restarts, and stops.

Replacements are wishes in the spec. Restarts and stops are annotations of the cluster, as `kubectl stateward restart`
and `stop` write them.
"""

from collections.abc import Callable

from stateward.api import names
from stateward.planning.phase import Phase
from stateward.simulation.cluster.nodes import TAINT
from stateward.simulation.edits import Draft, Edit

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
    Edit("wishes for members taken back", 1, _unwish),
    Edit("automatic replacement on or off", 2, _policy),
)
"""Edits of the spec that are about single members."""


def _restart(draft: Draft) -> Annotations:
    phase = draft.chance.choice((Phase.SCHEDULE, Phase.SCHEDULE_ROLLING, Phase.SCHEDULE_COORDINATED))
    pools = draft.pool()["name"] if draft.chance.random() < 0.5 else None
    return {names.ANNOTATION_PHASE: phase.value, names.ANNOTATION_RESTART_POOLS: pools}


def _stop(draft: Draft) -> Annotations:
    return {names.ANNOTATION_STOPPED: draft.member()}


def _start(_: Draft) -> Annotations:
    return {names.ANNOTATION_STOPPED: None}


REQUESTS: tuple[tuple[str, int, Callable[[Draft], Annotations]], ...] = (
    ("restart asked for", 3, _restart),
    ("member kept stopped", 2, _stop),
    ("nobody kept stopped", 2, _start),
)
"""Annotations of the cluster: their names, how often each is chosen, and what is written."""
CALM: Annotations = {names.ANNOTATION_STOPPED: None}
"""What is taken off in the end, when only what can be had is asked for."""
