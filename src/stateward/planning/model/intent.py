"""A plan's report about each member and about everything that is held back."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

from msgspec import Struct

from stateward.planning.model.actions import Action
from stateward.planning.model.observation import Effect, Member


class State(StrEnum):
    """The state of a member on the way to its desired state."""

    READY = "Ready"
    CREATING = "Creating"
    STARTING = "Starting"
    WAITING = "Waiting"
    PREPARING = "Preparing"
    RESTARTING = "Restarting"
    REPAIRING = "Repairing"
    DRAINING = "Draining"
    LEAVING = "Leaving"
    GROWING = "Growing"
    DOWN = "Down"
    STOPPED = "Stopped"


class Absence(StrEnum):
    """Why a member does not serve."""

    NONE = ""
    """It serves, or the user keeps it stopped."""
    PLANNED = "Planned"
    """A step of the operator takes it down until it serves again, or it is new; nothing has gone wrong so far."""
    UNPLANNED = "Unplanned"


class Intent(Struct, frozen=True):
    """The one thing that a plan means to do with a member, in one sentence."""

    member: str
    pool: str
    state: State
    effect: Effect = Effect.NONE
    sentence: str = ""


class Wait(Struct, frozen=True):
    """Something held back: what it is about, a reason in one word for machines, and a sentence for people."""

    subject: str
    reason: str
    message: str
    stalled: bool = False
    """Whether manual intervention is required."""


class StepResult(Struct, frozen=True):
    """What one question of the plan answered."""

    actions: tuple[Action, ...] = ()
    intents: Mapping[str, Intent] = {}
    """Members that this question has claimed: no later question may touch them."""
    otherwise: Mapping[str, Intent] = {}
    """What to say of members that this question holds back, if no later question claims them."""
    waits: tuple[Wait, ...] = ()
    drain: frozenset[str] = frozenset()
    """Members whose data has to move away for this part."""
    exclude: frozenset[str] = frozenset()
    """Members that must not vote for this part."""


NOTHING = StepResult()


def merge(*parts: StepResult) -> StepResult:
    """Return parts as one; if two claim a member, the later one has it."""
    parts = tuple(part for part in parts if part != NOTHING)
    if len(parts) < 2:
        return parts[0] if parts else NOTHING
    return StepResult(
        actions=tuple(action for part in parts for action in part.actions),
        intents={name: intent for part in parts for name, intent in part.intents.items()},
        otherwise={name: intent for part in parts for name, intent in part.otherwise.items()},
        waits=tuple(wait for part in parts for wait in part.waits),
        drain=frozenset[str]().union(*(part.drain for part in parts)),
        exclude=frozenset[str]().union(*(part.exclude for part in parts)),
    )


def intents_for(state: State, members: Iterable[Member], effect: Effect, sentence: str) -> dict[str, Intent]:
    """Return one intent for each member; `{}` in the sentence stands for its name."""
    return {m.name: Intent(m.name, m.pool, state, effect, sentence.replace("{}", m.name)) for m in members}
