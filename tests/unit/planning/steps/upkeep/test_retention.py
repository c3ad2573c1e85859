"""`volumes.whenDeleted` is obeyed on a cluster that lives: its claims are owned by it, or they are not."""

from stateward.planning.model import actions as a
from stateward.planning.model.observation import Refusal
from tests.unit.planning.world import World, hot, managers, settled


def owners(world: World) -> dict[str, str]:
    return {body.name: body.claim.owner for body in world.bodies.values() if body.claim is not None}


def asked(world: World, *, owned: bool) -> World:
    return world.edit(policy={**world.policy, "own_volumes": owned})


def test_retain_is_done_before_the_cluster_counts_as_settled_and_disturbs_no_member() -> None:
    world = asked(settled(managers(), hot()), owned=True).run()
    assert set(owners(world).values()) == {"cluster"}
    assert not asked(world, owned=False).tick().settled
    world.run()
    assert set(owners(world).values()) == {""}
    assert not world.did(a.DeletePod)
    assert not world.did(a.StopProcess)


def test_delete_makes_the_cluster_the_owner_and_only_from_a_live_read() -> None:
    world = asked(settled(managers(), hot()), owned=True)
    made = world.plan()
    assert {x.member for x in made.actions if isinstance(x, a.OwnVolume)} == {b.name for b in world.bodies.values()}
    assert made.needs_live
    assert not made.settled
    world.edit(settled_writes=False)
    assert not world.plan().actions


def test_retain_is_done_while_the_cluster_is_paused_or_an_edit_is_refused() -> None:
    refusal = Refusal("spec.image", "ImageWithoutVersion", "no version")
    for held in ({"paused": True}, {}):
        world = asked(settled(managers(), hot()), owned=True).run()
        world.edit(policy={"own_volumes": False, **held}, refusals=() if held else (refusal,)).ticks(2)
        assert set(owners(world).values()) == {""}
        world.edit(policy={"own_volumes": True, **held}).ticks(2)
        assert set(owners(world).values()) == {""}


def test_a_volume_that_was_kept_when_its_member_left_stays_kept() -> None:
    world = settled(managers(), hot(4), own_volumes=False).edit(pools=[managers(), hot(3)]).run()
    left = {b.name for b in world.bodies.values() if b.workload is None}
    assert len(left) == 1
    asked(world, owned=True).run()
    assert {name for name, owner in owners(world).items() if not owner} == left


def test_a_volume_that_was_to_go_with_the_cluster_is_kept_after_its_member_has_left() -> None:
    world = asked(settled(managers(), hot(4)), owned=True).run().edit(pools=[managers(), hot(3)]).run()
    assert set(owners(world).values()) == {"cluster"}
    asked(world, owned=False).run()
    assert set(owners(world).values()) == {""}


def test_a_claim_of_another_owner_is_named_and_left_alone() -> None:
    world = settled(managers(), hot())
    claim = world.bodies["c-hot-1"].claim
    assert claim is not None
    claim.owner = "another"
    asked(world, owned=True).ticks(3)
    assert "VolumeOwnedByAnother" in {w.reason for w in world.plan().waits}
    asked(world, owned=False).run()
    assert owners(world)["c-hot-1"] == "another"


def test_nothing_is_written_where_it_is_not_known_what_was_requested() -> None:
    world = asked(settled(managers(), hot()), owned=True).run()
    assert not world.edit(policy={}).plan().actions
