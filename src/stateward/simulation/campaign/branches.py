"""Coverage of a campaign: each fault, edit, and decision of the planner that its runs should reach.

A simulation that never reached a branch has proved nothing about it. The list follows from the code, so it contains a
new fault, action, state or reason as soon as it exists. Exceptions are listed here, each with its reason. The worlds of
FoundationDB must reach what other worlds cannot: their own faults and edits, and the decisions for such a database.
"""

from collections.abc import Collection, Iterator, Mapping

from stateward.planning.model import actions
from stateward.planning.model.intent import State
from stateward.planning.model.observation import Effect
from stateward.simulation.campaign.engine_setups import ENGINE_SETUPS, FOUNDATIONDB
from stateward.simulation.users.declared.database_users import DATABASE_USER_EDITS
from stateward.simulation.users.declared.people import DECLARATIONS
from stateward.simulation.users.declared.snapshots import SNAPSHOT_EDITS
from stateward.simulation.users.member_requests import REQUESTS
from stateward.simulation.users.user import DRAWN
from stateward.simulation.world.engine_products import DEFAULT

EXPLICIT_BOOTSTRAP = "only databases that a command creates, such as FoundationDB"
INCOMPATIBLE_VERSIONS = "only incompatible versions, such as those of FoundationDB"
NO_DATA = "in these worlds no user references a Secret or a ConfigMap, or enables TLS"

ONLY_FOUNDATIONDB: Mapping[str, str] = {
    "action: CreateDatabase": EXPLICIT_BOOTSTRAP,
    "action: ConfigureDatabase": EXPLICIT_BOOTSTRAP,
    "wait: DatabaseGone": EXPLICIT_BOOTSTRAP,
    "wait: MembersFirst": EXPLICIT_BOOTSTRAP,
    "wait: DatabaseChangePending": EXPLICIT_BOOTSTRAP,
    "wait: InMaintenance": "only databases with maintenance zones, such as FoundationDB",
    "wait: RemovalPaced": "only databases with a pause between two removals, such as FoundationDB by default",
    "wait: ClusterFileLost": "only FoundationDB has a cluster file",
    "wait: ProofRefused": "only FoundationDB is asked for a proof that a member is empty",
    "wait: SecurityFixed": "only FoundationDB cannot change this setting later; scenarios cover it",
    "wait: ProtocolSwitchFirst": INCOMPATIBLE_VERSIONS,
    "wait: BinariesNotStaged": INCOMPATIBLE_VERSIONS,
}
"""Branches that only worlds with FoundationDB reach, and why."""

OUT_OF_REACH: Mapping[str, str] = {
    "effect: reload": "the model has no setting that changes at run time",
    "action: RecordData": NO_DATA,
    "wait: DataChanging": NO_DATA,
    "wait: DataUnknown": NO_DATA,
    "wait: SecretMissing": NO_DATA,
    "wait: SecretNotUsable": NO_DATA,
    "wait: ImageWithoutVersion": "every image in a drawn spec has its version in its tag",
    **ONLY_FOUNDATIONDB,
}
"""Branches that worlds with shards cannot reach, and why. Remove one that is reached after all."""

BEYOND_FOUNDATIONDB: Mapping[str, str] = {
    "wait: ClusterFileLost": "users seldom delete its Secret just while the database is unavailable; a scenario does",
    "wait: SecurityFixed": "no user switches TLS; scenarios do",
    "wait: ProofRefused": "the disks of these worlds are never too full for an exclusion that was accepted before",
    "wait: DatabaseGone": "it needs the loss of most coordinators, which loses the data; scenarios cover it",
}
"""Branches that worlds with FoundationDB cannot reach, and why."""


def branches(reasons: Collection[str], engine: str = DEFAULT.engine) -> Iterator[str]:
    """Yield the counter name of each fault, edit and decision that the runs of an engine should reach.

    `reasons` are the wait reasons.
    """
    setup = ENGINE_SETUPS[engine]
    yield from (f"fault: {fault.name}" for fault in setup.faults)
    yield from (f"lasting fault: {lasting_faults.name}" for lasting_faults in setup.lasting_faults)
    if setup.declared_faults:
        yield from (f"fault: {fault.name}" for fault in setup.declared_faults)
        yield from (f"user: {what}" for what in (*DECLARATIONS, *SNAPSHOT_EDITS, *DATABASE_USER_EDITS))
    drawn = {name for profile in setup.profiles for name in profile.edits}
    yield from (f"user: {edit.name}" for edit in setup.edits if edit.weight or edit.name in drawn)
    yield from (f"user: {what}" for what, _, _ in REQUESTS)
    yield from DRAWN
    yield from ONLY_FOUNDATIONDB if engine == FOUNDATIONDB else decisions(reasons)


def decisions(reasons: Collection[str]) -> Iterator[str]:
    """Yield the counter name of each decision of the planner."""
    yield from (f"action: {kind.__name__}" for kind in kinds_of_actions())
    yield from (f"state: {state}" for state in State)
    yield from (f"effect: {effect.name.lower()}" for effect in Effect)
    yield from (f"wait: {reason}" for reason in sorted(reasons))


def kinds_of_actions() -> list[type[actions.Action]]:
    """Return every kind of action."""
    return sorted(actions.Action.__subclasses__(), key=lambda kind: kind.__name__)


def out_of_reach(engine: str = DEFAULT.engine) -> Mapping[str, str]:
    """Return the branches that the worlds of an engine cannot reach, and why."""
    return BEYOND_FOUNDATIONDB if engine == FOUNDATIONDB else OUT_OF_REACH


def not_covered(counts: Mapping[str, int], reasons: Collection[str], engine: str = DEFAULT.engine) -> list[str]:
    """Return the branches that should have been reached and were not."""
    never = out_of_reach(engine)
    return [name for name in branches(reasons, engine) if not counts.get(name) and name not in never]
