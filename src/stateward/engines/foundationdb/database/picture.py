"""Translates a status into the types that planning has for all databases.

FoundationDB does not report the place of each copy, only that some are missing and what a process still holds. So the
data of a member is one unit: a copy on the member, and one on `OTHERS`, which exists while the database reports that
all data is replicated. A leaving member holds its unit until a blocking `exclude` has proved it empty.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from stateward.api.kinds.foundationdb import COPIES
from stateward.api.values.problem import first_of
from stateward.engines.foundationdb.database.exclusion import (
    draining,
    removal_problem,
    replication_problem,
    unclear_data_problem,
)
from stateward.engines.foundationdb.database.leaving import address_problem, addresses_to_prove, problems_to_leave
from stateward.engines.foundationdb.database.maintenance import is_own, members_in_maintenance
from stateward.engines.foundationdb.database.members import MemberView, View, view
from stateward.engines.foundationdb.database.status import Cluster, Status
from stateward.engines.foundationdb.database.target import FoundationTarget
from stateward.engines.foundationdb.database.upkeep import (
    current_coordinators,
    pending_settings,
    redundancy,
    unmovable,
)
from stateward.engines.foundationdb.spec.connection import ConnectionStringError, parse_connection_string
from stateward.engines.foundationdb.spec.identity import cluster_file, description
from stateward.engines.foundationdb.spec.security import formed
from stateward.planning.facts.upgrade_order import parse
from stateward.planning.model.observation import (
    Copy,
    CopyState,
    Database,
    Duties,
    Health,
    Node,
    Unformed,
    Unit,
    Unknown,
)

OTHERS = "(others)"
"""All other members that have a copy."""
NEVER = "configuration_never_created"
"""The state of a database that was never created."""
TIMED_OUT = "status_incomplete_timeout"
"""The client's message when a cluster controller does not report in time."""
NAMED = 3
"""Members that are named at once."""
KEEPS = frozenset({"storage", "log"})
"""Roles that hold data."""


@dataclass(frozen=True, slots=True)
class Proofs:
    """The members that a blocking `exclude` has proved empty, and by member why the database refuses such a proof."""

    empty: frozenset[str] = frozenset()
    refused: Mapping[str, str] = field(default_factory=dict[str, str])


def decoded_observation(target: FoundationTarget, status: Status, proofs: Proofs | None = None) -> Database | Unknown:
    """Return the observation, with proofs that were made for it."""
    proofs = proofs or Proofs()
    why = absent(target, status)
    if why is not None:
        return why
    seen, coordinators = view(status, target.known), current_coordinators(target, status)
    if seen is None or coordinators is None:
        return Unknown("the database lists no processes, or no coordinators")
    doubt = unclear_data_problem(status) or replication_problem(status)
    leaving, held = draining(status), problems_to_leave(target, status, seen, coordinators)
    nodes = {name: node for name, m in seen.members.items() if (node := node_of(target, m, coordinators)) is not None}
    stuck = {name: unmovable(target, status, seen, coordinators, frozenset({name})) for name in sorted(coordinators)}
    return Database(
        identity=description(target.cluster),
        health=Health.GREEN if doubt is None else Health.YELLOW,
        nodes=nodes,
        partial={n: max(m.versions, key=parse) for n, m in seen.members.items() if n not in nodes and m.versions},
        units=tuple(units(target, status, seen, coordinators, leaving - proofs.empty, held)),
        voters=coordinators,
        draining=leaving,
        undrainable={name: why for name, why in held.items() if why},
        unproved=proofs.refused,
        unmovable={name: why for name, why in stuck.items() if why},
        appoints_voters=True,
        maintenance=status.cluster.maintenance_zone or "",
        maintained=members_in_maintenance(status, seen, target.domains),
        limited=is_own(status),
        tolerance=tolerance(status),
        connection=status.cluster.connection_string or "",
        redundancy=redundancy(status),
        pending_settings=pending_settings(target, status, seen, coordinators),
    )


def absent(target: FoundationTarget, status: Status) -> Unknown | None:
    """Return why there is no observation: another database, an unavailable one, or one that was never created."""
    cluster, said = status.cluster, status.client.database_status
    if cluster.connection_string is not None:
        try:
            found = parse_connection_string(cluster.connection_string).description
        except ConnectionStringError as error:
            return Unknown(str(error))
        if found != description(target.cluster):
            return Unknown(f"another database answers: {found}")
    recovery = cluster.recovery_state.name if cluster.recovery_state is not None else None
    if recovery == NEVER:
        return Unformed("the database was never created")
    if silent(status):
        return Unformed(
            "the database is not available, and reports nothing about itself: it was never created, or it is down",
            certain=False,
        )
    if said is None or said.available is not True or cluster.connection_string is None:
        text = f"the database is not available (recovery: {recovery or 'not known'})"
        return Unknown(f"{text}{coordinators_gone(target, status)}")
    return None


