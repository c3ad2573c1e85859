"""Predicates that return why a member may not be excluded, or why an excluded one may not be removed.

They prevent the removal of a member that holds the only replica of some data, because the status was old, partial, or
from a time when logs of an earlier generation were still needed. They also prevent the exclusion of more members than
the others can take over from.
"""

from collections.abc import Iterable, Mapping

from stateward.engines.foundationdb.database.members import LOCALITY, MemberView, View
from stateward.engines.foundationdb.database.status import Status

DOUBTFUL = ("unreadable_configuration", "full_replication_timeout", "storage_servers_error", "log_servers_error")
"""Messages that make all statements of the status about data uncertain."""
SETTLING = 300.0
"""Seconds for which a process must be missing before others are excluded: it may be coming back."""

CARRIES = frozenset({"storage", "log", "coordinator"})
"""Roles that keep data on the disk of their process."""


def unclear_data_problem(status: Status) -> str | None:
    """Return why a status does not show where the data is; None if it is complete."""
    cluster = status.cluster
    if status.client.database_status is None or status.client.database_status.available is not True:
        return "the database is not available, or does not report its availability"
    if cluster.messages is None or cluster.processes is None or cluster.recovery_state is None:
        return "the status is not complete"
    doubt = next((m for m in cluster.messages if m.name in DOUBTFUL), None)
    if doubt is not None:
        return f"the database reports {doubt.name}: {doubt.description}"
    generations = cluster.recovery_state.active_generations
    if generations is None or generations > 1:
        told = "does not say how many" if generations is None else f"has {generations}"
        return f"the database {told} generations of logs are active: data may be on logs of an earlier one"
    return None


def replication_problem(status: Status) -> str | None:
    """Return why data is not fully replicated, or not known to be; None if it is."""
    cluster = status.cluster
    data, blind = cluster.data, blind_distribution_problem(status)
    if blind is not None:
        return blind
    if data is None or data.team_trackers is None or cluster.full_replication is None:
        return "the database does not report whether all data is replicated"
    if not cluster.full_replication:
        return "not all data is replicated"
    sick = next((t for t in data.team_trackers if t.state.healthy is not True), None)
    if sick is not None:
        return f"teams of storage servers are {sick.state.name or 'in a state that is not known'}"
    logs = [s for s in cluster.logs or () if s.current is not False]
    if not logs:
        return "the database does not report the state of its logs"
    weak = next((s for s in logs if missing_logs(s.log_fault_tolerance, s.log_replication_factor)), None)
    return "the logs tolerate fewer failures than configured" if weak is not None else None


def blind_distribution_problem(status: Status) -> str | None:
    """Return why the database's statements about its data are not from a look at it; None if they are.

    The disaster this prevents: data distribution is off, so all teams of storage servers are reported as healthy and
    none as missing; a member with data whose address is not known is down, and is removed as if it were empty.
    """
    cluster = status.cluster
    if cluster.data_distribution_disabled:
        return (
            "data distribution is off, so the database does not report what is missing (`datadistribution on` ends it)"
        )
    if cluster.data_distribution_disabled_for_ss_failures:
        return (
            "the database counts no storage server as failed, and does not report what is missing"
            " (`datadistribution enable ssfailure` ends it)"
        )
    return None


def missing_data_problem(status: Status, copies: int) -> str | None:
    """Return why the database may miss data that is on no listed process; None if it misses nothing.

    A failed storage server stays listed, as an unhealthy one, until its data is elsewhere. One in a zone in maintenance
    does not count as failed before that ends.
    """
    problem = unclear_data_problem(status) or replication_problem(status)
    if problem is not None:
        return problem
    if zone := status.cluster.maintenance_zone:
        return f"zone {zone} is in maintenance, and the database does not report what is missing there"
    for team in (status.cluster.data.team_trackers if status.cluster.data is not None else None) or ():
        if team.unhealthy_servers is None or team.state.min_replicas_remaining is None:
            return "the database does not report whether a storage server is missing"
        if team.unhealthy_servers:
            return f"{team.unhealthy_servers} of its storage servers are missing or being emptied"
        if team.state.min_replicas_remaining < copies:
            return f"some data has only {team.state.min_replicas_remaining} replicas"
    return None


