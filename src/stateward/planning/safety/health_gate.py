"""Decides whether the database is healthy enough to stop another member, and if not, whether waiting helps.

The question is not "is it green" but "does this change keep it from green". The operator waits for a copy that can be
allocated now. It does not wait for a copy that no node may take, because only upgraded nodes could and they already
hold one, or because there are more replicas than nodes: that wait would never end. `availability` decides separately
which copies of each unit must stay up.
"""

from collections.abc import Iterator

from stateward.planning.facts.facts import Facts
from stateward.planning.facts.upgrade_order import newer
from stateward.planning.model.observation import Allocation, Copy, CopyState, Database, Unit

HELD_PATIENCE = 60.0
"""Seconds before the operator trusts the verdict "cannot be allocated anywhere": the verdict lags behind nodes that
have just come back.
"""


def health_problem(facts: Facts) -> str | None:
    """Return why the next member has to wait for the database, as a clause; None if it need not wait."""
    database = facts.database
    if database is None:
        return "the database does not answer"
    return next((text for unit in database.units if (text := unit_problem(database, unit, facts.now))), None)


def lost_units(database: Database) -> list[str]:
    """Return the units without any live copy."""
    return [unit.name for unit in database.units if not any(copy.live for copy in unit.copies)]


def unit_problem(database: Database, unit: Unit, now: float) -> str | None:
    """Return what is being waited for in one unit."""
    if all(copy.state is CopyState.STARTED and copy.in_sync for copy in unit.copies) and unit.copies:
        return None
    if not any(copy.live for copy in unit.copies):
        return f"shard {unit.name} has no started copy"
    if any(copy.state is CopyState.INITIALIZING for copy in unit.copies):
        return f"a copy of shard {unit.name} is being recovered"
    waiting = [c for c in unit.copies if c.state is CopyState.UNASSIGNED and placeable(database, unit, c, now)]
    if not waiting:
        return None
    foreign = database.allocation is not Allocation.ALL and not database.limited
    why = f"another client has limited the allocation to {database.allocation}" if foreign else waiting[0].why
    return f"a copy of shard {unit.name} is not assigned yet ({why or 'no reason given'})"


def placeable(database: Database, unit: Unit, copy: Copy, now: float) -> bool:
    """Return whether an unassigned copy may be allocated while the cluster stays as it is."""
    believed = copy.held and database.allocation is Allocation.ALL and now - copy.since > HELD_PATIENCE
    return not believed and any(True for _ in allowed_nodes(database, unit))


def allowed_nodes(database: Database, unit: Unit) -> Iterator[str]:
    """Return the nodes that may take one more copy: data nodes in use, without a copy, not older than its source.

    A node that the settings of its index rule out is none. The disaster this prevents: a tier has one node and many
    indices with a replica. The database explains only some of these copies at once, so the next change waits forever.
    """
    taken = {name for copy in unit.copies for name in (copy.member, copy.target) if name}
    source = next((copy.member for copy in unit.copies if copy.primary and copy.live), "")
    version = database.nodes[source].version if source in database.nodes else ""
    for node in database.nodes.values():
        if not node.data or node.name in taken or node.name in database.draining:
            continue
        if unit.places is not None and node.name not in unit.places:
            continue
        if node.version == version or not newer(version, node.version):
            yield node.name
