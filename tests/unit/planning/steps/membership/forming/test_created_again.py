"""A cluster that is deleted and created again on kept volumes: one database, and a word for each volume it needs."""

from typing import Any

import pytest
from msgspec.structs import replace

from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model.intent import Wait
from stateward.planning.model.observation import Pool
from stateward.planning.plan import plan
from stateward.planning.steps.membership.earlier_cluster import kept_data, kept_voters
from tests.unit.planning.pools import PoolSpec
from tests.unit.planning.steps.membership.test_left import made_again
from tests.unit.planning.steps.membership.test_replacement import cluster
from tests.unit.planning.world import World, gateway, hot, managers, mixed, settled


def needed(world: World) -> dict[str, Wait]:
    """Return the waits for kept volumes, by member."""
    return {w.subject: w for w in world.plan().waits if w.reason == "PoolNeeded"}


def test_managers_that_are_renamed_before_they_are_elected_again_stay_those_that_form_the_cluster() -> None:
    world = cluster(2)
    before = world.identity
    made_again(world).edit(answers=False).ticks(1)
    world.edit(pools=[managers(name="masters"), hot(2)]).ticks(60)
    assert world.bodies["c-masters-0"].pod is not None
    assert set(world.did(a.GrantBootstrap)) <= {"c-managers-0"}
    assert set(world.did(a.RecordBootstrap)) == {"c-managers-0"}
    world.edit(answers=True).run()
    assert world.identity == before
    assert world.voters == {"c-masters-0", "c-masters-1", "c-masters-2"}


def test_no_cluster_is_formed_while_a_removed_pool_has_the_volumes_of_earlier_managers() -> None:
    world = made_again(cluster(2)).edit(answers=False, pools=[managers(name="masters"), hot(2)]).ticks(5)
    assert world.bodies["c-masters-0"].pod is not None
    assert not world.did(a.RecordBootstrap)
    waits = needed(world)
    assert waits.keys() == {"c-managers-0", "c-managers-1", "c-managers-2"}
    assert all(w.stalled for w in waits.values())
    assert waits["c-managers-0"].message == (
        "the kept volume of c-managers-0 may hold the state of an earlier cluster of this name; it can only be used"
        " with pool managers in the spec. To form a new and empty cluster instead, annotate the cluster with"
        " stateward.dev/bootstrap-again=accept-data-loss"
    )
    world.edit(answers=True, pools=[managers(), managers(name="masters"), hot(2)]).run()
    assert not needed(world)


def test_new_managers_that_never_formed_a_cluster_are_not_taken_for_earlier_ones_when_it_is_created_once_more() -> None:
    world = made_again(cluster(2)).edit(answers=False, pools=[managers(name="masters"), hot(2)]).ticks(5)
    made_again(world).ticks(5)
    assert world.bodies["c-masters-0"].pod is not None
    assert not world.did(a.RecordBootstrap), "its volume is older than the resource, and empty"
    assert needed(world).keys() == {"c-managers-0", "c-managers-1", "c-managers-2"}


def test_a_claim_is_marked_before_its_member_may_form_the_cluster_and_those_of_others_when_they_join() -> None:
    world = World(managers(), hot()).until(lambda w: bool(w.did(a.GrantBootstrap)))
    assert world.did(a.MarkState) == ["c-managers-0"]
    world.run()
    later = [*HOT, "c-managers-0", "c-managers-1", "c-managers-2"]
    assert sorted(world.did(a.MarkState)[1:]) == later, "the first one again, with the version of its data"
    assert data_marks(world) == set(HOT)


HOT = ("c-hot-0", "c-hot-1", "c-hot-2")


def data_marks(world: World) -> set[str]:
    return {body.name for body in world.bodies.values() if body.claim is not None and body.claim.data}


def without_managers(world: World) -> World:
    """Create the cluster again after the volumes of its managers were lost."""
    made_again(world).edit(answers=False, identity="", voters=set())
    for name in [name for name in world.bodies if "managers" in name]:
        world.bodies.pop(name)
    return world


