"""What a change needs, and what a member keeps of it, each on one observation."""

import pytest
from msgspec.structs import replace

from stateward.planning.facts.change import immutable_inputs
from stateward.planning.facts.facts import derive
from stateward.planning.model import observation as o
from tests.unit.planning.chaos import NOW
from tests.unit.planning.pools import hot
from tests.unit.planning.safety.test_choice import facts_of

KEPT = {"config/processes": "one"}


@pytest.mark.parametrize(
    ("objects", "retained", "keeps"),
    [
        (("pod", "workload"), frozenset(KEPT), KEPT),
        (("workload",), frozenset(KEPT), KEPT),
        (("config",), frozenset(KEPT), KEPT),
        ((), frozenset(KEPT), None),
        (("pod", "workload"), frozenset({"config/other"}), {}),
        (("pod", "workload"), frozenset[str](), None),
    ],
)
def test_a_member_keeps_what_its_objects_say_of_the_inputs_that_only_a_new_member_can_change(
    objects: tuple[str, ...], retained: frozenset[str], keeps: o.Inputs | None
) -> None:
    seen = facts_of([hot(1, config=KEPT)], []).obs
    (member,), (pool,) = seen.members, seen.desired.pools
    member = replace(member, **{name: None for name in ("pod", "workload", "config") if name not in objects})
    pool = replace(pool, retained=retained, inputs={**pool.inputs, "config/processes": "two"})
    facts = derive(replace(seen, members=(member,), desired=replace(seen.desired, pools=(pool,))), NOW)
    assert immutable_inputs(facts, member, pool) == keeps
