"""A pause between the releases of two members, even if the operator dies in between."""

from itertools import pairwise

from stateward.planning.model import actions as a
from stateward.planning.model.observation import Replacement
from stateward.planning.model.times import rfc3339
from tests.unit.planning.world import TICK, World, hot, managers, settled

WAIT = 60.0
NAMES = frozenset({"c-hot-0", "c-hot-1", "c-hot-2"})


def leaving(**policy: object) -> World:
    """Return a cluster of which three members with data leave at once."""
    world = settled(managers(), hot(6), indices=((1,), (1,)))
    return world.edit(policy={"replacement": Replacement(replace=NAMES), **policy})


def released(world: World) -> list[float]:
    return [when for when, action in world.log if isinstance(action, a.Release)]


def pauses(world: World) -> list[float]:
    times = released(world)
    return [later - earlier for earlier, later in pairwise(times)]


def test_members_leave_with_the_wait_between_them_and_report_it() -> None:
    world = leaving(wait_between_removals=WAIT)
    world.until(lambda w: len(released(w)) == 1, limit=400).tick()
    waits = [w for w in world.plan().waits if w.reason == "RemovalPaced"]
    assert waits
    left = world.observe().last_removal
    assert left is not None
    assert released(world)[0] <= left <= world.now
    assert f"another member left at {rfc3339(left)}" in waits[0].message
    assert waits[0].message.endswith(f"no earlier than {rfc3339(left + WAIT)}")
    assert not waits[0].stalled
    world.run(900)
    assert len(released(world)) == 3
    assert min(pauses(world)) >= WAIT
    assert max(pauses(world)) <= WAIT + 12 * TICK


def test_without_a_wait_members_leave_as_soon_as_they_may() -> None:
    world = leaving().run(900)
    assert len(released(world)) == 3
    assert min(pauses(world)) < WAIT


def test_a_member_that_is_released_in_one_plan_with_others_goes_alone() -> None:
    world = leaving(wait_between_removals=WAIT)
    for _ in range(400):
        made = world.tick()
        going = [x.member for x in made.actions if isinstance(x, a.Release)]
        assert len(going) <= 1
    assert len(released(world)) == 3


def test_an_operator_that_died_before_it_wrote_the_status_knows_of_the_one_that_it_released() -> None:
    world = leaving(wait_between_removals=WAIT)
    before = world.status
    while not released(world):
        before = world.status
        world.tick()
    world.status = before
    world.until(lambda w: len(released(w)) == 2, limit=400)
    assert pauses(world)[0] >= WAIT
    world.run(900)


def test_members_that_never_held_anything_wait_for_no_member() -> None:
    world = settled(managers(), hot(3), wait_between_removals=WAIT)
    world.edit(unprovided={"misspelt"}, pools=[managers(), hot(3, storage_class="misspelt")]).ticks(10)
    world.edit(pools=[managers(), hot(3)]).run()
    assert "RemovalPaced" not in {w.reason for w in world.plan().waits}
    assert not world.status.last_removal_time