def test_each_volume_with_data_is_marked_once() -> None:
    """Any of them may be the only one that is left."""
    world = settled(managers(), hot(3), hot(2, "warm"), gateway(2))
    assert data_marks(world) == {*HOT, "c-warm-0", "c-warm-1"}
    world.kill("c-hot-0").run()
    assert not world.did(a.MarkState)


@pytest.mark.parametrize("pools", [(managers(), hot(2)), (managers(), hot(1)), (managers(ephemeral=True), hot(1))])
def test_no_cluster_is_formed_beside_the_data_of_an_earlier_one_whose_managers_are_lost(
    pools: tuple[Pool, ...],
) -> None:
    """The disaster this prevents: a new empty cluster accepts writes, and the volumes with the data never join it."""
    world = without_managers(cluster(2)).edit(pools=pools).ticks(20)
    assert world.bodies["c-managers-0"].pod is not None
    assert not world.did(a.RecordBootstrap)
    wait = next(w for w in world.plan().waits if w.reason == "ManagersLost")
    assert wait.stalled
    assert wait.message == (
        "the volumes of c-hot-0, c-hot-1 hold data of an earlier cluster of this name, and no volume of its managers is"
        " left: restore one, with the name, labels and annotations of its claim (stateward.dev/holds-state); members"
        " with earlier data never join a new cluster, and to form one without that data, annotate the cluster with"
        " stateward.dev/bootstrap-again=accept-data-loss"
    )
    world.edit(bootstrap_again=True).ticks(5)
    # A pod that keeps its data itself is another one after it was recreated to read its permission.
    assert world.did(a.RecordBootstrap) == ["c-managers-0"] * (2 if pools[0].ephemeral else 1)


def test_new_managers_are_not_taken_for_those_of_the_data_when_the_cluster_is_created_once_more() -> None:
    """Their volumes are older than the resource then, and empty."""
    world = without_managers(cluster(2)).ticks(5)
    made_again(world).ticks(60)
    assert world.bodies["c-managers-0"].pod is not None
    assert not world.did(a.RecordBootstrap)
    assert "ManagersLost" in {w.reason for w in world.plan().waits}


@pytest.mark.parametrize(
    "change", [{"data": False}, {"left": True}, {"terminating": True}, {"capacity": 0}, {"owner": "before"}]
)
def test_volumes_of_members_that_never_joined_a_cluster_or_have_left_it_hold_up_none(change: dict[str, Any]) -> None:
    """The first attempt to create a cluster may have failed: what was corrected must form it without more ado."""
    seen = without_managers(cluster(2)).ticks(3).observe()
    members = tuple(replace(m, claim=replace(m.claim, **change)) if m.claim is not None else m for m in seen.members)
    assert kept_data(derive(seen, 0.0)) == ["c-hot-0", "c-hot-1"]
    assert not kept_data(derive(replace(seen, members=members), 0.0))


@pytest.mark.parametrize("storage_class", [None, "fast"])
def test_no_cluster_is_formed_while_restored_claims_wait_for_the_volumes_that_they_name(
    storage_class: str | None,
) -> None:
    """After the loss of a Kubernetes cluster, with its storage class, and of the volume of one manager."""
    world = made_again(cluster(2)).edit(answers=False, unprovided={"manual"})
    world.edit(pools=[managers(storage_class=storage_class), hot(2, storage_class=storage_class)])
    world.bodies.pop("c-managers-0")
    for body in world.bodies.values():
        assert body.claim is not None
        body.claim.capacity, body.claim.named, body.claim.storage_class = 0, True, "manual"
    before = world.identity
    world.ticks(120)
    assert world.bodies["c-managers-0"].pod is not None
    assert not world.did(a.RecordBootstrap) + world.did(a.DeleteVolume)
    assert next(c.reason for c in world.status.conditions if c.type == "Stalled") == "MemberDoesNotStart"
    world.edit(answers=True, unprovided=set()).ticks(30)
    assert world.identity == before
    assert not world.did(a.GrantBootstrap)


