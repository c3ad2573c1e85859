"""Reports what delays the change to a version whose processes do not talk to those of the deployed one.

`protocol` determines the changes of members for such an upgrade; this module says what it waits for, and what waits for
it.
"""

from collections.abc import Mapping

from stateward.api.values.problem import first_of
from stateward.planning.facts.facts import Facts
from stateward.planning.facts.protocol import has_both_programs
from stateward.planning.model.intent import StepResult, Wait
from stateward.planning.model.observation import Member, ProtocolSwitch
from stateward.planning.steps.membership.release import hold_leaving

NAMED = 3
"""Members that are named at once."""


def switch_waits(facts: Facts, leaving: Mapping[str, str]) -> StepResult:
    """Return the waits of the protocol switch; empty if the cluster is in none."""
    if facts.crossing is ProtocolSwitch.BESIDE:
        return StepResult(waits=(preparing(facts, leaving),))
    if facts.crossing is ProtocolSwitch.SWITCHED:
        text = (
            f"all processes change to {facts.obs.desired.version} first, at one moment, and this"
            " member must be one of them"
        )
        return hold_leaving([facts.members[name] for name in sorted(leaving)], "ProtocolSwitchFirst", text)
    return StepResult()


def preparing(facts: Facts, leaving: Mapping[str, str]) -> Wait:
    """Return whom the switch of all processes waits for."""
    wanted, members = facts.obs.desired.version, [m for m in facts.obs.members if m.alive or m.pod is not None]
    reasons = [f"{m.name} {why}" for m in members if (why := problem(facts, m, leaving))]
    first = first_of(reasons, NAMED) or "the operator asks the database first"
    text = (
        f"processes of {facts.obs.deployed_version} and of {wanted} do not talk to each other, so all"
        " processes change at one"
        f" moment, once each pod has both programs: {first}"
    )
    return Wait(facts.obs.name, "BinariesNotStaged", text)


def problem(facts: Facts, member: Member, leaving: Mapping[str, str]) -> str:
    """Return why the switch waits for a member, as a clause about it; empty when it does not."""
    draining = facts.database.draining if facts.database is not None else frozenset[str]()
    if member.name in leaving or member.name in draining or member.pool not in facts.pools:
        return "leaves first"
    if not has_both_programs(facts.pools[member.pool], member):
        return "does not have them yet"
    return "" if member.name in facts.up else "does not serve"
