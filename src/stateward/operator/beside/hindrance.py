"""What keeps a round from going on, as a reason and a sentence for the status."""

from typing import NamedTuple

from stateward.engines.connection.base import EngineError, RefusedError
from stateward.operator.beside.owned import GoingError, StopError, TakenError

HINDRANCES = (StopError, TakenError, GoingError, EngineError)
"""What a round may meet and waits for; everything else is a failure of the round."""


class Reasons(NamedTuple):
    """The reasons of one kind of thing beside clusters."""

    taken: str
    """An object of a needed name belongs to another owner."""
    going: str
    """An object of a needed name is being deleted."""
    refused: str
    """The database refuses a request, and will refuse it again."""
    unreached: str
    """The database did not answer, or not now."""


def hindrance(error: StopError | TakenError | GoingError | EngineError, reasons: Reasons) -> tuple[str, str]:
    """Return the reason and the sentence."""
    if isinstance(error, StopError):
        return error.reason, error.message
    if isinstance(error, TakenError):
        return reasons.taken, str(error)
    if isinstance(error, GoingError):
        return reasons.going, str(error)
    if isinstance(error, RefusedError) and error.lasting:
        return reasons.refused, f"the database refuses a request: {str(error)[:500]}"
    return reasons.unreached, str(error)[:500]