def test_a_mark_that_was_not_written_is_written_before_the_grant() -> None:
    world = World(managers(), hot()).until(lambda w: bool(w.did(a.RecordBootstrap)))
    claim = world.bodies["c-managers-0"].claim
    assert claim is not None
    claim.state = False
    made = world.plan().actions
    assert [type(x) for x in made if not isinstance(x, a.Create)] == [a.MarkState]


@pytest.mark.parametrize("unknown", ["earlier", "state"])
def test_a_mark_or_the_age_of_a_claim_is_enough(unknown: str) -> None:
    """A backup restores claims and cluster resource at the same time; an operator without marks left older claims."""
    world = made_again(cluster(2)).edit(answers=False, pools=[managers(name="masters"), hot(2)])
    for body in world.bodies.values():
        assert body.claim is not None
        setattr(body.claim, unknown, False)
        body.claim.data = body.claim.data and unknown != "state"
    world.ticks(5)
    assert not world.did(a.RecordBootstrap)
    assert "c-managers-0" in needed(world)


def test_a_person_may_give_up_the_earlier_cluster() -> None:
    world = made_again(cluster(2)).edit(answers=False, pools=[managers(name="masters"), hot(2)]).ticks(5)
    world.edit(bootstrap_again=True).ticks(5)
    assert world.did(a.RecordBootstrap) == ["c-masters-0"]


def test_a_kept_manager_of_another_pool_than_the_first_forms_no_second_cluster() -> None:
    world = made_again(settled(mixed(3))).edit(answers=False, pools=[managers(), mixed(3)]).ticks(4)
    assert world.bodies["c-managers-0"].pod is not None
    assert set(world.did(a.RecordBootstrap)) == {"c-all-0"}


def test_a_manager_whose_claim_a_user_wrote_forms_the_cluster_later_as_its_volume_may_hold_an_earlier_one() -> None:
    world = made_again(cluster(2)).edit(identity="", voters=set())
    world.bodies["c-managers-0"].claim = None
    world.ticks(50)
    assert set(world.did(a.RecordBootstrap)) == {"c-managers-1"}
    assert not world.did(a.DeletePod), "an election needs no grant"
    world.run()
    assert world.did(a.DeletePod) == ["c-managers-1"]
    assert world.did(a.GrantBootstrap) == ["c-managers-1"]


def test_volumes_that_hold_no_earlier_cluster_hold_up_none() -> None:
    world = made_again(cluster(2)).edit(answers=False, pools=[managers(name="masters"), hot(2)]).ticks(3)
    seen = world.observe()
    kept = [m.name for m in kept_voters(derive(seen, world.now))]
    assert kept == ["c-managers-0", "c-managers-1", "c-managers-2"]
    unknown = {"earlier": False, "state": False}
    for change in ({"left": True}, {"terminating": True}, {"capacity": 0}, unknown):
        changes = {m.name: {**(change if m.name in kept else {}), "data": False} for m in seen.members}
        members = tuple(
            replace(m, claim=replace(m.claim, **changes[m.name])) if m.claim is not None else m for m in seen.members
        )
        made = plan(replace(seen, members=members), world.now)
        assert [x.member for x in made.actions if isinstance(x, a.RecordBootstrap)] == ["c-masters-0"], change


