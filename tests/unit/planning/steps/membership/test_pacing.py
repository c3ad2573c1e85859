"""A pause between the releases of two members, even if the operator dies in between."""

from itertools import pairwise

import pytest
from msgspec.structs import replace

from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model.intent import StepResult
from stateward.planning.model.observation import Ref, Replacement
from stateward.planning.model.times import rfc3339
from stateward.planning.steps.membership.pacing import limit_releases
from tests.unit.planning.chaos import NOW
from tests.unit.planning.pools import PoolSpec, gateway
from tests.unit.planning.safety.test_choice import facts_of
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


RELEASES = tuple(a.Release(why="x", member=f"hot-{i}", workload=Ref(f"hot-{i}", "u", "1")) for i in range(2))
OTHER = a.MarkVolume(why="x", member="hot-0", claim=Ref("data", "u", "1"), left=True)


@pytest.mark.parametrize(
    ("wait", "last", "releases"),
    [
        (0.0, NOW, ["hot-0", "hot-1"]),
        (WAIT, None, ["hot-0"]),
        (WAIT, NOW - WAIT, ["hot-0"]),
        (WAIT, NOW - WAIT + 1, []),
    ],
)
def test_only_releases_wait_and_one_of_them_goes_as_soon_as_the_wait_is_over(
    wait: float, last: float | None, releases: list[str]
) -> None:
    base = facts_of([hot(3)], [("hot-0", "hot-1")])
    observed = replace(base.obs, desired=replace(base.obs.desired, wait_between_removals=wait), last_removal=last)
    part = limit_releases(derive(observed, NOW), StepResult(actions=(OTHER, *RELEASES)))
    assert [x.member for x in part.actions if isinstance(x, a.Release)] == releases
    assert OTHER in part.actions
    assert {w.subject for w in part.waits} == {"hot-0", "hot-1"} - set(releases)


@pytest.mark.parametrize("pool", [managers(2, "hot"), gateway(2, "hot")])
def test_members_whose_loss_the_database_does_not_notice_leave_together(pool: PoolSpec) -> None:
    base = facts_of([pool], [])
    observed = replace(base.obs, desired=replace(base.obs.desired, wait_between_removals=WAIT), last_removal=NOW)
    part = limit_releases(derive(observed, NOW), StepResult(actions=RELEASES))
    assert len(part.actions) == (0 if pool.voting else 2)


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
