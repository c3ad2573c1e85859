"""The conditions of a cluster: Ready, Reconciling and Stalled as kstatus defines them, and Available and Upgrading."""

from stateward.api.kinds.status import ClusterStatus
from stateward.api.values.base import Condition
from stateward.api.values.conditions import condition, dated
from stateward.planning.facts.facts import OVERDUE, Facts
from stateward.planning.facts.upgrade_order import upgrading
from stateward.planning.model.intent import State, Wait
from stateward.planning.model.observation import Database, Health, Member, Observation, Unknown
from stateward.planning.model.times import rfc3339
from stateward.planning.plan import Plan


def conditions(facts: Facts, plan: Plan, before: ClusterStatus, now: float) -> list[Condition]:
    """Return the conditions: Ready, Reconciling and Stalled as kstatus defines them, Available and Upgrading.

    Reconciling and Stalled are never both True: tools that wait for a cluster would wait forever instead of reporting
    the failure.
    """
    obs = facts.obs
    stalled = next((w for w in plan.waits if w.stalled), None) or stuck_member(facts, plan)
    database = obs.database
    unknown = database.why if isinstance(database, Unknown) else ""
    serving = isinstance(database, Database) and database.health is not Health.RED
    reconciling = not plan.settled and stalled is None
    pace = "Settled" if plan.settled else ("InProgress" if reconciling else "Stalled")
    changes = upgrading(obs)
    made = [
        condition("Ready", plan.settled, "Settled" if plan.settled else "InProgress", plan.activity),
        condition("Reconciling", reconciling, pace, plan.activity),
        condition(
            "Stalled", stalled is not None, *((stalled.reason, stalled.message) if stalled else ("Progressing",))
        ),
        condition("Available", None if unknown else serving, availability(obs), unknown),
        condition("Upgrading", changes, "VersionChange", f"to {obs.desired.version}" if changes else ""),
    ]
    return dated(made, before.conditions, obs.generation, rfc3339(now))


def availability(obs: Observation) -> str:
    """Return the reason of the Available condition."""
    if isinstance(obs.database, Unknown):
        return "DatabaseUnknown"
    return "Serving" if obs.database.health is not Health.RED else "ShardsWithoutCopy"


def stuck_member(facts: Facts, plan: Plan) -> Wait | None:
    """Return the member that does not start and thereby holds a change up."""
    for intent in plan.intents.values():
        member = facts.members.get(intent.member)
        if member is None:
            continue
        if intent.state is State.DOWN and facts.trouble(member):
            return Wait(intent.member, "MemberDoesNotStart", intent.sentence, stalled=True)
        if intent.state is State.STARTING and ends_again(facts, member):
            text = f"{intent.member} does not start: its container ends again and again"
            return Wait(intent.member, "MemberDoesNotStart", text, stalled=True)
    return None


def ends_again(facts: Facts, member: Member) -> bool:
    """Return whether a member has not served for long, and its container has ended meanwhile.

    The disaster this prevents: a process ends a minute after each start. Between two starts the kubelet waits for at
    most five minutes, in which the member is stuck; in each of these minutes it is not, so no alert ever fires.
    """
    return facts.overdue(member) and member.pod is not None and facts.now - member.pod.ended <= OVERDUE
