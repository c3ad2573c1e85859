"""Pools change their size by themselves: after a while, within limits, on a safe way, and never back and forth."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stateward.forecast.forecast import run_forecast
from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.model.observation import Asked, Measure, PoolSize, Scaling, ScalingRule
from stateward.planning.steps.membership.automatic_scaling import Reading, pool_sizes
from tests.unit.planning.world import GIB, Index, World, hot, managers, settled

DISK = ScalingRule(Measure.DISK, above=70, below=50)
CPU = ScalingRule(Measure.CPU, above=70, below=40)
SHARDS = ScalingRule(Measure.SHARDS, above=4, below=3)
BOUNDS = Scaling(lowest=2, highest=6)
DISK_SIZE = 100 * GIB


def scaled(*rules: ScalingRule, replicas: int = 3, indices: tuple[tuple[int, ...], ...] = (), **more: object) -> World:
    """Return a settled cluster whose pool hot scales between 2 and 6 members by these rules."""
    return settled(managers(), hot(replicas, scaling=replace(BOUNDS, rules=rules)), indices=indices, **more)


def with_disks(world: World, percent: int, of: int = 3) -> World:
    """Let the pool hold as much as fills the disks of so many members to a percentage."""
    return world.edit(disk_total=DISK_SIZE, spread={"hot": DISK_SIZE * percent * of // 100})


def hots(world: World) -> int:
    return sum(body.pool == "hot" and body.workload is not None for body in world.bodies.values())


def recorded(world: World) -> PoolSize:
    return world.observe().sizes["hot"]


def minutes(world: World, number: int) -> World:
    return world.ticks(number * 6)


def test_a_pool_grows_to_what_the_rule_needs_after_the_rule_has_asked_for_long_enough() -> None:
    world = with_disks(scaled(DISK), 84)
    minutes(world, 9)
    assert hots(world) == 3
    assert recorded(world).growth_since is not None
    minutes(world, 2).run()
    assert hots(world) == 4
    assert recorded(world).reason == "84% of its disks are used, more than 70"
    assert world.did(a.DeletePod) == []


def test_a_pool_shrinks_by_one_member_that_is_drained_first() -> None:
    world = with_disks(scaled(DISK, indices=((2,), (2,))), 30)
    minutes(world, 59)
    assert hots(world) == 3
    minutes(world, 2).run()
    assert hots(world) == 2
    assert world.did(a.Release) == ["c-hot-2"]
    assert "one member fewer is enough" in recorded(world).reason


def test_the_number_is_recorded_before_it_is_obeyed() -> None:
    world = with_disks(scaled(DISK), 84)
    while not (made := world.tick()).resizes:
        assert not made.actions
    assert not made.actions
    assert not made.settled
    assert made.needs_live
    assert recorded(world).replicas == 4
    assert any(isinstance(action, a.Create) for action in world.tick().actions)


def test_a_break_starts_the_time_again() -> None:
    world = minutes(with_disks(scaled(DISK), 84), 9)
    minutes(with_disks(world, 60), 1)
    minutes(with_disks(world, 84), 9)
    assert hots(world) == 3
    minutes(world, 2)
    assert hots(world) == 4


@pytest.mark.parametrize(
    ("rule", "busy", "calm"),
    [(CPU, 300, 60), (DISK, None, None)],
)
def test_a_pool_goes_up_and_down_with_its_load(rule: ScalingRule, busy: int | None, calm: int | None) -> None:
    world = scaled(rule)
    high = world.edit(work={"hot": busy}) if busy is not None else with_disks(world, 98)
    minutes(high, 25).run()
    assert hots(world) == 5
    low = world.edit(work={"hot": calm}) if calm is not None else with_disks(world, 10)
    minutes(low, 300).run()
    assert hots(world) == 2


def test_shards_are_counted() -> None:
    world = minutes(scaled(SHARDS, indices=((1,),) * 7 + ((2,),) * 3), 12).run()
    assert hots(world) == 4


def test_no_pool_leaves_its_limits() -> None:
    world = minutes(with_disks(scaled(DISK, replicas=6), 99, of=6), 40)
    assert hots(world) == 6
    assert recorded(world).limited
    assert recorded(world).reason == "99% of its disks are used, more than 70, and scaling.max is 6"
    assert world.plan().settled
    minutes(with_disks(world, 60, of=6), 1)
    assert (recorded(world).limited, recorded(world).reason) == (False, "")
    minutes(with_disks(world, 1), 60 * 8)
    assert hots(world) == 2
    assert not recorded(world).limited


def test_new_limits_are_obeyed_at_once() -> None:
    world = with_disks(scaled(DISK, replicas=5), 60, of=5)
    world.edit(pools=[managers(), hot(5, scaling=Scaling(2, 4, (DISK,)))]).run()
    assert hots(world) == 4
    assert recorded(world).replicas == 4


def test_a_paused_cluster_records_its_new_limits_and_does_nothing() -> None:
    world = with_disks(scaled(DISK, replicas=5), 60, of=5)
    world.edit(pools=[managers(), hot(5, scaling=Scaling(2, 4, (DISK,)))], policy={"paused": True})
    made = world.tick()
    assert (made.actions, made.resizes, made.needs_live) == ((), False, False)


def test_all_rules_have_to_allow_a_smaller_pool() -> None:
    world = with_disks(scaled(DISK, CPU).edit(work={"hot": 150}), 10)
    minutes(world, 120)
    assert hots(world) == 3


HINDRANCES: dict[str, dict[str, object]] = {
    "the database does not answer": {"answers": False},
    "a disk is not known": {"disk_total": 0},
    "the cluster is paused": {"policy": {"paused": True}},
    "a member does not come back": {"crash": {("version", "2.17.1")}},
}


@pytest.mark.parametrize("hindrance", HINDRANCES)
def test_nothing_changes_while_the_measure_cannot_be_trusted(hindrance: str) -> None:
    world = with_disks(scaled(DISK), 99).edit(**HINDRANCES[hindrance])
    if "crash" in HINDRANCES[hindrance]:
        world.kill("c-hot-1")
    for _ in range(6 * 30):
        assert not world.tick().resizes


def test_processors_whose_use_is_not_reported_change_nothing() -> None:
    assert hots(minutes(scaled(CPU), 90)) == 3
    assert recorded(minutes(scaled(CPU), 1)).cpu is None


def test_a_burst_of_a_minute_changes_nothing() -> None:
    world = minutes(scaled(CPU).edit(work={"hot": 150}), 15)
    for _ in range(10):
        minutes(world.edit(work={"hot": 300}), 1)
        minutes(world.edit(work={"hot": 150}), 4)
    assert hots(world) == 3


@pytest.mark.parametrize("after", [60.0, 120.0, 600.0])
def test_the_load_of_fewer_members_makes_a_pool_that_has_grown_grow_no_further(after: float) -> None:
    world = settled(managers(), hot(3, scaling=Scaling(2, 20, (CPU,), grow_after=after)))
    minutes(world.edit(work={"hot": 300}), 40).run()
    assert hots(world) == 5, "5 members with a load of 60% each: the lowest number that is not above 70%"


def test_an_average_from_before_a_long_silence_counts_no_more() -> None:
    world = minutes(settled(managers(), hot(3, scaling=replace(BOUNDS, rules=(CPU,), grow_after=60.0))), 1)
    minutes(world.edit(work={"hot": 207}), 10)
    assert recorded(world).cpu == 69
    minutes(world.edit(answers=False), 60)
    minutes(world.edit(answers=True, work={"hot": 30}), 1)
    assert recorded(world).cpu == 10


def test_an_average_that_stays_the_same_is_renewed_before_it_is_too_old() -> None:
    world = minutes(scaled(CPU).edit(work={"hot": 150}), 30)
    first = recorded(world).measured
    minutes(world, 5)
    assert first is not None
    assert (recorded(world).measured or 0.0) - first > 100.0
    minutes(world.edit(work={"hot": 300}), 1)
    assert recorded(world).cpu == 60, "one measurement moves it by a fifth, also after a long steady load"


def test_no_pool_shrinks_below_the_copies_of_its_shards() -> None:
    world = minutes(with_disks(scaled(DISK, indices=((3,),)), 5), 180)
    assert hots(world) == 3
    assert recorded(world).shrink_since is None


def test_a_kept_volume_is_not_taken_for_the_member_that_would_leave() -> None:
    world = asked(scaled(), 4).run().index((3,)).run()
    asked(world, 3).run()
    assert world.bodies["c-hot-3"].claim is not None
    world.edit(asked={}, pools=[managers(), hot(3, scaling=replace(BOUNDS, rules=(DISK,)))])
    assert recorded(minutes(with_disks(world, 5), 90)).replicas == 3


@pytest.mark.parametrize("what", ["a copy moves", "a member is to be replaced"])
def test_no_pool_shrinks_while_anything_else_goes_on(what: str) -> None:
    world = minutes(with_disks(scaled(DISK, indices=((2,),)), 5), 59)
    seen = world.observe()
    database = seen.database
    assert isinstance(database, o.Database)
    unit = database.units[0]
    moving = replace(unit, copies=(replace(unit.copies[0], target="c-hot-2"), *unit.copies[1:]))
    busy = {
        "a copy moves": replace(seen, database=replace(database, units=(moving,))),
        "a member is to be replaced": replace(seen, removals={"c-managers-0": o.Removal("it is missing", world.now)}),
    }[what]
    later = world.now + 120.0
    assert pool_sizes(derive(seen, later), hold=False)["hot"].replicas == 2
    assert pool_sizes(derive(busy, later), hold=False)["hot"].replicas == 3


def test_a_flexible_shard_keeps_no_pool_large() -> None:
    world = scaled(DISK).index(Index("auto[0]", 3, flexible=True)).run()
    assert hots(minutes(with_disks(world, 5), 90)) == 2


def test_a_pool_that_begins_to_scale_while_a_member_is_replaced_keeps_no_member_more() -> None:
    world = settled(managers(), hot(3), indices=((2,),))
    world.edit(policy={"replacement": o.Replacement(replace=frozenset({"c-hot-1"}))})
    while hots(world) == 3:
        world.tick()
    assert hots(world) == 4
    assert hots(world.edit(pools=[managers(), hot(3, scaling=BOUNDS)]).run()) == 3
    assert recorded(world).replicas == 3


def test_a_pool_without_members_begins_to_scale_with_the_number_of_the_spec() -> None:
    world = settled(managers(), hot(3), hot(0, "cold"))
    world.edit(pools=[managers(), hot(3), hot(3, "cold", scaling=BOUNDS)]).run()
    assert sum(body.pool == "cold" and body.workload is not None for body in world.bodies.values()) == 3


def test_a_pool_whose_status_was_lost_keeps_the_members_that_it_has() -> None:
    world = minutes(with_disks(scaled(DISK), 98), 15).run()
    assert hots(world) == 5
    world.edit(status=replace(world.status, pools=[])).run()
    assert hots(world) == 5
    assert recorded(world).replicas == 5


def test_a_percentage_of_members_that_may_be_down_follows_the_size() -> None:
    world = with_disks(scaled(DISK, max_unavailable=1, unavailable_percent=25), 98)
    assert world.observe().desired.max_unavailable == 1
    minutes(world, 15).run()
    assert world.observe().desired.max_unavailable == 2


def asked(world: World, number: int) -> World:
    return world.edit(asked={"hot": Asked(number, "web")})


def test_a_number_of_a_pool_scale_is_obeyed_at_once_within_the_limits() -> None:
    world = asked(scaled(), 5).run()
    assert hots(world) == 5
    asked(world, 9).run()
    assert (hots(world), recorded(world).limited) == (6, True)
    assert recorded(world).reason == "PoolScale web asks for 9, and the limit is 6"
    asked(world, 0).run()
    assert (hots(world), recorded(world).limited) == (2, False)


@pytest.mark.parametrize("unread", [None, {}])
def test_a_pool_scale_that_is_gone_or_cannot_be_read_leaves_the_number(unread: dict[str, Asked] | None) -> None:
    world = asked(scaled(), 5).run()
    assert hots(world.edit(asked=unread).ticks(60).run()) == 5


def test_rules_do_not_obey_a_pool_scale() -> None:
    assert hots(asked(with_disks(scaled(DISK), 60), 6).ticks(30)) == 3


@pytest.mark.parametrize(("number", "members"), [(5, 5), (9, 6), (3, 3)])
def test_a_forecast_has_the_size_that_is_decided_now_and_ends(number: int, members: int) -> None:
    world = asked(scaled(), number)
    found = run_forecast(world.observe(), world.now)
    assert found.seconds is not None
    assert sum(m.pool == "hot" for m in found.end.members) == members
    assert (found.seconds > 0) == (members != 3)


def test_a_forecast_of_a_refused_edit_resizes_nothing() -> None:
    refused = o.Refusal("spec.pools", "InvalidSpec", "no")
    world = asked(scaled(), 5).edit(refusals=(refused,))
    assert len([m for m in run_forecast(world.observe(), world.now).end.members if m.pool == "hot"]) == 3


def test_a_forecast_does_not_wait_for_what_rules_may_ask_for_later() -> None:
    world = with_disks(scaled(DISK), 84).ticks(3)
    assert recorded(world).growth_since is not None
    assert run_forecast(world.observe(), world.now).seconds == 0


@given(
    load=st.lists(st.integers(0, 99), min_size=1, max_size=8),
    above=st.integers(5, 84),
    gap=st.integers(1, 40),
)
def test_a_steady_load_moves_a_pool_one_way_only(load: list[int], above: int, gap: int) -> None:
    """Whatever the rule, the limits and the load: once it is steady, the pool does not go up and down."""
    rule = ScalingRule(Measure.DISK, above, max(1, above - gap))
    members, seen = 3, list[int]()
    for total in load:
        seen = [members]
        for _ in range(40):
            reading = Reading(rule, total * 3 / members)
            if reading.asks:
                members = min(12, reading.wanted(members))
            elif reading.allows(members) and members > 2:
                members -= 1
            seen.append(members)
        assert seen in (sorted(seen), sorted(seen, reverse=True))
        assert seen[-1] == seen[-2]


def test_the_disks_of_the_world_are_even() -> None:
    world = with_disks(scaled(DISK), 50)
    database = world.observe().database
    assert isinstance(database, o.Database)
    used = {n: node.disk_total - node.disk_free for n, node in database.nodes.items() if "hot" in n}
    assert set(used.values()) == {DISK_SIZE // 2}
