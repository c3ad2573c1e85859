"""What a database is told for its own sake, some time after it needs it: often it only misses a member that comes back.

A change of coordinators makes every client connect anew, so it is not made because one of them restarts.
"""

from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import Tend
from stateward.planning.model.intent import Part, Wait

PATIENCE = 60.0
"""Seconds."""


def tend(facts: Facts) -> Part:
    """Return what the database is told now, or what is waited for first."""
    why = facts.database.untended if facts.database is not None else ""
    if not why:
        return Part()
    wait = Wait(facts.obs.name, "Tending", f"the operator changes the database's settings in a minute: {why}")
    patient = facts.waited(facts.obs.name, "Tending") < PATIENCE
    return Part(actions=() if patient else (Tend(why=why),), waits=(wait,))
