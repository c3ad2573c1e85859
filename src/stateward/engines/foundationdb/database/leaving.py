"""Selects the leaving members to exclude now: as many as the others can take over from, and none while one is missing.

The other leaving members wait, and the observation says why. This is not an error: an error would end the round, and
with it the work for other members.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from stateward.api.kinds.foundationdb import COPIES, ProcessClass, replicas, tolerance
from stateward.engines.foundationdb.database.commands import MARK
from stateward.engines.foundationdb.database.exclusion import (
    SETTLING,
    allowed,
    draining,
    excludable,
    listed,
    missing_data_problem,
    unclear_data_problem,
)
from stateward.engines.foundationdb.database.members import MemberView, View, view
from stateward.engines.foundationdb.database.status import Status
from stateward.engines.foundationdb.database.target import FoundationTarget
from stateward.engines.foundationdb.database.upkeep import current_coordinators, unmovable
from stateward.engines.foundationdb.spec.connection import Address, ConnectionStringError, parse_address


@dataclass(frozen=True, slots=True)
class Exclusions:
    """The members to exclude now, and why others, or all, have to wait."""

    members: frozenset[str] = frozenset()
    why: str = ""


def exclusions(target: FoundationTarget, status: Status, leaving: frozenset[str]) -> Exclusions:
    """Return which of the leaving members to exclude now."""
    new = leaving - draining(status)
    seen, coordinators = view(status, target.known), current_coordinators(target, status)
    if not new or seen is None or coordinators is None:
        return Exclusions(why="the database lists no processes, or no coordinators" if new else "")
    doubt = unclear_data_problem(status)
    if doubt is not None:
        return Exclusions(why=doubt)
    found, reasons = set[str](), list[str]()
    for kind in (*ProcessClass, None):
        of_kind = [n for n in sorted(new) if class_of(seen, n) == (kind.value if kind else "")]
        places = room_to_exclude(target, seen, kind, draining(status)) if kind else len(of_kind)
        now, why = excludable(seen.members, of_kind, places, seconds_missing(target, status, seen, leaving))
        found |= set(now)
        reasons += [why] if why else []
    stuck = unmovable(target, status, seen, coordinators, leaving)
    if stuck:
        found -= coordinators
        reasons.append(stuck)
    return Exclusions(frozenset(found), "; ".join(dict.fromkeys(reasons)))


def problems_to_leave(
    target: FoundationTarget, status: Status, seen: View, coordinators: frozenset[str]
) -> dict[str, str]:
    """Return for each member why it would not be excluded now if it were the next to leave; empty if it would be."""
    doubt, before = unclear_data_problem(status), draining(status)
    everybody = sorted(seen.members.keys() | target.processes.keys())
    if doubt is not None:
        return dict.fromkeys(everybody, doubt)
    away = seconds_missing(target, status, seen, before)
    places = {kind.value: room_to_exclude(target, seen, kind, before) for kind in ProcessClass}
    found = dict[str, str]()
    for name in everybody:
        _, why = excludable(seen.members, (name,), places.get(class_of(seen, name), 1), away)
        found[name] = why or unmovable(target, status, seen, coordinators, frozenset({name}))
    return found


def class_of(seen: View, name: str) -> str:
    """Return the process class of a member; empty if no process reports it."""
    kinds = {kind.value for kind in ProcessClass}
    return seen.members[name].kind if name in seen.members and seen.members[name].kind in kinds else ""


def room_to_exclude(target: FoundationTarget, seen: View, kind: ProcessClass, excluded: frozenset[str]) -> int:
    """Return how many more members of a class may be excluded."""
    spec = target.cluster.spec
    wanted = sum(replicas(spec, pool) for pool in spec.pools if pool.process_class is kind)
    mine = [m for m in seen.members.values() if m.kind == kind.value]
    valid = sum(m.reached and m.name not in excluded for m in mine)
    return allowed(valid, wanted, sum(busy(m) for m in mine if m.name in excluded), tolerance(spec))


def busy(member: MemberView) -> bool:
    """Return whether an excluded member still has a role, or does not report its roles."""
    return member.roles is None or bool(member.roles)


def seconds_missing(target: FoundationTarget, status: Status, seen: View, leaving: frozenset[str]) -> dict[str, float]:
    """Return the seconds for which members that should stay have been missing; 0 if the start is not known.

    A member that has never joined does not count: it may wait for the place of one that leaves.
    """
    now = status.client.timestamp
    stay = target.processes.keys() - leaving - target.fresh
    away = (n for n in stay if n not in seen.members or not seen.members[n].reached)
    since = target.missing
    return {name: now - since[name] if now is not None and name in since else 0.0 for name in away}


def excluded_by_users(status: Status) -> frozenset[str]:
    """Return the endpoints that users have excluded: all that are excluded by address, and not for a proof."""
    configuration = status.cluster.configuration
    entries = (configuration.excluded_servers if configuration is not None else None) or ()
    found = parsed(entry.address or "" for entry in entries)
    return frozenset(a.endpoint for a in found) - {a.endpoint for a in marked(status)}


def marked(status: Status) -> list[Address]:
    """Return the addresses that are still excluded for an unfinished proof."""
    return parsed(sorted(listed(status, MARK)))


def addresses_to_prove(target: FoundationTarget, status: Status, name: str) -> tuple[Address, ...]:
    """Return the addresses that prove a member empty for its processes that are not there; empty if they prove nothing.

    All must be known, also those of before its pod, and no other process may have one of them now.
    """
    earlier = target.earlier.get(name)
    if earlier is not None and not earlier:
        return ()
    seen = view(status, target.known)
    own = seen.members[name].addresses if seen is not None and name in seen.members else frozenset[str]()
    listed_now = {(process.address or "").removesuffix(":tls") for process in (status.cluster.processes or {}).values()}
    mine = {address.removesuffix(":tls") for address in own}
    asked = parsed(sorted(target.known.get(name, frozenset()) | (earlier or frozenset())))
    missing = [a for a in asked if a.endpoint not in mine]
    return tuple(missing) if all(a.endpoint not in listed_now for a in missing) else ()


def address_problem(target: FoundationTarget, status: Status, seen: View, name: str) -> str | None:
    """Return why a member without a process and without an address may not count as empty; None if it may.

    No blocking `exclude` can prove it. So the database must be whole without it, with no missing storage server, for as
    long as a member may be coming back, and since a zone was last in maintenance: the database counts losses there only
    a while after the end. Its locality is excluded, so it gets no new data either.
    """
    unproved = f"the address of {name} is not known, so the operator cannot ask the database about it"
    if name in seen.members or addresses_to_prove(target, status, name):
        return "the database has not confirmed yet that it holds no data"
    problem = missing_data_problem(status, COPIES[target.cluster.spec.redundancy])
    if problem is not None:
        return f"{unproved}, and {problem}"
    now, since = status.client.timestamp, target.silent.get(name)
    if now is None or since is None:
        return f"{unproved}, and neither is the time since which it has been unavailable"
    if now - max(since, target.maintenance_end or since) < SETTLING:
        return f"{unproved}; it leaves when the database has been healthy without it for {SETTLING:.0f} s"
    return None


def parsed(texts: Iterable[str]) -> list[Address]:
    """Return the addresses among texts."""
    found = list[Address]()
    for text in texts:
        try:
            found.append(parse_address(text))
        except ConnectionStringError:
            continue
    return found
