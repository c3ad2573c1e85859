"""The conditions of a cluster: Ready, Reconciling and Stalled as kstatus defines them, and Available and Upgrading."""

from stateward.api.kinds.status import ClusterStatus
from stateward.api.values.base import Condition
from stateward.planning.facts.facts import Facts
from stateward.planning.facts.upgrade_order import upgrading
from stateward.planning.model.intent import State, Wait
from stateward.planning.model.observation import Database, Health, Observation, Unknown
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
    available = "Unknown" if unknown else ("True" if serving else "False")
    reconciling = not plan.settled and stalled is None
    pace = "Settled" if plan.settled else ("InProgress" if reconciling else "Stalled")
    verdicts = [
        ("Ready", "True" if plan.settled else "False", "Settled" if plan.settled else "InProgress", plan.activity),
        ("Reconciling", "True" if reconciling else "False", pace, plan.activity),
        (
            "Stalled",
            "True" if stalled else "False",
            stalled.reason if stalled else "Progressing",
            stalled.message if stalled else "",
        ),
        ("Available", available, availability(obs), unknown),
        (
            "Upgrading",
            "True" if upgrading(obs) else "False",
            "VersionChange",
            f"to {obs.desired.version}" if upgrading(obs) else "",
        ),
    ]
    return [condition(obs, before, verdict, now) for verdict in verdicts]


def availability(obs: Observation) -> str:
    """Return the reason of the Available condition."""
    if isinstance(obs.database, Unknown):
        return "DatabaseUnknown"
    return "Serving" if obs.database.health is not Health.RED else "ShardsWithoutCopy"


def stuck_member(facts: Facts, plan: Plan) -> Wait | None:
    """Return the member that does not start and thereby holds a change up."""
    for intent in plan.intents.values():
        member = facts.members.get(intent.member)
        if intent.state is State.DOWN and member is not None and facts.trouble(member):
            return Wait(intent.member, "MemberDoesNotStart", intent.sentence, stalled=True)
    return None


def condition(obs: Observation, before: ClusterStatus, verdict: tuple[str, str, str, str], now: float) -> Condition:
    """Return one condition; the transition time is kept while its status stays the same."""
    kind, value, reason, message = verdict
    earlier = next((c for c in before.conditions if c.type == kind), None)
    kept = earlier.last_transition_time if earlier is not None and earlier.status == value else ""
    return Condition(
        type=kind,
        status=value,
        reason=reason,
        message=message,
        observed_generation=obs.generation,
        last_transition_time=kept or rfc3339(now),
    )
