"""Maintenance of the database's own settings: its redundancy mode and its coordinators."""

from collections.abc import Iterable

from stateward.api.kinds.foundationdb import Redundancy
from stateward.engines.foundationdb.database.members import View
from stateward.engines.foundationdb.database.status import Status
from stateward.engines.foundationdb.database.target import FoundationTarget
from stateward.engines.foundationdb.spec.connection import ConnectionStringError, parse_address
from stateward.engines.foundationdb.spec.coordinators import (
    Candidate,
    Choice,
    Prospect,
    choose,
    count_of,
    has_to_change,
)
from stateward.engines.foundationdb.spec.identity import member_of


def pending_settings(target: FoundationTarget, status: Status, seen: View, coordinators: frozenset[str]) -> str:
    """Return what the database needs, as a clause; empty if nothing."""
    needs = (redundancy_change(target, status), coordinator_change(target, status, seen, coordinators))
    return "; ".join(need for need in needs if need)


def redundancy_change(target: FoundationTarget, status: Status) -> str:
    """Return that the redundancy mode differs from the desired one, as a clause; empty if not."""
    found, wanted = redundancy(status), target.cluster.spec.redundancy.value
    return f"its redundancy is {found}, and {wanted} is desired" if found not in ("", wanted) else ""


def redundancy(status: Status) -> str:
    """Return the redundancy mode in force; empty if the status does not say."""
    configuration = status.cluster.configuration
    return (configuration.redundancy_mode if configuration is not None else None) or ""


def coordinator_change(target: FoundationTarget, status: Status, seen: View, coordinators: frozenset[str]) -> str:
    """Return that other coordinators are better, as a clause; empty if not."""
    fit = candidates(target, seen, frozenset())
    choice = desired_coordinators(target, status, fit, coordinators)
    if choice.members == coordinators or len(choice.members) < min(
        len(coordinators), coordinator_count(target, status)
    ):
        return ""
    if not has_to_change(coordinators, choice, fit, reachable(seen, coordinators)):
        return ""
    return f"its coordinators are {', '.join(sorted(coordinators))}, and {', '.join(sorted(choice.members))} are better"


def current_coordinators(target: FoundationTarget, status: Status) -> frozenset[str] | None:
    """Return the coordinators as members, others by their addresses; None if the status does not say."""
    known = status.client.coordinators
    if known is None or known.coordinators is None:
        return None
    try:
        return frozenset(member_of(target.cluster, parse_address(c.address)) for c in known.coordinators)
    except ConnectionStringError:
        return None


def unmovable(
    target: FoundationTarget, status: Status, seen: View, coordinators: frozenset[str], leaving: frozenset[str]
) -> str:
    """Return why coordinators cannot move away from leaving members, as a clause; empty if they can.

    There may be more than the redundancy mode needs, from a higher one: then as many as it needs are enough.
    """
    if not coordinators & leaving:
        return ""
    choice = desired_coordinators(target, status, candidates(target, seen, leaving), coordinators)
    if len(choice.members) >= min(len(coordinators), coordinator_count(target, status)):
        return ""
    names = ", ".join(sorted(coordinators & leaving))
    return f"coordinators cannot move away from {names}: {choice.problem}"


def coordinator_count(target: FoundationTarget, status: Status) -> int:
    """Return the desired number of coordinators: for the redundancy of the spec or of the database, the higher one.

    The disaster this prevents: the database does not have the lower redundancy of the spec yet, or refuses it, a
    coordinator is lost or leaves, and one coordinator is left of a database with two copies.
    """
    present = {mode.value for mode in Redundancy} & {redundancy(status)}
    return max(map(count_of, present | {target.cluster.spec.redundancy.value}))


def desired_coordinators(
    target: FoundationTarget, status: Status, fit: Iterable[Candidate], coordinators: frozenset[str]
) -> Choice:
    """Return the desired coordinators."""
    return choose(fit, coordinators, coordinator_count(target, status))


def candidates(target: FoundationTarget, seen: View, leaving: frozenset[str]) -> list[Candidate]:
    """Return the possible coordinators: only members with volumes, or the database would be lost with its pods."""
    return [
        Candidate(
            m.name,
            m.zone,
            m.kind,
            serves=m.reached,
            leaves=m.excluded or m.name in leaving,
            prospect=target.prospects.get(m.name, Prospect.STAYS),
        )
        for m in seen.members.values()
        if m.name in target.lasting
    ]


def reachable(seen: View, coordinators: frozenset[str]) -> frozenset[str]:
    """Return the coordinators with a reached process."""
    return frozenset(name for name in coordinators if name in seen.members and seen.members[name].reached)
