"""The scaling of a pool in the types of planning."""

from stateward.api.kinds.scaling import limits as written
from stateward.api.values.duration import parse_duration
from stateward.planning.model.observation import Measure, Scaling, ScalingRule


def scaling(asked: written.Scaling | None) -> Scaling | None:
    """Return within which limits the number of members changes, and by what; None if it does not."""
    if asked is None:
        return None
    return Scaling(
        lowest=asked.min,
        highest=asked.max,
        rules=tuple(ScalingRule(Measure(rule.measure.value), rule.above, rule.below) for rule in asked.rules or ()),
        grow_after=parse_duration(asked.grow_after),
        shrink_after=parse_duration(asked.shrink_after),
    )
