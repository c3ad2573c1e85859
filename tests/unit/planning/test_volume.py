"""Volumes: larger in place, anything else with a new member, or refused where that was asked for."""

from stateward.planning import actions as a
from stateward.planning.fitting import claim_mismatch
from stateward.planning.observation import Claim, Ref
from tests.unit.planning.world import GIB, World, hot, managers, settled


def reasons(world: World) -> set[str]:
    return {w.reason for w in world.plan().waits}


def test_a_larger_volume_grows_in_place_and_restarts_nobody() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(pools=[managers(), hot(size=20 * GIB)])
    made = world.tick()
    assert sorted(world.did(a.GrowVolume)) == ["c-hot-0", "c-hot-1", "c-hot-2"]
    assert made.intents["c-hot-0"].state.value == "Growing"
    world.run()
    assert not world.did(a.DeletePod)
    assert len(world.did(a.GrowVolume)) == 3


def test_a_class_that_cannot_grow_is_named() -> None:
    world = settled(managers(), hot()).edit(expandable=False, pools=[managers(), hot(size=20 * GIB)]).ticks(5)
    assert not world.log
    assert "VolumeNotExpandable" in reasons(world)


def test_a_class_that_is_not_known_to_grow_is_waited_for() -> None:
    world = settled(managers(), hot()).edit(expandable=None, pools=[managers(), hot(size=20 * GIB)]).ticks(5)
    assert not world.log
    assert "StorageClassUnknown" in reasons(world)


def test_a_growth_that_is_taken_back_before_it_happened_is_only_asked_back() -> None:
    world = settled(managers(), hot(1)).edit(pools=[managers(), hot(1, size=20 * GIB)])
    world.step_kubernetes = lambda: None
    world.tick()
    claim = world.bodies["c-hot-0"].claim
    assert claim is not None
    assert (claim.requested, claim.capacity) == (20 * GIB, 10 * GIB)
    world.edit(pools=[managers(), hot(1)]).run()
    assert claim.requested == 10 * GIB
    assert not world.did(a.Create)


def test_a_smaller_volume_is_a_new_member_in_place_of_each_one_at_a_time() -> None:
    world = settled(managers(), hot(3), indices=((2,), (1,), (2,)))
    world.hooks.append(lambda _: one_at_a_time(world))
    world.edit(pools=[managers(), hot(3, size=5 * GIB)]).run(900)
    sizes = {n: world.bodies[n].claim for n in world.pods() if "hot" in n}
    assert {c.requested for c in sizes.values() if c} == {5 * GIB}
    assert len(sizes) == 3


def one_at_a_time(world: World) -> None:
    assert len(world.draining) <= 1
    assert len([n for n in world.pods() if "hot" in n]) >= 3


def test_another_storage_class_of_managers_is_replaced_without_losing_the_quorum() -> None:
    world = settled(managers(3, storage_class="slow"), hot(2), indices=((2,),))
    world.hooks.append(lambda _: assert_available(world))
    world.edit(pools=[managers(3, storage_class="fast"), hot(2)]).run(900)
    assert len(world.voters) == 3


def assert_available(world: World) -> None:
    assert world.available


def test_a_smaller_volume_is_refused_where_that_was_asked_for_and_the_rest_goes_on() -> None:
    world = settled(managers(), hot(3), replace_on_shrink=False, indices=((2,),))
    world.edit(pools=[managers(), hot(4, size=5 * GIB)]).ticks(20)
    assert world.did(a.Create) == ["c-hot-3"]
    assert not world.did(a.Release)
    assert "VolumeRefused" in reasons(world)


def test_from_a_volume_into_the_pod_and_back_is_a_new_member_in_place_of_each() -> None:
    world = settled(managers(), hot(3), indices=((2,), (2,)))
    world.edit(pools=[managers(), hot(3, ephemeral=True)]).run(900)
    world.edit(pools=[managers(), hot(3)]).run(900)
    assert len(world.pods()) == 6


def test_a_kept_volume_that_does_not_fit_is_not_used_again() -> None:
    world = settled(managers(), hot(3), indices=((2,),))
    world.edit(pools=[managers(), hot(2)]).run()
    world.edit(pools=[managers(), hot(3, size=5 * GIB)]).run(900)
    assert "c-hot-2" not in world.pods()


def test_a_kept_volume_that_fits_is_used_again() -> None:
    world = settled(managers(), hot(3), indices=((2,),))
    world.edit(pools=[managers(), hot(2)]).run()
    claim = world.bodies["c-hot-2"].claim
    world.edit(pools=[managers(), hot(3)]).run()
    assert world.bodies["c-hot-2"].claim is claim


def test_a_volume_that_was_never_bound_does_not_wait_for_a_class_that_there_is_not_and_nobody_asks_for() -> None:
    waiting = Claim(Ref("data-c-hot-2", "claim", "1"), 10 * GIB, 0, "misspelt", classless=True)
    bound = Claim(Ref("data-c-hot-2", "claim", "1"), 10 * GIB, 10 * GIB, "retired", classless=True)
    known = Claim(Ref("data-c-hot-2", "claim", "1"), 10 * GIB, 0, "standard")
    anything, named = hot().desired("1.0.0", "1.0.0"), hot(storage_class="misspelt").desired("1.0.0", "1.0.0")
    assert claim_mismatch(anything, waiting) == "storage class misspelt, which there is not, becomes the default one"
    assert claim_mismatch(named, waiting) is None
    assert claim_mismatch(anything, bound) is None
    assert claim_mismatch(anything, known) is None
