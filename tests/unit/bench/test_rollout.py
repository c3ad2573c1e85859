"""The bound of roll-outs is right where it can be said without searching, and the planner is near it."""

import pytest

from bench.planner.bound import Members, fewest_sets
from bench.planner.rollout import row
from bench.planner.topology import Topology, observation
from stateward.planning.model import observation as o


def bound(topology: Topology) -> int:
    seen = observation(topology)
    assert isinstance(seen.database, o.Database)
    return fewest_sets(seen, seen.database)


def test_zones_are_sets_where_every_shard_has_its_copies_in_several() -> None:
    assert bound(Topology(members=33, replicas=1, zones=3)) == 3
    assert bound(Topology(members=33, replicas=2, zones=3)) == 3


def test_members_that_all_share_shards_with_each_other_go_alone() -> None:
    assert bound(Topology(members=9, replicas=1, zones=1)) == 6


def test_of_three_copies_two_may_go_at_once() -> None:
    assert bound(Topology(members=6, replicas=2, zones=1)) == 2


def test_a_placement_is_even_and_keeps_copies_apart() -> None:
    seen = observation(Topology(members=33, replicas=1, zones=3))
    assert isinstance(seen.database, o.Database)
    zones = {m.name: m.pod.zone for m in seen.members if m.pod is not None}
    assert all(len({zones[copy.member] for copy in unit.copies}) == 2 for unit in seen.database.units)
    assert Members(seen, seen.database).count == 30


@pytest.mark.parametrize(("members", "replicas", "zones"), [(6, 1, 1), (12, 1, 1), (33, 1, 3)])
def test_a_roll_out_is_near_the_best_possible(members: int, replicas: int, zones: int) -> None:
    found = row(Topology(members, replicas, zones))
    assert float(found.value.partition(" ")[0]) <= 1.2