@pytest.mark.parametrize("pool", [hot(2, "all", ephemeral=True), mixed(2, "all", ephemeral=True)])
def test_earlier_managers_are_not_given_up_by_a_pool_that_keeps_its_data_in_pods_now(pool: PoolSpec) -> None:
    """The disaster this prevents: two pools swap names, and a second database forms beside the volumes of the first."""
    world = made_again(settled(mixed(3), indices=((2,),))).edit(answers=False, pools=[managers(3), hot(1), pool])
    world.ticks(80)
    assert not world.did(a.RecordBootstrap)
    waits = needed(world)
    assert waits.keys() == {"c-all-0", "c-all-1", "c-all-2"}
    assert "only be used with storage.ephemeral: false for pool all" in waits["c-all-0"].message
    agreed = world.copy().edit(bootstrap_again=True).until(lambda w: bool(w.did(a.RecordBootstrap)))
    assert agreed.did(a.RecordBootstrap) == ["c-managers-0"]
    world.edit(answers=True, pools=[managers(3), hot(1), mixed(3)]).run()
    assert not needed(world)


def test_managers_that_keep_their_data_in_pods_now_form_a_cluster() -> None:
    world = made_again(cluster(2)).edit(answers=False, pools=[managers(ephemeral=True), hot(2)], bootstrap_again=True)
    world.ticks(5)
    assert world.did(a.RecordBootstrap) == ["c-managers-3"], "the kept volumes keep their numbers"


def test_too_few_managers_on_kept_volumes_say_how_many_the_pool_needs() -> None:
    world = made_again(cluster(2)).edit(answers=False, pools=[managers(1), hot(2)]).ticks(5)
    assert not needed(world), "they may still be elected"
    world.ticks(80)
    (wait,) = [w for w in world.plan().waits if w.reason == "Bootstrapping"]
    assert wait.message.endswith("annotate the cluster with stateward.dev/bootstrap-again=accept-data-loss")
    assert "with 2 members of pool managers in the spec" in needed(world)["c-managers-1"].message
    assert "with 3 members of pool managers in the spec" in needed(world)["c-managers-2"].message


def test_kept_volumes_of_a_smaller_pool_are_asked_for_while_a_shard_is_missing() -> None:
    world = made_again(settled(managers(), hot(3), indices=((1,), (1,), (1,)))).edit(pools=[managers(), hot(1)])
    world.ticks(40)
    waits = needed(world)
    assert waits.keys() == {"c-hot-1", "c-hot-2"}
    assert "may hold the last copy of shard" in waits["c-hot-1"].message
    assert waits["c-hot-1"].message.endswith("it can only be used with 2 members of pool hot in the spec")
    assert waits["c-hot-2"].message.endswith("it can only be used with 3 members of pool hot in the spec")
    assert all(w.stalled for w in waits.values())
    world.edit(pools=[managers(), hot(3)]).run()
    world.edit(pools=[managers(), hot(1)]).run()
    assert not needed(world)


def test_kept_volumes_of_a_pool_that_lost_its_role_are_asked_for_while_a_shard_is_missing() -> None:
    world = made_again(settled(managers(), hot(2), hot(1, "warm"), indices=((1,), (1,), (1,))))
    world.edit(pools=[managers(), hot(2), gateway(0, "warm")]).ticks(40)
    asked = needed(world)["c-warm-0"].message
    assert asked.endswith("it can only be used with the role data for pool warm in the spec")


def test_a_kept_volume_that_only_its_mark_shows_to_hold_data_is_asked_for_while_a_shard_is_missing() -> None:
    """The disaster this prevents: the claim was made again for other roles, and no message says where the shard is."""
    world = made_again(settled(managers(), hot(2), hot(1, "warm"), indices=((1,), (1,), (1,))))
    claim = world.bodies["c-warm-0"].claim
    assert claim is not None
    claim.made_for = frozenset({"voting"})
    world.edit(pools=[managers(), hot(2), managers(0, "warm")]).ticks(40)
    asked = needed(world)["c-warm-0"].message
    assert asked.endswith("it can only be used with the role data for pool warm in the spec")
    world.edit(pools=[managers(), hot(2), mixed(1, "warm")]).run()
    assert "c-warm-0" in world.did(a.Create)


