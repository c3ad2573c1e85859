"""A member is being replaced by itself while an edit lets another one take its role: neither waits for the other."""

import pytest

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from tests.unit.planning.pools import PoolSpec, tiebreaker
from tests.unit.planning.world import World, gateway, hot, managers

TAINT = "maintenance"


def replacing(pool: str, *pools: PoolSpec) -> World:
    """Return a cluster of which the first member of a pool is about to be replaced, because of a taint."""
    made = World(*pools).run()
    made.index((1,)).run()
    made.policy = {"replacement": o.Replacement(enabled=True, taints={TAINT: 0.0})}
    made.taints[f"node-{pool}-0"] = [TAINT]
    made.tick()
    assert [x.member for _, x in made.log if isinstance(x, a.RecordRemoval)] == [f"c-{pool}-0"]
    return made


def test_the_only_manager_is_replaced_while_its_pool_only_votes_and_another_one_can_be_elected() -> None:
    """The disaster this prevents: it is the last manager, and the one of the other pool waits until it has left."""
    made = replacing("managers", managers(1), tiebreaker(2), hot(2))
    made.edit(pools=[tiebreaker(1, "managers"), managers(2, "tiebreaker"), hot(2)]).run()
    assert made.available
    able = [made.bodies[name].pool for name, pod in made.joined().items() if pod.voting and made.electable(name)]
    assert able == ["tiebreaker", "tiebreaker"]


@pytest.mark.parametrize("left", [[gateway(1, "hot")], [hot(0)], []])
def test_the_only_member_with_data_is_replaced_while_its_role_moves_to_another_pool(left: list[PoolSpec]) -> None:
    """The disaster this prevents: no other member has data, and one of the other pool waits until it has left."""
    made = replacing("hot", managers(), hot(1), gateway(2, "other"))
    made.edit(pools=[managers(), *left, hot(2, "other")]).run()
    assert [made.bodies[name].pool for name, pod in made.joined().items() if pod.data] == ["other", "other"]