def missing_logs(tolerance: int | None, factor: int | None) -> bool:
    """Return whether a log generation tolerates the loss of less than all but one replica; true if unknown."""
    return tolerance is None or factor is None or tolerance < factor - 1


def removal_problem(status: Status, seen: View | None, name: str, coordinators: Iterable[str]) -> str | None:
    """Return why an excluded member may not be removed yet; None if it holds no data.

    Even then a blocking `exclude` must succeed before the member goes: the status is a snapshot, and data may have been
    moving.
    """
    problem = unclear_data_problem(status) or replication_problem(status)
    if problem is not None or seen is None:
        return problem or "the status lists no processes"
    if name in set(coordinators):
        return f"{name} is a coordinator"
    member = seen.members.get(name)
    return absent_problem(status, seen, name) if member is None else present_problem(member)


def present_problem(member: MemberView) -> str | None:
    """Return why a member that has processes may not be removed."""
    if not member.excluded:
        return f"{member.name} is not excluded"
    if member.roles is None:
        return f"a process of {member.name} does not report its roles"
    kept = sorted(member.roles & CARRIES)
    return f"{member.name} still has the role {kept[0]}" if kept else None


def absent_problem(status: Status, seen: View, name: str) -> str | None:
    """Return why a member without a process may not count as gone."""
    if seen.strangers:
        return f"process {min(seen.strangers)} does not answer, and may belong to {name}"
    configuration = status.cluster.configuration
    excluded = configuration.excluded_servers if configuration is not None else None
    if excluded is None:
        return "the database does not list its exclusions"
    listed = any(entry.locality == locality(name) for entry in excluded)
    return None if listed else f"{name} is not excluded, and would be used again if it came back"


def draining(status: Status) -> frozenset[str]:
    """Return the members that Stateward has excluded by locality."""
    return listed(status, locality(""))


def listed(status: Status, prefix: str) -> frozenset[str]:
    """Return the suffixes of excluded localities with a prefix."""
    configuration = status.cluster.configuration
    entries = (configuration.excluded_servers if configuration is not None else None) or ()
    return frozenset(e.locality.removeprefix(prefix) for e in entries if e.locality and e.locality.startswith(prefix))


def locality(name: str) -> str:
    """Return the locality of a member for `exclude` and `include`: it covers all its processes at any address."""
    return f"locality_{LOCALITY}:{name}"


def allowed(valid: int, desired: int, ongoing: int, fault_tolerance: int) -> int:
    """Return how many more members of a class may be excluded at once.

    The count is that of FoundationDB's own operator: with 10 valid of 10 desired, none being excluded, and a fault
    tolerance of 2, it is 2. `ongoing` members are excluded and not empty yet.
    """
    return max(0, valid + fault_tolerance - desired - ongoing)


def excludable(
    members: Mapping[str, MemberView], wanted: Iterable[str], places: int, missing: Mapping[str, float]
) -> tuple[tuple[str, ...], str | None]:
    """Return the members to exclude now, all of one zone, and why the others wait.

    `missing` is the time in seconds that other members have been missing.
    """
    names = sorted(wanted)
    back = next((n for n in sorted(missing) if n not in names and missing[n] < SETTLING), None)
    if back is not None:
        return (), f"{back} has been missing for only {missing[back]:.0f} s, and may be coming back"
    if not names or places <= 0:
        return (), "the remaining members could not replace one more" if names else None
    zone = members[names[0]].zone if names[0] in members else ""
    together = [n for n in names if n == names[0] or (zone and n in members and members[n].zone == zone)]
    now = tuple(together[:places])
    waiting = len(names) - len(now)
    return now, f"{waiting} more wait until these are empty" if waiting else None
