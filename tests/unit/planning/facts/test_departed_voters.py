"""A vote without a member is excluded only if no unavailable member can have it."""

from typing import Any

import pytest
from msgspec.structs import replace

from stateward.planning.facts.departed_voters import departed_voters
from stateward.planning.facts.facts import Facts, derive
from stateward.planning.model import observation as o
from tests.unit.planning.chaos import NOW
from tests.unit.planning.pools import hot, managers
from tests.unit.planning.safety.test_choice import facts_of

STRANGER = frozenset({"Zzb0vM5eQkWJ2Fw1Ut7RrA"})
VOLUME_ONLY = {"workload": None, "claim": o.Claim(o.Ref("data", "u", "1"), 1, 1, "", left=True)}


def with_stranger(facts: Facts, **members: dict[str, Any]) -> Facts:
    """Return the facts with a voter that has no member, and with changed members."""
    assert facts.database is not None
    database = replace(facts.database, nameless=STRANGER, leader="managers-0")
    changed = tuple(replace(m, **members.get(m.name.replace("-", "_"), {})) for m in facts.obs.members)
    return derive(replace(facts.obs, database=database, members=changed), NOW)


@pytest.mark.parametrize(
    ("down", "change", "excluded"),
    [
        ("", {}, True),
        ("managers-1", {}, False),
        ("hot-1", {}, True),
        ("hot-1", {"pool": "renamed"}, False),
        ("hot-1", {"pool": "renamed", **VOLUME_ONLY}, True),
    ],
)
def test_a_vote_without_a_member_goes_unless_a_member_that_is_away_may_have_it(
    down: str, change: dict[str, Any], excluded: bool
) -> None:
    facts = with_stranger(facts_of([managers(), hot(2)], [], down=down), hot_1=change)
    assert departed_voters(facts) == (STRANGER if excluded else frozenset())


def test_a_vote_stays_while_a_member_that_has_joined_is_not_observed() -> None:
    facts = with_stranger(facts_of([managers(), hot(2)], []))
    records = {**facts.obs.records, "hot-7": o.Record("1.0.0")}
    assert departed_voters(derive(replace(facts.obs, records=records), NOW)) == frozenset()
    assert facts.database is not None
    assert departed_voters(replace(facts, database=replace(facts.database, leader=""))) == frozenset()
