"""Volumes: expanded in place, other changes with a new member, or refused if requested."""

from collections.abc import Callable

import pytest

from stateward.api.kinds.status import ClusterStatus
from stateward.planning.facts.volume_fit import claim_mismatch, ungrowable
from stateward.planning.model import actions as a
from stateward.planning.model.observation import Claim, Ref
from tests.unit.planning.world import GIB, World, hot, managers, settled


def reasons(world: World) -> set[str]:
    return {w.reason for w in world.plan().waits}


def test_a_larger_volume_grows_in_place_and_restarts_no_member() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(pools=[managers(), hot(size=20 * GIB)])
    made = world.tick()
    assert sorted(world.did(a.GrowVolume)) == ["c-hot-0", "c-hot-1", "c-hot-2"]
    assert made.intents["c-hot-0"].state.value == "Growing"
    world.run()
    assert not world.did(a.DeletePod)
    assert len(world.did(a.GrowVolume)) == 3


def test_a_class_that_cannot_grow_is_named_where_replacing_was_not_wanted() -> None:
    world = settled(managers(), hot(), replace_on_shrink=False)
    world.edit(expandable=False, pools=[managers(), hot(size=20 * GIB)]).ticks(5)
    assert not world.log
    assert "VolumeNotExpandable" in reasons(world)
    world.edit(expandable=True).run()
    assert len(world.did(a.GrowVolume)) == 3


def test_a_volume_whose_class_cannot_grow_is_a_new_member_in_place_of_each_one_at_a_time() -> None:
    world = settled(managers(), hot(3), indices=((2,), (1,), (2,))).edit(expandable=False)
    world.hooks.append(lambda _: one_at_a_time(world))
    world.edit(pools=[managers(), hot(3, size=20 * GIB)]).run(900)
    assert not world.did(a.GrowVolume)
    sizes = {n: world.bodies[n].claim for n in world.pods() if "hot" in n}
    assert {c.requested for c in sizes.values() if c} == {20 * GIB}
    assert len(sizes) == 3


def test_a_class_that_is_not_known_to_grow_is_waited_for() -> None:
    world = settled(managers(), hot()).edit(expandable=None, pools=[managers(), hot(size=20 * GIB)]).ticks(5)
    assert not world.log
    assert "StorageClassUnknown" in reasons(world)


def half_grown() -> tuple[World, Callable[[], int]]:
    """Return a world with a volume of 10 GiB that was asked to grow to 20 GiB, and does not; and the size asked for."""
    world = settled(managers(), hot(1)).edit(pools=[managers(), hot(1, size=20 * GIB)])
    world.step_kubernetes = lambda: None
    world.tick()
    claim = world.bodies["c-hot-0"].claim
    assert claim is not None
    assert (claim.requested, claim.capacity) == (20 * GIB, 10 * GIB)
    world.log.clear()
    return world, lambda: claim.requested


def test_a_growth_that_is_reverted_before_it_happened_is_not_asked_back() -> None:
    """Kubernetes refuses a claim the size that its volume has, and a refused step would hold all later ones back."""
    world, requested = half_grown()
    world.edit(pools=[managers(), hot(1)]).ticks(5)
    assert not world.log
    (wait,) = world.plan().waits
    assert (wait.subject, wait.reason) == ("c-hot-0", "VolumeGrowing")
    assert "20Gi" in wait.message
    world.edit(pools=[managers(), hot(1, size=20 * GIB)]).tick()
    assert not world.plan().waits
    assert (requested(), world.log) == (20 * GIB, [])


def test_a_growth_that_does_not_happen_can_be_a_smaller_growth() -> None:
    world, requested = half_grown()
    world.edit(pools=[managers(), hot(1, size=15 * GIB)]).ticks(2)
    assert world.did(a.GrowVolume) == ["c-hot-0"]
    assert requested() == 15 * GIB


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


def test_a_smaller_volume_is_refused_where_that_was_requested_and_the_rest_continues() -> None:
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


def test_an_unbound_volume_does_not_wait_for_an_unknown_class_that_the_spec_does_not_request() -> None:
    waiting = Claim(Ref("data-c-hot-2", "claim", "1"), 10 * GIB, 0, "misspelt", classless=True)
    bound = Claim(Ref("data-c-hot-2", "claim", "1"), 10 * GIB, 10 * GIB, "retired", classless=True)
    known = Claim(Ref("data-c-hot-2", "claim", "1"), 10 * GIB, 0, "standard")
    anything, named = hot().desired("1.0.0", "1.0.0"), hot(storage_class="misspelt").desired("1.0.0", "1.0.0")
    assert (
        claim_mismatch(anything, waiting) == "storage class misspelt, which does not exist, becomes the default class"
    )
    assert claim_mismatch(named, waiting) is None
    assert claim_mismatch(anything, bound) is None
    assert claim_mismatch(anything, known) is None


