"""What a database does by itself in a world where everything works: nodes join, and copies go where they may."""

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from stateward.planning import actions as a
from stateward.planning.observation import (
    Copy,
    CopyState,
    Database,
    Member,
    Node,
    Pool,
    Unit,
)


def joined(database: Database, members: Iterable[Member], pools: Mapping[str, Pool]) -> Database:
    """Return the database after everybody has joined or left that could; copies on nodes that left are missing."""
    nodes: dict[str, Node] = {}
    for member in members:
        pod, pool, known = member.pod, pools.get(member.pool), database.nodes.get(member.name)
        if pod is None or not pod.ready or pod.terminating:
            continue
        data = pool.data if pool else known is not None and known.data
        voting = pool.voting if pool else known is not None and known.voting
        total, free = (known.disk_total, known.disk_free) if known else (0, 0)
        nodes[member.name] = Node(
            member.name, pod.version or (known.version if known else ""), data, voting, total, free
        )
    strangers = {name: node for name, node in database.nodes.items() if name not in {m.name for m in members}}
    nodes |= strangers
    voters = frozenset(name for name, node in nodes.items() if node.voting) - database.voting_exclusions
    leader = database.leader if database.leader in voters else min(voters, default="")
    return replace(database, nodes=nodes, voters=voters, leader=leader)


def placed(database: Database, unit: Unit) -> Unit:
    """Return a unit after its copies have gone where they may: off draining nodes, onto nodes that lack one."""
    copies: list[Copy] = []
    for copy in unit.copies:
        taken = {other.member for other in (*copies, *unit.copies) if other is not copy}
        here = copy.target or copy.member
        stays = here in database.nodes and here not in database.draining
        target = here if stays else next((name for name in roomy(database) if name not in taken), "")
        if target and (stays or copy.live or any(other.live for other in unit.copies)):
            copies.append(Copy(CopyState.STARTED, primary=copy.primary, member=target))
        elif here in database.nodes:
            copies.append(replace(copy, state=CopyState.STARTED, member=here, target=""))
        else:
            copies.append(Copy(CopyState.UNASSIGNED, primary=copy.primary, why="NODE_LEFT", held=True))
    return replace(unit, copies=tuple(copies))


def roomy(database: Database) -> list[str]:
    """Return the nodes that may take copies, those with fewest first."""
    load = {name: sum(c.member == name for u in database.units for c in u.copies) for name in database.nodes}
    able = [n.name for n in database.nodes.values() if n.data and n.name not in database.draining]
    return sorted(able, key=lambda name: (load[name], name))


def moved(unit: Unit, move: a.Move) -> Unit:
    """Return a unit after one copy has moved."""
    if unit.name != move.unit:
        return unit
    copies = (replace(c, member=move.target, target="") if c.member == move.origin else c for c in unit.copies)
    return replace(unit, copies=tuple(copies))
