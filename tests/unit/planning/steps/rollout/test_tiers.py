"""Databases with tiers: not every data node takes every shard, as the index's settings say."""

import dataclasses

import pytest
from msgspec.structs import replace

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from tests.unit.planning.pools import PoolSpec
from tests.unit.planning.world import Index, Shard, World, hot, managers


class Tiered(World):
    """A database whose indices belong to the nodes of one pool, as `index.routing.allocation` or a tier says."""

    tier = "hot"
    known = True
    """Whether the index itself says it, so that the plan knows it; otherwise only the database does."""

    def database(self) -> o.Database | o.Unknown:
        found = super().database()
        if isinstance(found, o.Unknown) or not self.known:
            return found
        places = frozenset(name for name in found.nodes if self.bodies[name].pool == self.tier)
        return replace(found, units=tuple(replace(unit, places=places) for unit in found.units))

    def spots(self, index: Index) -> list[str]:
        return [name for name in super().spots(index) if self.bodies[name].pool == self.tier]

    def move(self, action: a.MoveCopies) -> None:
        """Move each copy to its first target that the database accepts, as the driver does."""
        moves = (
            replace(move, target=target, others=())
            for move in action.moves
            for target in [t for t in (move.target, *move.others) if self.bodies[t].pool == self.tier][:1]
        )
        if found := tuple(moves):
            super().move(replace(action, moves=found))


def tiered(*, ephemeral: bool, units: tuple[int, ...]) -> Tiered:
    world = Tiered(managers(), hot(2, ephemeral=ephemeral), PoolSpec("warm", 2, data=True, tier=-1))
    world.run()
    for number, wanted in enumerate(units):
        index = Index(f"logs[{number}]", wanted)
        world.indices.append(index)
        place(world, index)
        for _ in range(3):
            world.pass_time()
    return world


def place(world: Tiered, index: Index) -> None:
    node = "c-hot-0" if index.wanted == 1 else "c-hot-1"
    index.copies, index.current, index.missing_since = [Shard(node, primary=True)], {node}, world.now


@pytest.mark.parametrize("known", [True, False])
def test_a_single_copy_moves_to_a_node_of_its_tier_although_one_of_another_tier_is_emptier(known: bool) -> None:
    changes(tiered(ephemeral=False, units=(1, 2)), known=known)


def test_a_copy_that_has_no_other_place_on_its_tier_does_not_hold_back_a_pool_that_keeps_data_in_its_pods() -> None:
    changes(tiered(ephemeral=True, units=(2,)), known=True)


def changes(world: Tiered, *, known: bool) -> None:
    """Change the hot pool, and assert that it is done and nothing of it is left."""
    world.known = known
    changed = dataclasses.replace(world.pools[1], config={"config/x": "1"})
    world.edit(pools=[world.pools[0], changed, world.pools[2]]).ticks(150)
    assert world.plan().settled, world.story()
    assert not world.balance_paused
