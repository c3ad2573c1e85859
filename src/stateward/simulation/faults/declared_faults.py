"""Events around declared resources: their users, and another client of the database. Only runs with such have them."""

from stateward.simulation.faults.targets import FaultTargets


def edit(targets: FaultTargets) -> None:
    """Let a user declare, change or delete an object of the database."""
    if targets.declarations is not None:
        targets.declarations.edit()


def interfere(targets: FaultTargets) -> None:
    """Let another client change an object in the database."""
    if targets.declarations is not None:
        targets.declarations.interfere()
