"""Creates a database that needs a command for it: once, and only if it does not exist.

    reported as never created ──recorded in the status──▶ recorded ──created, once all members run──▶ formed

No answer, or a partial answer, is not such a report. The report is not enough either if the database was formed before:
then its coordinators have lost their state, and a new, empty database would destroy the old one.

Some versions report nothing at all of a database that was never created, and the same of one that is down. Then it is
created only if neither the status nor a member has any record of it, and with a command that the database refuses if it
exists. The disaster this prevents: a database that is down is taken for one that was never there.
"""

from collections.abc import Container, Sequence

from stateward.planning.facts.facts import Facts
from stateward.planning.model.actions import CreateDatabase, RecordBootstrap
from stateward.planning.model.intent import StepResult, Wait
from stateward.planning.model.observation import Member, Unformed
from stateward.planning.steps.rollout.default_intent import not_serving

NAMED = 3
"""Members that are named at once."""


def create_database(facts: Facts, leaving: Container[str]) -> StepResult:
    """Return what the making of the database needs now; only for a database that is not there.

    It waits for no member that is `leaving`: such a one may be the reason why the user has made the spec smaller.
    """
    grant, found = facts.obs.bootstrap, facts.obs.database
    if not isinstance(found, Unformed):
        return StepResult()
    if not found.certain and (facts.remembered or facts.obs.deployed_version):
        return StepResult()  # It existed, so it is down: nothing is known of it until it answers.
    if grant is not None and grant.formed:
        return StepResult(waits=(lost_database(facts),))
    there = (m for m in facts.obs.members if m.alive and m.pool in facts.pools)
    members = [m for m in there if m.name not in leaving]
    wait = members_not_ready(facts, members)
    if wait is not None:
        return StepResult(waits=(wait,))
    if grant is None:
        first = min(members, key=lambda m: m.name)
        why = "the database was never created, and all its members run"
        return StepResult(actions=(RecordBootstrap(why=why, member=first.name, volume=volume(first)),))
    return StepResult(actions=(CreateDatabase(why="its creation is recorded, and it does not exist yet"),))


def members_not_ready(facts: Facts, members: Sequence[Member]) -> Wait | None:
    """Return what the creation waits for: all members, so that the first copies are placed correctly."""
    wanted = sum(pool.replicas for pool in facts.obs.desired.pools)
    away = [m for m in members if m.pod is None or m.pod.terminating or not m.pod.ready]
    reasons = [not_serving(facts, m)[1] for m in away[:NAMED]]
    if len(away) > NAMED:
        reasons.append(f"{len(away) - NAMED} more are not ready")
    if len(members) < wanted or not members:
        reasons.append(f"{len(members)} of {wanted} members exist")
    text = f"the database is created when all its members run: {'; '.join(reasons)}"
    return Wait(facts.obs.name, "MembersFirst", text) if reasons else None


def volume(member: Member) -> str:
    """Return what the record is tied to."""
    return member.claim.ref.uid if member.claim is not None else ""


def lost_database(facts: Facts) -> Wait:
    """Return the stall for a database that existed and now reports that it was never created."""
    text = (
        "the database reports that it was never created, though it was: the volumes of its coordinators are gone"
        " or were exchanged; the operator does not create it again, because that would make the data on"
        " other volumes useless"
    )
    return Wait(facts.obs.name, "DatabaseGone", text, stalled=True)