def coordinators_gone(target: FoundationTarget, status: Status) -> str:
    """Return that most of the coordinators are of members that do not exist, as a clause; empty if not.

    No wait ends that. Before the database was created a person can have others chosen, because nothing is lost then.
    """
    named = current_coordinators(target, status) or frozenset()
    gone = sorted(named - target.processes.keys() - target.known.keys())
    if not gone or len(gone) * 2 < len(named):
        return ""
    text = f": {len(gone)} of its {len(named)} coordinators do not exist ({first_of(gone, NAMED)})"
    if formed(target.cluster):
        return text
    return (
        f"{text}; if it was never created, delete Secret {cluster_file(target.cluster)}, and then all pods of the"
        " cluster: the operator then chooses others"
    )


def silent(status: Status) -> bool:
    """Return whether a cluster controller was found that reported nothing within the status' own time.

    Processes of 7.3 read the database for the status, and wait for it without a limit. So that is all that they report
    of a database that was never created, and of one that is down. Without a majority of the coordinators, or with a
    cluster controller that does not run, the status differs.
    """
    client, said = status.client, status.client.database_status
    reached = client.coordinators is not None and client.coordinators.quorum_reachable is True
    unavailable = said is not None and said.available is False
    return reached and unavailable and status.cluster == Cluster() and [m.name for m in client.messages] == [TIMED_OUT]


def node_of(target: FoundationTarget, member: MemberView, coordinators: frozenset[str]) -> Node | None:
    """Return a member that serves with all of its processes in one version; None for any other."""
    if not member.reached or not is_whole(target, member) or len(member.versions) != 1:
        return None
    return Node(
        name=member.name,
        version=next(iter(member.versions)),
        data=True,
        voting=member.name in coordinators,
        disk_total=member.disk_total,
        disk_free=member.disk_free,
        fault=member.fault,
        duties=Duties(member.kind, member.zone, member.roles, member.stored),
    )


def units(
    target: FoundationTarget,
    status: Status,
    seen: View,
    coordinators: frozenset[str],
    leaving: frozenset[str],
    held: Mapping[str, str],
) -> Iterable[Unit]:
    """Yield the data of each member, and why it would not move away now if the member were to leave."""
    doubt = unclear_data_problem(status) or replication_problem(status)
    elsewhere = Copy(CopyState.STARTED, member=OTHERS)
    if doubt is not None:
        elsewhere = Copy(CopyState.UNASSIGNED, why=doubt)
    wanted = COPIES[target.cluster.spec.redundancy]
    for name, member in seen.members.items():
        if name not in leaving and member.roles is not None and member.roles & KEEPS:
            own = Copy(CopyState.STARTED, primary=True, member=name, why=held.get(name, ""))
            copies = (own,) if wanted == 1 else (own, elsewhere)
            yield Unit(f"data({name})", wanted, copies)
    if lost(status):
        yield Unit("(some of the data)", wanted, (Copy(CopyState.UNASSIGNED, why="no replica of it is left"),))
    for name in sorted(leaving & target.processes.keys()):
        problem = removal_problem(status, seen, name, coordinators) or address_problem(target, status, seen, name)
        if problem is None:
            continue
        if name in seen.members or addresses_to_prove(target, status, name):
            own = Copy(CopyState.RELOCATING, member=name, target=OTHERS, in_sync=name in seen.members, why=problem)
        else:  # Nothing is moving, so there is nothing to wait for: report the reason.
            own = Copy(CopyState.STARTED, member=name, in_sync=False, why=problem)
        yield Unit(f"data({name})", wanted, (own, elsewhere))


def lost(status: Status) -> bool:
    """Return whether the database reports data without any reachable replica."""
    data = status.cluster.data
    states = [t.state for t in (data.team_trackers or ())] if data is not None else []
    return any(state.min_replicas_remaining == 0 for state in states)


def tolerance(status: Status) -> int:
    """Return how many more zones may fail without any loss; 0 if the status does not say."""
    told = status.cluster.fault_tolerance
    if told is None:
        return 0
    both = (told.max_zone_failures_without_losing_data, told.max_zone_failures_without_losing_availability)
    known = [count for count in both if count is not None]
    return min(known) if len(known) == len(both) else 0


class Proof(Enum):
    """How a member is proved empty."""

    LOCALITY = "all of its processes are there"
    ADDRESSES = "it has no process"
    BOTH = "some of its processes are there: its locality stands for these alone"


def members_to_prove(target: FoundationTarget, status: Status) -> Mapping[str, Proof]:
    """Return the leaving members that can be proved empty now, and how.

    A member that is not meant to run any more was proved empty before its release.
    """
    seen, coordinators = view(status, target.known), current_coordinators(target, status)
    if seen is None or coordinators is None:
        return {}
    return {
        name: proof_of(target, seen, name)
        for name in sorted(draining(status) & target.processes.keys())
        if removal_problem(status, seen, name, coordinators) is None
    }


def proof_of(target: FoundationTarget, seen: View, name: str) -> Proof:
    """Return how a member is proved empty."""
    member = seen.members.get(name)
    if member is None:
        return Proof.ADDRESSES
    return Proof.LOCALITY if is_whole(target, member) else Proof.BOTH


def is_whole(target: FoundationTarget, member: MemberView) -> bool:
    """Return whether all processes of a member are listed."""
    return len(member.addresses) >= target.processes.get(member.name, 1)
