"""The kind of a change, from what its forecast does: durations of different kinds are not comparable."""

from enum import StrEnum

from stateward.forecast.forecast import Forecast
from stateward.planning.facts.upgrade_order import upgrading
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Observation


class Change(StrEnum):
    """The kind of a change; the first that applies."""

    CREATE = "create"
    """The cluster is created."""
    UPGRADE = "upgrade"
    REPLACE = "replace"
    """Members leave, and new ones take their place."""
    SCALE = "scale"
    RESTART = "restart"
    GROW = "grow"
    """Volumes are expanded, and no member restarts."""
    OTHER = "other"
    """No member is touched."""


def change_of(start: Observation, forecast: Forecast) -> Change:
    """Return the kind of the change that a forecast from `start` makes."""
    done = {type(action) for step in forecast.steps for action in step.made.actions}
    kinds = (
        (Change.CREATE, not start.deployed_version),
        (Change.UPGRADE, upgrading(start)),
        (Change.REPLACE, {a.Create, a.Release} <= done),
        (Change.SCALE, done & {a.Create, a.Release}),
        (Change.RESTART, done & {a.DeletePod, a.StopProcess}),
        (Change.GROW, a.GrowVolume in done),
    )
    return next((kind for kind, applies in kinds if applies), Change.OTHER)
