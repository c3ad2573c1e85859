"""The tone of a state: how urgent it looks. The page adds an icon and the word: no meaning is in colour alone."""

from enum import StrEnum

from stateward.api.kinds.status import MemberStatus
from stateward.planning.model.intent import State
from stateward.planning.report.comes_back import comes_back


class Tone(StrEnum):
    """The urgency of a state."""

    GOOD = "good"
    BUSY = "busy"
    WAIT = "wait"
    BAD = "bad"
    OFF = "off"
    UNKNOWN = "unknown"


_HEALTH = {"green": Tone.GOOD, "yellow": Tone.WAIT, "red": Tone.BAD}
_STATES = {State.READY: Tone.GOOD, State.WAITING: Tone.WAIT, State.DOWN: Tone.BAD, State.STOPPED: Tone.OFF}


def tone_of_health(health: str) -> Tone:
    """Return the tone of a database's health."""
    return _HEALTH.get(health, Tone.UNKNOWN)


def tone_of_member(member: MemberStatus) -> Tone:
    """Return the tone of a member's state."""
    if is_missing(member):
        return Tone.BAD
    return Tone.BUSY if comes_back(member) else _tone(member.state)


def state_word(member: MemberStatus) -> str:
    """Return a member's state in one word."""
    if comes_back(member) and member.state == State.DOWN:
        return "Stopping"
    return "Missing" if is_missing(member) else member.state


def is_missing(member: MemberStatus) -> bool:
    """Return whether a member is missing and no step of the operator is the cause, as in a restart."""
    return bool(member.missing_since_time) and not comes_back(member) and _tone(member.state) is not Tone.BUSY


def _tone(state: str) -> Tone:
    return _STATES.get(State(state), Tone.BUSY) if state in set(State) else Tone.UNKNOWN
