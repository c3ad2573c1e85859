"""Changes settings of the database for its own sake, with a delay: often it only misses a member that comes back.

A change of coordinators makes every client reconnect, so the restart of one of them does not cause it.
"""

from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import Tend
from stateward.planning.model.intent import Part, Wait

PATIENCE = 60.0
"""Seconds."""


def tend(facts: Facts) -> Part:
    """Return the settings to change now, or the wait before that."""
    why = facts.database.untended if facts.database is not None else ""
    if not why:
        return Part()
    wait = Wait(facts.obs.name, "Tending", f"the operator changes the database's settings in a minute: {why}")
    patient = facts.waited(facts.obs.name, "Tending") < PATIENCE
    return Part(actions=() if patient else (Tend(why=why),), waits=(wait,))
