"""Whether members may be excluded, and whether one that was excluded may be removed: predicates that return why not.

The disasters that these prevent: a member that is removed while it still holds the only replica of something, because
the status was old, partial, or taken while logs of an earlier generation were still needed; and more members excluded
than the others can take over from.
"""

from collections.abc import Iterable, Mapping

from stateward.engines.foundationdb.database.members import LOCALITY, MemberView, View
from stateward.engines.foundationdb.database.status import Status

DOUBTFUL = ("unreadable_configuration", "full_replication_timeout", "storage_servers_error", "log_servers_error")
"""Messages with which nothing that the status says about data is certain."""
SETTLING = 300.0
"""Seconds for which a process has to be missing before others are excluded: it may be on its way back."""

CARRIES = frozenset({"storage", "log", "coordinator"})
"""Roles that keep something on the disk of their process."""


def unclear(status: Status) -> str | None:
    """Return why nothing is to be concluded from a status about where data is; None when it is whole."""
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


def replicated(status: Status) -> str | None:
    """Return why data is not fully replicated, or not known to be; None when it is."""
    cluster = status.cluster
    data = cluster.data
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


def whole(status: Status, copies: int) -> str | None:
    """Return why the database may miss something that is on no process that it lists; None when it misses nothing.

    A storage server that failed stays one of its servers, as an unhealthy one, until everything is elsewhere.
    """
    problem = unclear(status) or replicated(status)
    if problem is not None:
        return problem
    for team in (status.cluster.data.team_trackers if status.cluster.data is not None else None) or ():
        if team.unhealthy_servers is None or team.state.min_replicas_remaining is None:
            return "the database does not report whether a storage server is missing"
        if team.unhealthy_servers:
            return f"{team.unhealthy_servers} of its storage servers are missing or being emptied"
        if team.state.min_replicas_remaining < copies:
            return f"some data has only {team.state.min_replicas_remaining} replicas"
    return None


def missing_logs(tolerance: int | None, factor: int | None) -> bool:
    """Return whether a generation of logs bears less than all but one of its replicas; true where it does not say."""
    return tolerance is None or factor is None or tolerance < factor - 1


def removal_problem(status: Status, seen: View | None, name: str, coordinators: Iterable[str]) -> str | None:
    """Return why an excluded member may not be removed yet; None when it holds nothing any more.

    Even then a blocking `exclude` has to answer that it is complete before the member goes: this is a snapshot, and
    data may have been on its way.
    """
    problem = unclear(status) or replicated(status)
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
    """Return why a member without a process may not be taken to be gone."""
    if seen.strangers:
        return f"process {min(seen.strangers)} does not answer, and may belong to {name}"
    configuration = status.cluster.configuration
    excluded = configuration.excluded_servers if configuration is not None else None
    if excluded is None:
        return "the database does not list its exclusions"
    listed = any(entry.locality == locality(name) for entry in excluded)
    return None if listed else f"{name} is not excluded, and would be used again if it came back"


def draining(status: Status) -> frozenset[str]:
    """Return the members that are excluded, by the localities that Stateward excludes by."""
    return listed(status, locality(""))


def listed(status: Status, prefix: str) -> frozenset[str]:
    """Return what stands behind a prefix in the localities that are excluded."""
    configuration = status.cluster.configuration
    entries = (configuration.excluded_servers if configuration is not None else None) or ()
    return frozenset(e.locality.removeprefix(prefix) for e in entries if e.locality and e.locality.startswith(prefix))


def locality(name: str) -> str:
    """Return how a member is named to `exclude` and `include`: all its processes, wherever they come back."""
    return f"locality_{LOCALITY}:{name}"


def allowed(valid: int, desired: int, ongoing: int, fault_tolerance: int) -> int:
    """Return how many more members of a class may be excluded at once.

    As FoundationDB's own operator counts: 10 that are valid of 10 that are wanted, none being excluded, with a fault
    tolerance of 2, leave 2. `ongoing` are excluded and not empty yet.
    """
    return max(0, valid + fault_tolerance - desired - ongoing)


def excludable(
    members: Mapping[str, MemberView], wanted: Iterable[str], places: int, missing: Mapping[str, float]
) -> tuple[tuple[str, ...], str | None]:
    """Return which of the wanted members are excluded now, all of one zone, and why the others wait.

    `missing` says for how many seconds members have been missing that are not among the wanted.
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
