"""Each guard of declared users that is removed is found by a storm with a secured cluster."""

import pytest

from stateward.simulation.campaign.campaign import attempt
from stateward.simulation.campaign.run import Plan
from tests.simulation.declared import guards, user_guards
from tests.simulation.declared.guards import Removal
from tests.simulation.declared.test_guards import TRIES

pytestmark = pytest.mark.simulation


@pytest.mark.parametrize(
    ("removal", "letter", "message", "first"),
    [
        (guards.unknown_versions, "k", "the user ", 6),
        (guards.existing, "l", "the user ", 2),
        (user_guards.claimed, "m", "has not written", 24),
        (user_guards.kept, "m", "the user ", 7),
        (user_guards.removed, "m", "is left in the database", 2),
        (user_guards.retired, "g", "still has", 1),
        (user_guards.secret_of_others, "f", "belongs to others", 1),
        (user_guards.secrecy, "n", "", 1),
        (user_guards.followed, "g", "SearchUser", 2),
        (user_guards.overlapped, "r", "is deleted", 1),
        (user_guards.taken_once, "r", "has another password", 3),
        (user_guards.recorded, "r", "has another password", 6),
        (user_guards.in_the_secret, "r", "is in no Secret", 1),
        (user_guards.in_the_database, "r", "the database does not have", 1),
    ],
)
def test_a_storm_finds_a_removed_guard(
    removal: Removal, letter: str, message: str, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    removal(monkeypatch)
    for seed in range(first, first + TRIES):
        outcome = attempt(seed, Plan(chaos=1800.0, declared=True, secured=True))
        if any(found.property == letter and message in found.message for found in outcome.violations):
            return
    pytest.fail(f"not found in {TRIES} seeds")
