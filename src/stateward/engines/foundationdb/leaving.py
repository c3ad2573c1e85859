"""Who is excluded now, of those that leave: as many as the others can take over from, and nobody while one is away."""

from collections.abc import Iterable
from dataclasses import dataclass

from stateward.api.foundationdb import ProcessClass, replicas, tolerance
from stateward.engines.foundationdb.connection import Address, ConnectionStringError, parse_address
from stateward.engines.foundationdb.exclusion import allowed, excludable, unclear
from stateward.engines.foundationdb.members import MemberView, View, view
from stateward.engines.foundationdb.picture import draining
from stateward.engines.foundationdb.status import Status
from stateward.engines.foundationdb.target import FoundationTarget


@dataclass(frozen=True, slots=True)
class Exclusions:
    """Who is excluded now, and why others, or all, have to wait."""

    members: frozenset[str] = frozenset()
    why: str = ""


def exclusions(target: FoundationTarget, status: Status, leaving: frozenset[str]) -> Exclusions:
    """Return which of the members that leave are excluded now."""
    new = leaving - draining(status)
    seen = view(status, target.known)
    doubt = unclear(status) if seen is not None else "the database lists no processes"
    if not new or doubt is not None or seen is None:
        return Exclusions(why=doubt or "" if new else "")
    found, reasons = set[str](), list[str]()
    for kind in (*ProcessClass, None):
        of_kind = [n for n in sorted(new) if class_of(seen, n) == (kind.value if kind else "")]
        places = room(target, seen, kind, draining(status)) if kind else len(of_kind)
        now, why = excludable(seen.members, of_kind, places, missing(target, status, seen, leaving))
        found |= set(now)
        reasons += [why] if why else []
    return Exclusions(frozenset(found), "; ".join(dict.fromkeys(reasons)))


def class_of(seen: View, name: str) -> str:
    """Return the process class of a member; empty where it has no process that says it."""
    kinds = {kind.value for kind in ProcessClass}
    return seen.members[name].kind if name in seen.members and seen.members[name].kind in kinds else ""


def room(target: FoundationTarget, seen: View, kind: ProcessClass, excluded: frozenset[str]) -> int:
    """Return how many more members of a class may be excluded."""
    spec = target.cluster.spec
    wanted = sum(replicas(spec, pool) for pool in spec.pools if pool.process_class is kind)
    mine = [m for m in seen.members.values() if m.kind == kind.value]
    valid = sum(m.reached and m.name not in excluded for m in mine)
    return allowed(valid, wanted, sum(busy(m) for m in mine if m.name in excluded), tolerance(spec))


def busy(member: MemberView) -> bool:
    """Return whether an excluded member still does something."""
    return member.roles is None or bool(member.roles)


def missing(target: FoundationTarget, status: Status, seen: View, leaving: frozenset[str]) -> dict[str, float]:
    """Return for how many seconds members have been away that are meant to stay; 0 where nobody knows since when."""
    now = status.client.timestamp
    away = (n for n in target.processes if n not in leaving and (n not in seen.members or not seen.members[n].reached))
    since = target.missing
    return {name: now - since[name] if now is not None and name in since else 0.0 for name in away}


def known_addresses(target: FoundationTarget, status: Status, members: Iterable[str]) -> list[Address]:
    """Return the addresses of members that are excluded as such, beside their localities."""
    configuration = status.cluster.configuration
    listed = (configuration.excluded_servers if configuration is not None else None) or ()
    mine = {address for name in members for address in target.known.get(name, ())}
    found = list[Address]()
    for entry in listed:
        try:
            address = parse_address(entry.address or "")
        except ConnectionStringError:
            continue
        if address.endpoint in mine:
            found.append(address)
    return found
