"""Changes settings of the database for its own sake, with a delay: often it only misses a member that comes back.

A change of coordinators makes every client reconnect, so the restart of one of them does not cause it.
"""

from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import ConfigureDatabase
from stateward.planning.model.intent import StepResult, Wait

PATIENCE = 60.0
"""Seconds."""


def configure_database(facts: Facts) -> StepResult:
    """Return the settings to change now, or the wait before that."""
    why = facts.database.pending_settings if facts.database is not None else ""
    if not why:
        return StepResult()
    wait = Wait(
        facts.obs.name, "DatabaseChangePending", f"the operator changes the database's settings in a minute: {why}"
    )
    patient = facts.seconds_waited(facts.obs.name, "DatabaseChangePending") < PATIENCE
    return StepResult(actions=() if patient else (ConfigureDatabase(why=why),), waits=(wait,))
