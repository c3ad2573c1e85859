"""What a campaign has to meet to be worth anything: every fault, every edit, every decision of the planner.

A simulation that never took a branch has proved nothing about it. The list is derived from the code, so a new fault,
action, state or reason is on it as soon as it exists; what the world cannot show is named here, each with its reason.
"""

from collections.abc import Collection, Iterator, Mapping

from stateward.planning import actions
from stateward.planning.intent import State
from stateward.planning.observation import Effect
from stateward.simulation.faults import FAULTS, WEATHER
from stateward.simulation.user import CHOICE, DRAWN
from stateward.simulation.wishes import REQUESTS

BY_WORD = "only databases that are made by a command, as FoundationDB: their worlds are run by tests"
CROSSING = "only versions that do not talk to each other, as those of FoundationDB: their worlds are run by tests"
NO_DATA = "nobody names a Secret or a ConfigMap of their own in these worlds, or secures the database"

OUT_OF_REACH: Mapping[str, str] = {
    "effect: reload": "nothing that the model knows is set at run time yet",
    "action: Form": BY_WORD,
    "action: Tend": BY_WORD,
    "wait: DatabaseGone": BY_WORD,
    "wait: MembersFirst": BY_WORD,
    "wait: Tending": BY_WORD,
    "wait: InMaintenance": "only databases that know of zones in maintenance, as FoundationDB",
    "wait: CrossingFirst": CROSSING,
    "wait: ProgramsBeside": CROSSING,
    "action: NoteData": NO_DATA,
    "wait: DataSettling": NO_DATA,
    "wait: DataUnknown": NO_DATA,
    "wait: SecretMissing": NO_DATA,
    "wait: SecretNotUsable": NO_DATA,
    "wait: ImageWithoutVersion": "every image that people ask for has its version in its tag",
}
"""Branches that these worlds cannot take, and why; one that is met nevertheless is to be taken off."""


def branches(reasons: Collection[str]) -> Iterator[str]:
    """Yield the name of everything that must be met, as runs count it; `reasons` are those to wait."""
    yield from (f"fault: {fault.name}" for fault in FAULTS)
    yield from (f"weather: {weather.name}" for weather in WEATHER)
    yield from (f"user: {edit.name}" for edit in CHOICE)
    yield from (f"user: {what}" for what, _, _ in REQUESTS)
    yield from DRAWN
    yield from (f"action: {kind.__name__}" for kind in kinds_of_actions())
    yield from (f"state: {state}" for state in State)
    yield from (f"effect: {effect.name.lower()}" for effect in Effect)
    yield from (f"wait: {reason}" for reason in sorted(reasons))


def kinds_of_actions() -> list[type[actions.Action]]:
    """Return every kind of action there is."""
    return sorted(actions.Action.__subclasses__(), key=lambda kind: kind.__name__)


def missed(counts: Mapping[str, int], reasons: Collection[str]) -> list[str]:
    """Return what should have been met and was not."""
    return [name for name in branches(reasons) if not counts.get(name) and name not in OUT_OF_REACH]