def kept_small(**policy: object) -> World:
    """Return a cluster with the volume of hot-2 kept: half as large as is asked for now, and it never grows."""
    world = settled(managers(), hot(3), indices=((2,), (2,)), **policy)
    world.edit(pools=[managers(), hot(2)]).run()
    for name in ("c-hot-0", "c-hot-1"):  # Only the kept one is of the other size.
        claim = world.bodies[name].claim
        assert claim is not None
        claim.requested = claim.capacity = 20 * GIB
    world.log.clear()
    return world.edit(expandable=False)


@pytest.mark.parametrize("replaced", [True, False])
def test_a_kept_volume_that_can_never_grow_to_what_is_asked_is_not_used_again(*, replaced: bool) -> None:
    world = kept_small(replace_on_shrink=replaced).edit(pools=[managers(), hot(3, size=20 * GIB)]).run(900)
    assert world.did(a.Create) == ["c-hot-3"]
    assert not world.did(a.Release)


def test_a_member_that_has_started_on_a_volume_that_can_never_grow_is_replaced() -> None:
    world = kept_small().edit(expandable=None, pools=[managers(), hot(3, size=20 * GIB)])
    world.until(lambda w: "c-hot-2" in w.pods())  # Whether it grows was not known.
    world.edit(expandable=False).run(900)
    assert {n for n in world.pods() if "hot" in n} == {"c-hot-0", "c-hot-1", "c-hot-3"}
    assert world.did(a.Release) == ["c-hot-2"]


def test_a_kept_volume_that_does_not_fit_is_brought_back_while_it_may_hold_the_last_copy() -> None:
    world = kept_small()
    world.indices[0].copies.clear()
    world.edit(pools=[managers(), hot(3, size=20 * GIB)]).tick()
    assert world.did(a.Create) == ["c-hot-2"]


def test_a_cluster_that_is_recreated_with_another_size_forms_on_the_volumes_of_before() -> None:
    world = settled(managers(), hot(3), indices=((2,),))
    for body in world.bodies.values():
        body.workload = body.pod = body.config = None
    world.status = ClusterStatus()
    world.edit(pools=[managers(size=5 * GIB), hot(3, size=5 * GIB)]).tick()
    assert set(world.did(a.Create)) == {f"c-{pool}-{n}" for pool in ("managers", "hot") for n in range(3)}


def test_a_kept_volume_that_cannot_be_used_and_may_hold_the_last_copy_is_named() -> None:
    world = settled(managers(), hot(3), indices=((2,),))
    world.edit(pools=[managers(), hot(2)]).run()
    world.edit(pools=[managers(), hot(3, ephemeral=True)])
    assert "PoolNeeded" not in reasons(world)
    world.indices[0].copies.clear()
    waits = {w.subject: w.message for w in world.plan().waits if w.reason == "PoolNeeded"}
    assert waits["c-hot-2"].endswith("it can only be used with storage.ephemeral: false for pool hot in the spec")


def claim(size: int, storage_class: str, *, expandable: bool | None, gone: bool = False) -> Claim:
    return Claim(Ref("data-c-hot-2", "claim", "1"), size, size, storage_class, expandable, classless=gone)


def test_what_never_grows_is_distinguished_from_what_is_not_known_to() -> None:
    anything, named = hot().desired("1.0.0", "1.0.0"), hot(storage_class="rigid").desired("1.0.0", "1.0.0")
    small, enough = 5 * GIB, 10 * GIB
    text = "storage class rigid does not allow the volume to grow from 5Gi to 10Gi"
    assert ungrowable(anything, claim(small, "rigid", expandable=False)) == text
    assert ungrowable(named, claim(small, "rigid", expandable=False)) == text
    assert ungrowable(anything, claim(enough, "rigid", expandable=False)) is None
    assert ungrowable(anything, claim(small, "rigid", expandable=None)) is None
    text = "storage class rigid is gone, so the volume cannot grow from 5Gi to 10Gi"
    assert ungrowable(anything, claim(small, "rigid", expandable=None, gone=True)) == text
    assert ungrowable(named, claim(small, "rigid", expandable=None, gone=True)) is None
