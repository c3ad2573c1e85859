"""The forecast of the change in progress, as the status keeps it: when the change began, and when it is another one.

The duration is filled in by the operator, which runs the plan forward. It is recorded and not remembered, so that a
change that outlives an operator process is still compared with its forecast.
"""

from stateward.api.kinds.status import ClusterStatus, ForecastStatus
from stateward.planning.model.intent import State
from stateward.planning.model.observation import Observation, Unknown
from stateward.planning.model.times import parse_time, rfc3339
from stateward.planning.plan import Plan
from stateward.planning.steps.upkeep.first_restore import SUBJECT as BEGINNING

INTENDED = frozenset(
    {
        State.CREATING,
        State.WAITING,
        State.PREPARING,
        State.RESTARTING,
        State.DRAINING,
        State.LEAVING,
        State.GROWING,
    }
)
"""States on the way to what was asked for. The others follow from a failure, of which no forecast knows the end."""
ROUNDING = 1.0
"""Seconds by which a time of the status may be too early."""


def current_forecast(obs: Observation, plan: Plan, before: ClusterStatus, now: float) -> ForecastStatus | None:
    """Return the forecast to record: that of the change in progress, a new one without a duration, or None."""
    if plan.settled or obs.desired.paused or any(wait.subject == BEGINNING for wait in plan.waits):
        return None  # How much a new cluster has to restore is not known.
    if before.forecast is not None and not edited_since(before.forecast, obs, before):
        return before.forecast
    return ForecastStatus(start_time=rfc3339(now)) if begins(obs, plan) else None


def edited_since(known: ForecastStatus, obs: Observation, before: ClusterStatus) -> bool:
    """Return whether the spec, or data that the members use, has changed since a change began: it is another one."""
    began, changing = parse_time(known.start_time), obs.changing
    data = changing is not None and began is not None and changing.since > began + ROUNDING
    return data or before.observed_generation != obs.generation


def begins(obs: Observation, plan: Plan) -> bool:
    """Return whether the operator works towards something that was asked for, and nothing stops it from the begin on.

    While the database is not known, only the creation of a cluster begins.
    """
    unknown = isinstance(obs.database, Unknown) and bool(obs.deployed_version)
    stalled = any(wait.stalled for wait in plan.waits)
    return not unknown and not stalled and any(intent.state in INTENDED for intent in plan.intents.values())
