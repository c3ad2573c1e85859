"""Kept volumes of managers whose votes a database that does not answer may need."""

from random import Random

from stateward.planning.model import actions as a
from tests.unit.planning.search.disks import DiskWorld
from tests.unit.planning.search.faults import create_again, lose
from tests.unit.planning.search.pools import changed, pool

MANAGERS, DATA = pool("m", 3, voting=True), pool("h", 2, data=True)


def without(world: DiskWorld, *members: str) -> DiskWorld:
    """Delete the StatefulSets and pods of members."""
    for name in members:
        body = world.bodies[name]
        body.workload = body.pod = body.config = None
    return world


def needed(world: DiskWorld) -> dict[str, str]:
    """Return by member what would let it use its kept volume."""
    return {w.subject: w.message for w in world.plan().waits if w.reason == "PoolNeeded"}


def test_managers_whose_volumes_are_kept_are_not_lost_although_the_spec_asks_for_fewer() -> None:
    """The disaster this prevents: two of three managers are deleted by mistake, and the spec asks for one.

    When the third one loses its volume, the user is asked for a new and empty cluster. With the consent the operator
    forms it beside the volumes of the two, which could still elect a manager.
    """
    world = DiskWorld(MANAGERS, DATA, zones=0, max_unavailable=1)
    identity = world.run().index((2,), (2,)).run().identity
    without(world, "c-m-1", "c-m-2").edit(pools=[changed(MANAGERS, replicas=1), DATA]).ticks(100)
    world.lossy = True
    lose(world, world.bodies["c-m-0"])
    world.edit(bootstrap_again=True).ticks(50)
    assert world.majority_is_possible()
    assert "ManagersLost" not in {w.reason for w in world.plan().waits}
    assert set(needed(world)) == {"c-m-1", "c-m-2"}
    assert world.identity == identity


def test_managers_that_were_deleted_by_mistake_come_back_with_their_votes_after_pools_have_swapped_roles() -> None:
    """The disaster this prevents: they come back as members without votes, and no later edit makes them vote again."""
    both = pool("a", 3, voting=True, data=True)
    swapped = [changed(both, voting=False), changed(DATA, voting=True)]
    world = DiskWorld(both, DATA, zones=0, max_unavailable=1)
    identity = world.run().index((2,), (2,)).run().identity
    without(world, "c-a-1", "c-a-2").edit(pools=swapped).run()
    assert world.identity == identity
    assert {name.rpartition("-")[0] for name in world.voters} == {"c-h"}


def test_no_member_without_a_vote_gets_a_volume_whose_vote_may_be_needed_if_no_label_tells_its_roles() -> None:
    """The disaster this prevents: nothing tells that it voted, it comes back without a vote, and no edit gives one."""
    both = pool("a", 3, voting=True, data=True)
    swapped = [changed(both, voting=False), changed(DATA, voting=True)]
    world = DiskWorld(both, DATA, zones=0, max_unavailable=1)
    identity = world.run().index((2,), (2,)).run().identity
    without(world, "c-a-1", "c-a-2")
    for name in ("c-a-1", "c-a-2"):
        claim = world.bodies[name].claim
        assert claim is not None
        claim.made_for = None
    world.edit(pools=swapped).ticks(100)
    assert set(needed(world)) == {"c-a-1", "c-a-2"}
    world.edit(pools=[changed(both, replicas=5), swapped[1]]).run()
    assert world.identity == identity


def test_members_of_an_earlier_cluster_that_were_made_without_a_vote_say_what_a_new_one_needs() -> None:
    """The disaster this prevents: pools swap their roles, the manager that forms the cluster is lost, and all wait."""
    world = DiskWorld(pool("m", 1, voting=True), changed(DATA, replicas=3), zones=0, max_unavailable=1)
    world.run().edit(lossy=True, accepts_losses=True)
    create_again(world, Random(0), world.bodies["c-m-0"])  # noqa: S311 - nothing here is secret
    world.edit(pools=[pool("m", 1, voting=True), DATA], may_form=False).log.clear()
    world.until(lambda w: bool(w.did(a.RecordBootstrap)))
    lose(world, world.bodies["c-m-0"])
    swapped = [pool("h", 2, voting=True), pool("m", 1, data=True)]
    world.edit(pools=swapped, bootstrap_again=True, may_form=True).ticks(60)
    told = [w.message for w in world.plan().waits if w.reason == "EarlierVolumes"]
    assert told
    assert told[0].startswith(
        "no manager has an empty volume to form a new cluster on: add a member to pool h, or give"
    )
    world.edit(pools=[pool("h", 3, voting=True), pool("m", 1, data=True)])
    world.until(lambda w: bool(w.did(a.RecordBootstrap)[1:]))
    assert world.did(a.RecordBootstrap)[-1] == "c-h-3"
