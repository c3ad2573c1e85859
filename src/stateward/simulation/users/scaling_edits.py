"""Edits of the scaling of pools: limits, rules about shards or a PoolScale in their place, and their removal."""

from stateward.api.values.base import Json
from stateward.simulation.users.edits import Draft, Edit


def _scaling(draft: Draft) -> bool:
    """Let a pool change its size by itself, within other limits or by another rule, or end that."""
    pool = draft.pool()
    if "scaling" in pool and draft.rng.random() < 0.3:
        del pool["scaling"]
        return True
    size = pool["replicas"]
    limits: Json = {"min": max(1, size - draft.rng.randint(0, 2)), "max": size + draft.rng.randint(0, 2)}
    above = draft.rng.randint(2, 6)
    rule = {"measure": "Shards", "above": above, "below": draft.rng.randint(1, above - 1)}
    rules = {"rules": [rule]} if "data" in pool["roles"] and draft.rng.random() < 0.5 else {}
    pool["scaling"] = {**limits, **rules, "growAfter": "1m", "shrinkAfter": draft.rng.choice(("1m", "5m"))}
    return True


SCALING_EDITS = (Edit("scaling of a pool changed", 0, _scaling),)
