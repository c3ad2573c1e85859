"""What follows from an observation at once, each on one observation."""

import pytest
from msgspec.structs import replace

from stateward.planning.facts.facts import derive
from stateward.planning.model import observation as o
from tests.unit.planning.chaos import NOW
from tests.unit.planning.pools import hot
from tests.unit.planning.safety.test_choice import facts_of

SILENT = o.Unknown("no answer")
GRANTED = o.Bootstrap("hot-0", "claim", formed=False)
FORMED = o.Bootstrap("hot-0", "claim", formed=True)
JOINED = {"hot-0": o.Record("1.0.0")}


@pytest.mark.parametrize(
    ("answers", "grant", "records", "formed"),
    [
        (True, None, {}, True),
        (False, FORMED, {}, True),
        (False, None, JOINED, True),
        (False, GRANTED, JOINED, True),
        (False, GRANTED, {}, False),
        (False, None, {}, False),
    ],
)
def test_a_cluster_was_formed_if_it_answers_or_the_status_records_it(
    answers: bool, grant: o.Bootstrap | None, records: dict[str, o.Record], formed: bool
) -> None:
    """The disaster this prevents: a cluster that does not answer for a while is formed once more."""
    seen = facts_of([hot(2)], []).obs
    facts = derive(replace(seen, database=seen.database if answers else SILENT, bootstrap=grant, records=records), NOW)
    assert facts.formed is formed
