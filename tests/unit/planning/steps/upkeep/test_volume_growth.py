"""Volumes grow by themselves before their disks are full: once, together, up to a limit, and never back."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.model.observation import Growth
from stateward.planning.plan import plan
from stateward.planning.steps.upkeep.volume_growth import INTERVAL, not_expandable
from tests.unit.planning.world import GIB, World, hot, managers, settled

GROWTH = Growth(when=80, by=25, limit=500 * GIB)
HOT = ("c-hot-0", "c-hot-1", "c-hot-2")


def filled(percent: int, growth: Growth | None = GROWTH, size: int = 100 * GIB, **more: object) -> World:
    """Return a cluster whose member hot-1 uses a share of its disk, and the others 10 %."""
    world = settled(managers(), hot(size=size, growth=growth), indices=((2,),), **more)
    world.used = dict.fromkeys(HOT, size * 97 // 100 * 10 // 100)
    return use(world, percent)


def use(world: World, percent: int, name: str = "c-hot-1") -> World:
    world.used[name] = -(-world.disk_size(name) * percent // 100)
    return world


def requested(world: World) -> dict[str, int]:
    claims = {name: world.bodies[name].claim for name in HOT if name in world.bodies}
    return {name: claim.requested // GIB for name, claim in claims.items() if claim is not None}


def reasons(world: World) -> set[str]:
    return {w.reason for w in world.plan().waits}


def test_all_volumes_of_a_pool_grow_to_one_size_when_the_fullest_disk_is_due() -> None:
    world = filled(80)
    world.run()
    assert requested(world) == dict.fromkeys(HOT, 125)
    assert sorted(world.did(a.GrowVolume)) == sorted(HOT)
    assert not world.did(a.DeletePod)


def test_the_reason_names_the_fullest_disk() -> None:
    why = next(action.why for action in filled(80).plan().actions if isinstance(action, a.GrowVolume))
    assert why == "c-hot-1 uses 80% of its disk, and storage.grow asks for 125Gi"


def test_nothing_grows_while_there_is_room() -> None:
    assert not filled(79).run().did(a.GrowVolume)


def test_without_the_field_nothing_grows() -> None:
    assert not filled(99, growth=None).run().did(a.GrowVolume)


def test_a_disk_that_is_nearly_full_grows_by_as_many_steps_as_it_needs() -> None:
    world = filled(99, Growth(when=50, by=10, limit=500 * GIB)).run()
    assert requested(world) == dict.fromkeys(HOT, 215)


def test_nothing_grows_while_the_database_does_not_answer() -> None:
    world = filled(99).edit(answers=False).ticks(5)
    assert not world.did(a.GrowVolume)


@pytest.mark.parametrize("node", [{"disk_total": 0}, {"disk_free": -1}, {"disk_free": 1 << 60}])
def test_nothing_grows_on_an_impossible_reading(node: dict[str, int]) -> None:
    world = filled(99)
    observed = world.observe()
    assert isinstance(observed.database, o.Database)
    nodes = {n: replace(x, **node) if n in HOT else x for n, x in observed.database.nodes.items()}
    made = plan(replace(observed, database=replace(observed.database, nodes=nodes)), world.now)
    assert not made.actions


def test_the_limit_is_never_exceeded_and_then_named() -> None:
    world = filled(80, Growth(when=80, by=25, limit=110 * GIB)).run()
    assert requested(world) == dict.fromkeys(HOT, 110)
    use(world, 85).ticks(3)
    wait = next(w for w in world.plan().waits)
    assert (wait.subject, wait.reason, wait.stalled) == ("hot", "GrowthLimitReached", True)
    assert wait.message == "c-hot-1 uses 85% of its disk, and storage.grow.max is 110Gi"
    assert requested(world) == dict.fromkeys(HOT, 110)


def test_a_volume_that_changed_recently_does_not_change_again() -> None:
    world = filled(80).run()
    changed = max(c.resized or 0 for name in HOT if (c := world.bodies[name].claim) is not None)
    use(world, 90).ticks(2)
    assert reasons(world) == {"VolumeChangedRecently"}
    world.now = changed + INTERVAL
    world.run()
    assert requested(world) == dict.fromkeys(HOT, 157)


def test_nothing_more_is_asked_while_a_volume_still_grows() -> None:
    world = filled(80)
    world.step_kubernetes = lambda: None
    world.ticks(2)
    world.now += 2 * INTERVAL
    use(world, 95).ticks(5)
    assert requested(world) == dict.fromkeys(HOT, 125)
    assert len(world.did(a.GrowVolume)) == 3


def test_a_reading_from_before_the_volume_grew_asks_for_nothing() -> None:
    world = filled(90).run()
    world.now += 2 * INTERVAL
    # The file system has the earlier size yet: it looks full.
    world.disk_size = lambda _: 97 * GIB  # type: ignore[method-assign]
    world.ticks(3)
    assert reasons(world) == {"VolumeGrowing"}
    assert requested(world) == dict.fromkeys(HOT, 125)


def test_a_disk_that_is_not_limited_to_its_volume_is_named() -> None:
    world = filled(10)
    world.disk_size = lambda _: 2000 * GIB  # type: ignore[method-assign]
    use(world, 90).ticks(3)
    assert not world.did(a.GrowVolume)
    assert reasons(world) == {"VolumeNotMeasured"}


@pytest.mark.parametrize(("expandable", "reason"), [(False, "VolumeNotExpandable"), (None, "StorageClassUnknown")])
def test_a_class_that_cannot_grow_is_named_and_no_member_is_replaced(*, expandable: bool | None, reason: str) -> None:
    world = filled(90).edit(expandable=expandable).ticks(10)
    assert not world.log
    assert reasons(world) == {reason}


@pytest.mark.parametrize(
    ("named", "says"), [("fast", "storage class fast"), ("", "its volume's storage class (it names none)")]
)
def test_a_volume_that_names_no_class_is_not_said_to_have_one(named: str, says: str) -> None:
    unknown = o.Claim(o.Ref("data-c-hot-0", "uid", "1"), GIB, GIB, named)
    assert not_expandable("c-hot-0", unknown).message == f"whether {says} allows volumes to grow is not known"


def test_a_class_that_forbids_growth_while_volumes_grow_replaces_no_member() -> None:
    world = filled(90)
    grow_first(world)
    world.edit(expandable=False).ticks(30)
    assert world.did(a.GrowVolume) == ["c-hot-0"]
    assert not world.did(a.Create)
    assert "VolumeNotExpandable" in reasons(world)
    world.edit(expandable=True).run()
    assert requested(world) == dict.fromkeys(HOT, 125)


def grow_first(world: World) -> None:
    """Let the first request through only, as when a quota or a crash stops the others."""
    first = next(x for x in world.plan().actions if isinstance(x, a.GrowVolume))
    world.carry_out(first)


def test_a_growth_that_was_interrupted_continues_to_the_size_that_was_decided() -> None:
    world = filled(80)
    grow_first(world)
    use(world, 10).run()  # Data was deleted in between: the decision stands.
    assert requested(world) == dict.fromkeys(HOT, 125)
    assert len(world.did(a.GrowVolume)) == 3


def test_a_new_member_gets_a_volume_of_the_grown_size() -> None:
    world = filled(80).run()
    world.edit(pools=[managers(), hot(4, size=100 * GIB, growth=GROWTH)]).run()
    claim = world.bodies["c-hot-3"].claim
    assert claim is not None
    assert (claim.requested // GIB, claim.grown // GIB) == (125, 125)


@pytest.mark.parametrize("growth", [GROWTH, None])
@pytest.mark.parametrize("size", [50, 100, 120])
def test_a_size_below_the_grown_one_is_no_shrink(size: int, growth: Growth | None) -> None:
    world = filled(80).run()
    world.log.clear()
    world.edit(pools=[managers(), hot(size=size * GIB, growth=growth)]).run()
    assert not world.log
    assert requested(world) == dict.fromkeys(HOT, 125)


def test_a_size_above_the_grown_one_grows_the_volumes_to_it() -> None:
    world = filled(80).run()
    world.edit(pools=[managers(), hot(size=200 * GIB, growth=GROWTH)]).run()
    assert requested(world) == dict.fromkeys(HOT, 200)


def test_without_their_records_grown_volumes_shrink_as_the_spec_asks() -> None:
    world = filled(80).run()
    for name in HOT:
        claim = world.bodies[name].claim
        assert claim is not None
        claim.grown = 0
    world.used = {}
    world.edit(pools=[managers(), hot(size=100 * GIB, growth=GROWTH)]).run(900)
    sizes = {b.claim.requested // GIB for n, b in world.bodies.items() if n in world.pods() and "hot" in n and b.claim}
    assert sizes == {100}


def test_a_member_that_leaves_makes_nothing_grow() -> None:
    world = filled(90)
    world.draining = frozenset({"c-hot-1"})
    assert not any(isinstance(x, a.GrowVolume) for x in world.plan().actions)


def test_nothing_grows_while_the_cluster_is_paused() -> None:
    world = filled(90)
    world.policy["paused"] = True
    assert not world.ticks(3).did(a.GrowVolume)


def test_growth_needs_a_plan_from_live_reads() -> None:
    grow = next(x for x in filled(80).plan().actions if isinstance(x, a.GrowVolume))
    assert grow.needs_live


@given(
    when=st.integers(10, 84),
    by=st.integers(5, 100),
    limit=st.integers(100, 1000),
    writes=st.lists(st.integers(-20, 40), min_size=1, max_size=12),
    outages=st.lists(st.booleans(), min_size=12, max_size=12),
)
def test_growth_is_monotone_within_the_limit_and_never_twice_in_an_interval(
    when: int, by: int, limit: int, writes: list[int], outages: list[bool]
) -> None:
    growth = Growth(when=when, by=by, limit=limit * GIB)
    world = filled(10, growth)
    changes: list[float] = []
    for written, silent in zip(writes, outages, strict=False):
        size, before = world.disk_size("c-hot-1"), requested(world)
        world.used["c-hot-1"] = min(size, max(0, world.used["c-hot-1"] + size * written // 100))
        world.edit(answers=not silent).ticks(2)
        after = requested(world)
        assert len(set(after.values())) == 1
        assert all(before[name] <= after[name] <= max(100, limit) for name in HOT)
        if after != before:
            changes.append(world.now)
            assert not silent
        world.now += INTERVAL / 3
    assert all(later - earlier >= INTERVAL - 60 for earlier, later in pairwise(changes))


@given(
    when=st.integers(40, 80),
    by=st.integers(20, 100),
    hourly=st.lists(st.integers(0, 7), min_size=6, max_size=72),
)
def test_the_watermark_is_not_reached_while_the_limit_allows_growth(when: int, by: int, hourly: list[int]) -> None:
    """Writes of up to 0.7 % of the disk an hour: less than the room between 80 % and the watermark in an interval."""
    world = filled(10, Growth(when=when, by=by, limit=100_000 * GIB))
    for permille in hourly:
        size = world.disk_size("c-hot-1")
        world.used["c-hot-1"] += size * permille // 1000
        world.ticks(2)
        world.now += 3600 - 20
        assert world.used["c-hot-1"] < world.disk_size("c-hot-1") * 85 // 100