def test_a_member_is_never_created_on_a_volume_whose_data_its_pool_has_no_role_for() -> None:
    world = made_again(cluster(3)).edit(pools=[managers(), gateway(2, "hot", ephemeral=False)])
    assert "c-hot-0" not in {x.member for x in world.plan().actions if isinstance(x, a.Create)}
    assert "c-hot-3" in {x.member for x in world.plan().actions if isinstance(x, a.Create)}


def test_a_manager_is_never_created_on_a_volume_with_data_while_no_database_answers() -> None:
    """The disaster this prevents: it never starts without the role, and all others wait for it."""
    world = made_again(cluster(3)).edit(pools=[managers(), managers(2, "hot"), hot(2, "warm")])
    created = {x.member for x in world.plan().actions if isinstance(x, a.Create)}
    assert "c-hot-3" in created
    assert not created & {"c-hot-0", "c-hot-1", "c-hot-2"}


def test_a_kept_volume_with_state_and_data_asks_for_both_roles() -> None:
    world = made_again(settled(mixed(), indices=((2,),))).edit(pools=[managers(name="all"), hot(2)])
    told = needed(world)["c-all-0"].message
    assert "; it can only be used with the role data for pool all in the spec" in told
    world.edit(pools=[mixed(), hot(2)]).run()
    assert {"c-all-0", "c-all-1", "c-all-2"} <= world.pods().keys()


def test_members_of_a_removed_pool_that_get_no_pod_ask_for_the_pool_while_the_database_needs_them() -> None:
    world = made_again(cluster(2)).edit(answers=False, refused_inputs={("template/priority", "bad")})
    world.edit(pools=[managers(config={"template/priority": "bad"}), hot(2)]).ticks(2)
    world.edit(pools=[managers(name="masters"), hot(2)]).ticks(10)
    wait = needed(world)["c-managers-0"]
    assert wait.stalled
    assert wait.message == (
        "c-managers-0 does not start (its StatefulSet has created no pod for 30 seconds), and can only be repaired with"
        " pool managers in the spec"
    )


def state_marks(world: World) -> set[str]:
    return {body.name for body in world.bodies.values() if body.claim is not None and body.claim.state}


def test_volumes_of_managers_lose_their_mark_when_others_vote_in_their_place() -> None:
    """The disaster this prevents: a volume that cannot elect anything counts as that of a manager forever."""
    world = settled(mixed(3))
    assert state_marks(world) == {"c-all-0", "c-all-1", "c-all-2"}
    world.edit(pools=[managers(), hot(3, "all")]).run()
    assert state_marks(world) == {"c-managers-0", "c-managers-1", "c-managers-2"}
    assert len(data_marks(world)) == 3
    world.edit(pools=[managers(name="masters"), hot(3, "all")]).run()
    assert state_marks(world) == {"c-masters-0", "c-masters-1", "c-masters-2"}
    assert len(data_marks(world)) == 3


def test_a_manager_that_is_down_keeps_its_mark_also_if_it_was_taken_out_of_the_voting_configuration() -> None:
    world = settled(managers(5), hot(2))
    world.unschedulable.add("c-managers-4")
    world.kill("c-managers-4")
    world.voters.discard("c-managers-4")
    world.ticks(30)
    assert "c-managers-4" in state_marks(world)


def test_no_mark_is_taken_away_while_a_voter_has_none() -> None:
    world = settled(mixed(3)).edit(pools=[managers(), hot(3, "all")]).run()
    voter, other = world.bodies["c-managers-0"].claim, world.bodies["c-all-0"].claim
    assert voter is not None
    assert other is not None
    voter.state, other.state = False, True
    (first, *_) = (x for x in world.plan().actions if isinstance(x, a.MarkState | a.ForgetState))
    assert isinstance(first, a.MarkState)
    assert not [x for x in world.plan().actions if isinstance(x, a.ForgetState)]
    world.run()
    assert state_marks(world) == {"c-managers-0", "c-managers-1", "c-managers-2"}
