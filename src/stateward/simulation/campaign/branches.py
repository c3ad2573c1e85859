"""Coverage of a campaign: every fault, every edit, every decision of the planner.

A simulation that never reached a branch has proved nothing about it. The list is derived from the code, so a new fault,
action, state or reason is on it as soon as it exists; exceptions are named here, each with its reason. The worlds of
FoundationDB have to reach what no other world does: their own faults and edits, and the decisions that only such a
database needs.
"""

from collections.abc import Collection, Iterator, Mapping

from stateward.planning.model import actions
from stateward.planning.model.intent import State
from stateward.planning.model.observation import Effect
from stateward.simulation.campaign.engine_setups import ENGINE_SETUPS, FOUNDATIONDB
from stateward.simulation.users.member_requests import REQUESTS
from stateward.simulation.users.user import DRAWN
from stateward.simulation.world.engine_products import DEFAULT

EXPLICIT_BOOTSTRAP = "only databases that are made by a command, as FoundationDB"
INCOMPATIBLE_VERSIONS = "only versions that do not talk to each other, as those of FoundationDB"
NO_DATA = "nobody names a Secret or a ConfigMap of their own in these worlds, or secures the database"

ONLY_FOUNDATIONDB: Mapping[str, str] = {
    "action: CreateDatabase": EXPLICIT_BOOTSTRAP,
    "action: ConfigureDatabase": EXPLICIT_BOOTSTRAP,
    "wait: DatabaseGone": EXPLICIT_BOOTSTRAP,
    "wait: MembersFirst": EXPLICIT_BOOTSTRAP,
    "wait: Tending": EXPLICIT_BOOTSTRAP,
    "wait: InMaintenance": "only databases that know of zones in maintenance, as FoundationDB",
    "wait: RemovalPaced": "only databases with a wait between two members that leave, as FoundationDB has by default",
    "wait: ClusterFileLost": "only FoundationDB has a cluster file",
    "wait: SecurityFixed": "only FoundationDB keeps what it was made with; scenarios show it",
    "wait: CrossingFirst": INCOMPATIBLE_VERSIONS,
    "wait: ProgramsBeside": INCOMPATIBLE_VERSIONS,
}
"""Branches that only worlds with FoundationDB can take, and why."""

OUT_OF_REACH: Mapping[str, str] = {
    "effect: reload": "nothing that the model knows is set at run time yet",
    "action: RecordData": NO_DATA,
    "wait: DataSettling": NO_DATA,
    "wait: DataUnknown": NO_DATA,
    "wait: SecretMissing": NO_DATA,
    "wait: SecretNotUsable": NO_DATA,
    "wait: ImageWithoutVersion": "every image that people ask for has its version in its tag",
    **ONLY_FOUNDATIONDB,
}
"""Branches that worlds with shards cannot take, and why; one that is met nevertheless is to be taken off."""

BEYOND_FOUNDATIONDB: Mapping[str, str] = {
    "wait: ClusterFileLost": "nobody deletes its Secret while the database is away; a scenario does",
    "wait: SecurityFixed": "nobody switches TLS; scenarios do",
    "wait: DatabaseGone": "whoever loses the volumes of most coordinators has lost the data; scenarios show it",
}
"""The same of worlds with FoundationDB."""


def branches(reasons: Collection[str], engine: str = DEFAULT.engine) -> Iterator[str]:
    """Yield the name of everything that runs of an engine are there to meet, as they count it.

    `reasons` are those to wait.
    """
    setup = ENGINE_SETUPS[engine]
    yield from (f"fault: {fault.name}" for fault in setup.faults)
    yield from (f"lasting fault: {lasting_faults.name}" for lasting_faults in setup.lasting_faults)
    yield from (f"user: {edit.name}" for edit in setup.edits)
    yield from (f"user: {what}" for what, _, _ in REQUESTS)
    yield from DRAWN
    yield from ONLY_FOUNDATIONDB if engine == FOUNDATIONDB else decisions(reasons)


def decisions(reasons: Collection[str]) -> Iterator[str]:
    """Yield the name of everything that the planner may decide."""
    yield from (f"action: {kind.__name__}" for kind in kinds_of_actions())
    yield from (f"state: {state}" for state in State)
    yield from (f"effect: {effect.name.lower()}" for effect in Effect)
    yield from (f"wait: {reason}" for reason in sorted(reasons))


def kinds_of_actions() -> list[type[actions.Action]]:
    """Return every kind of action."""
    return sorted(actions.Action.__subclasses__(), key=lambda kind: kind.__name__)


def out_of_reach(engine: str = DEFAULT.engine) -> Mapping[str, str]:
    """Return what the worlds of an engine cannot show, and why."""
    return BEYOND_FOUNDATIONDB if engine == FOUNDATIONDB else OUT_OF_REACH


def not_covered(counts: Mapping[str, int], reasons: Collection[str], engine: str = DEFAULT.engine) -> list[str]:
    """Return what should have been met and was not."""
    never = out_of_reach(engine)
    return [name for name in branches(reasons, engine) if not counts.get(name) and name not in never]
