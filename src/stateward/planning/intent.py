"""What a plan says about each member and about everything that is held back."""

from enum import StrEnum

from msgspec import Struct

from stateward.planning.actions import Action
from stateward.planning.observation import Effect


class State(StrEnum):
    """Where a member stands on its way to what it should be."""

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
    """Whether it will not go on without a person."""


class Part(Struct, frozen=True):
    """What one question of the plan answered."""

    actions: tuple[Action, ...] = ()
    intents: dict[str, Intent] = {}
    waits: tuple[Wait, ...] = ()
    drain: frozenset[str] = frozenset()
    """Members that data has to move away from for this part."""
    exclude: frozenset[str] = frozenset()
    """Members that must not vote for this part."""


def merge(first: Part, second: Part) -> Part:
    """Return two parts as one."""
    return Part(
        actions=first.actions + second.actions,
        intents={**first.intents, **second.intents},
        waits=first.waits + second.waits,
        drain=first.drain | second.drain,
        exclude=first.exclude | second.exclude,
    )
