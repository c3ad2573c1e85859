"""Events around declared resources: their users, another client of the database, and silent members.

Only runs with declared resources have them.
"""

from stateward.simulation.faults.targets import FaultTargets

SILENCE = (20.0, 180.0)
"""Seconds for which a member tells nothing about itself."""


def edit(targets: FaultTargets) -> None:
    """Let a user declare, change or delete an object of the database."""
    if targets.declarations is not None:
        targets.declarations.edit()


def interfere(targets: FaultTargets) -> None:
    """Let another client change an object in the database."""
    if targets.declarations is not None:
        targets.declarations.interfere()


def member_silent(targets: FaultTargets) -> None:
    """Let a member tell nothing about itself for a while, as in a long pause of its process, and serve all the same."""
    database = targets.world.database()
    nodes = [node for node in database.nodes.values() if node.tells] if database is not None else []
    if not nodes:
        return
    node = targets.rng.choice(nodes)
    node.silent = True
    targets.world.context.trace(f"{node.name} tells nothing about itself")

    def speaks() -> None:
        node.silent = False

    targets.reverts.append(speaks)
    targets.world.context.soon(*SILENCE, speaks)
