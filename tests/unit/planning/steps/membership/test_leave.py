"""Leaving: data first, then the vote, then the member; what cannot work is refused before it starts."""

import msgspec
import pytest

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from tests.unit.planning.world import Index, World, gateway, hot, managers, mixed, settled


def reasons(world: World) -> set[str]:
    return {w.reason for w in world.plan().waits}


def test_a_data_member_leaves_when_it_holds_nothing() -> None:
    world = settled(managers(), hot(4), indices=((2,), (2,), (1,)))
    world.edit(pools=[managers(), hot(3)]).run()
    assert world.did(a.Release) == ["c-hot-3"]
    assert not world.draining
    assert world.bodies["c-hot-3"].claim is not None, "volumes are kept unless it is said otherwise"
    assert set(world.restarts) == set()


def test_data_members_drain_together() -> None:
    world = settled(managers(), hot(6), indices=((2,), (2,), (1,), (1,)))
    world.edit(pools=[managers(), hot(3)]).tick()
    assert world.draining == {"c-hot-3", "c-hot-4", "c-hot-5"}
    world.run()


def test_a_member_is_released_only_after_the_database_was_told_to_send_it_nothing_more() -> None:
    world = settled(managers(), hot(4))
    world.edit(pools=[managers(), hot(3)]).tick()
    assert world.draining == {"c-hot-3"}
    assert not world.did(a.Release)
    world.run()


def test_reverting_half_way_brings_the_member_back_into_use() -> None:
    world = settled(managers(), hot(4), indices=((2,), (1,), (1,), (1,)))
    world.edit(pools=[managers(), hot(3)]).tick()
    world.edit(pools=[managers(), hot(4)]).run()
    assert not world.draining
    assert not world.did(a.Release)


def test_reverting_after_the_member_was_released_makes_it_again() -> None:
    world = settled(managers(), hot(4), indices=((2,),))
    world.edit(pools=[managers(), hot(3)]).until(lambda w: "c-hot-3" in w.did(a.Release))
    world.edit(pools=[managers(), hot(4)]).run()
    assert "c-hot-3" in world.pods()
    assert not world.draining


def test_volumes_of_members_that_left_are_deleted_where_that_was_requested() -> None:
    world = settled(managers(), hot(4), indices=((2,),), delete_volumes=True)
    world.edit(pools=[managers(), hot(3)]).run()
    assert world.did(a.DeleteVolume) == ["c-hot-3"]
    assert "c-hot-3" not in world.bodies


def test_a_shrink_below_the_number_of_copies_is_refused_before_anything_moves() -> None:
    world = settled(managers(), hot(3), indices=((3,),))
    world.edit(pools=[managers(), hot(2)]).ticks(5)
    assert not world.log
    assert "ShrinkRefused" in reasons(world)
    world.edit(pools=[managers(), hot(3)]).run()


def test_a_shrink_that_the_disks_cannot_take_is_refused_before_anything_moves() -> None:
    world = settled(managers(), hot(3), indices=((1,),) * 6)
    world.edit(disk_total=3 << 30, pools=[managers(), hot(2)]).ticks(5)
    assert not world.log
    assert any("have to move and only" in w.message and w.stalled for w in world.plan().waits)


def test_a_unit_that_adapts_its_copies_does_not_hold_a_shrink_back() -> None:
    world = settled(managers(), hot(3)).index(Index("security[0]", 3, flexible=True))
    world.edit(pools=[managers(), hot(2)]).run()
    assert world.did(a.Release) == ["c-hot-2"]


def test_managers_shrink_from_three_to_one_one_at_a_time_and_lose_their_votes_first() -> None:
    world = settled(managers(3), hot(2))
    world.edit(pools=[managers(1), hot(2)]).run()
    assert world.did(a.Release) == ["c-managers-2", "c-managers-1"]
    assert world.voters == {"c-managers-0"}
    assert not world.exclusions
    assert world.available


def test_managers_shrink_from_five_to_three() -> None:
    world = settled(managers(5), hot(2))
    world.edit(pools=[managers(3), hot(2)]).run()
    assert world.did(a.Release) == ["c-managers-4", "c-managers-3"]
    assert len(world.voters) == 3


def test_the_last_manager_never_leaves() -> None:
    world = settled(managers(1), hot(2))
    world.edit(pools=[hot(2)]).ticks(10)
    assert not world.did(a.Release)
    assert any("last manager" in w.message for w in world.plan().waits)


def test_the_only_voter_of_a_database_that_appoints_its_voters_hands_its_vote_on() -> None:
    world = settled(managers(1), hot(2))
    world.edit(pools=[hot(2)])
    observed = world.observe()
    assert isinstance(observed.database, o.Database)
    database = msgspec.structs.replace(observed.database, appoints_voters=True)
    decided = plan(msgspec.structs.replace(observed, database=database), world.now)
    assert [x.members for x in decided.actions if isinstance(x, a.ExcludeVoters)] == [frozenset({"c-managers-0"})]
    assert any("the vote of c-managers-0 is being moved" in w.message for w in decided.waits)


def test_an_all_in_one_cluster_shrinks_with_its_data_and_votes() -> None:
    world = settled(mixed(4), indices=((2,), (1,), (2,)))
    world.edit(pools=[mixed(3)]).run()
    assert world.did(a.Release) == ["c-all-3"]


def test_a_member_that_never_joined_can_be_taken_away_again() -> None:
    world = settled(managers(), hot(3), indices=((2,),))
    world.edit(unschedulable={"c-hot-3"}, pools=[managers(), hot(4)]).ticks(5)
    world.edit(pools=[managers(), hot(3)]).run()
    assert world.did(a.Release) == ["c-hot-3"]


def test_a_manager_that_never_joined_can_be_taken_away_again() -> None:
    world = settled(managers(3), hot(2))
    world.edit(hang={("config/x", "1")}, pools=[managers(3), hot(2), managers(1, "more", config={"config/x": "1"})])
    world.ticks(5)
    world.edit(pools=[managers(3), hot(2)]).run()
    assert world.did(a.Release) == ["c-more-0"]


def test_a_pool_is_renamed_new_in_data_over_old_out() -> None:
    world = settled(managers(), hot(3), indices=((2,), (1,), (2,)))
    world.edit(pools=[managers(), hot(3, "data")]).until(lambda w: bool(w.did(a.Release)))
    assert {"c-data-0", "c-data-1", "c-data-2"} <= world.pods().keys()
    world.run()
    assert sorted(world.did(a.Release)) == ["c-hot-0", "c-hot-1", "c-hot-2"]
    assert all(c.member.startswith("c-data") for i in world.indices for c in i.copies)


def test_a_pool_of_managers_is_renamed_without_losing_the_quorum() -> None:
    world = settled(managers(3), hot(2), indices=((2,),))
    world.hooks.append(lambda _: assert_available(world))
    world.edit(pools=[managers(3, "masters"), hot(2)]).run()
    assert world.voters == {"c-masters-0", "c-masters-1", "c-masters-2"}


def test_a_pool_of_one_manager_is_renamed() -> None:
    world = settled(managers(1), hot(2), indices=((2,),))
    world.hooks.append(lambda _: assert_available(world))
    world.edit(pools=[managers(1, "masters"), hot(2)]).run()
    assert world.voters == {"c-masters-0"}


def assert_available(world: World) -> None:
    assert world.available


def test_a_renamed_pool_with_a_wrong_image_costs_nothing() -> None:
    world = settled(managers(), hot(3), indices=((2,),))
    bad = hot(3, "data", config={"template/image": "wrong"})
    world.edit(crash={("template/image", "wrong")}, pools=[managers(), bad]).ticks(20)
    assert not world.draining
    assert "NewMemberStuck" in reasons(world)
    world.edit(pools=[managers(), hot(3)]).run()
    assert sorted(world.did(a.Release)) == ["c-data-0", "c-data-1", "c-data-2"]


def test_a_removed_pool_leaves() -> None:
    world = settled(managers(), hot(3), hot(2, "warm"), gateway(2), indices=((2,), (2,)))
    world.edit(pools=[managers(), hot(3)]).run()
    assert len(world.pods()) == 6


def test_a_leaving_member_that_is_down_and_may_hold_the_last_copy_stays() -> None:
    world = settled(managers(), hot(3), indices=((1,), (1,), (1,)))
    world.kill("c-hot-2").edit(unschedulable={"c-hot-2"}).ticks(2)
    world.edit(pools=[managers(), hot(2)], policy={"delete_volumes": True}).ticks(50)
    assert not world.did(a.Release)
    assert "MayHoldLastCopy" in reasons(world)
    world.edit(unschedulable=set()).run()
    assert world.did(a.Release) == ["c-hot-2"]


def test_a_leaving_member_that_is_down_goes_once_the_rest_is_healthy() -> None:
    world = settled(managers(), hot(4), indices=((2,), (2,)))
    world.kill("c-hot-3").edit(unschedulable={"c-hot-3"}).ticks(2)
    world.edit(pools=[managers(), hot(3)]).run()
    assert world.did(a.Release) == ["c-hot-3"]


def test_a_removed_pool_whose_member_was_scaled_to_zero_manually_keeps_what_may_be_the_last_copy() -> None:
    world = settled(managers(), hot(2), hot(1, "old"), indices=((1,), (1,), (1,)), delete_volumes=True)
    workload = world.bodies["c-old-0"].workload
    assert workload is not None
    workload.replicas = 0
    world.pass_time()
    world.pass_time()
    world.edit(pools=[managers(), hot(2)]).ticks(20)
    assert not world.did(a.DeleteVolume)
    assert not world.did(a.DeleteMember)
    (wait,) = [w for w in world.plan().waits if w.reason == "PoolNeeded"]
    assert wait.message.endswith("; it can only be used with pool old in the spec")
    world.copy().edit(pools=[managers(), hot(2), hot(1, "old")]).run()
    workload.replicas = 1
    world.run()


def test_a_member_scaled_to_zero_manually_is_brought_back_to_leave_as_it_should() -> None:
    world = settled(managers(), hot(3), indices=((1,), (1,), (1,)), delete_volumes=True)
    workload = world.bodies["c-hot-2"].workload
    assert workload is not None
    workload.replicas = 0
    world.pass_time()
    world.pass_time()
    world.edit(pools=[managers(), hot(2)]).run()
    assert world.did(a.Create) == world.did(a.Release) == world.did(a.DeleteVolume) == ["c-hot-2"]


def test_nothing_leaves_while_the_database_does_not_answer() -> None:
    world = settled(managers(), hot(4), indices=((2,),), delete_volumes=True)
    world.edit(pools=[managers(), hot(3)]).until(lambda w: bool(w.did(a.Release)))
    before = len(world.log)
    world.edit(answers=False).ticks(10)
    assert len(world.log) == before
    world.edit(answers=True).run()
    assert world.did(a.DeleteVolume) == ["c-hot-3"]


def test_a_refused_shrink_does_not_keep_its_members_from_being_upgraded() -> None:
    world = settled(managers(), hot(3), indices=((3,),))
    world.edit(pools=[managers(), hot(2)]).ticks(3)
    world.edit(version="2.19.5").until(lambda w: w.status.version == "2.19.5")
    assert set(world.pods().values()) == {"2.19.5"}
    assert len(world.pods()) == 6


def test_a_leaving_member_that_a_bad_change_broke_is_repaired_before_it_leaves() -> None:
    world = settled(managers(), hot(3), indices=((1,), (1,), (1,)))
    world.edit(crash={("config/a", "bad")}, policy={"sole_copy": o.SoleCopy.INTERRUPT})
    world.edit(pools=[managers(), hot(3, config={"config/a": "bad"})]).ticks(12)
    assert len(world.pods()) == 5
    world.edit(pools=[managers(), hot(2)]).run()
    assert world.did(a.Release) == ["c-hot-2"]


def test_a_drain_that_becomes_impossible_waits_and_says_why() -> None:
    world = settled(managers(), hot(4), indices=((2,), (2,), (3,), (3,)))
    world.edit(pools=[managers(), hot(3)]).tick()
    for name in ("c-hot-0", "c-hot-1"):
        world.kill(name)
    world.edit(unschedulable={"c-hot-0", "c-hot-1"}).ticks(40)
    assert not world.did(a.Release)
    assert reasons(world) & {"DrainBlocked", "MayHoldLastCopy"}
    world.edit(unschedulable=set()).run()


def test_a_leaving_pod_that_never_stops_does_not_hold_other_changes_back() -> None:
    world = settled(managers(), hot(4), indices=((2,),))
    world.edit(stuck={"c-hot-3"}, pools=[managers(), hot(3)]).until(lambda w: bool(w.did(a.Release)))
    world.ticks(3)
    config = {"config/a": "1"}
    world.edit(pools=[managers(), hot(3, config=config)]).ticks(40)
    assert sorted(world.did(a.DeletePod)) == ["c-hot-0", "c-hot-1", "c-hot-2"]
    world.edit(stuck=set()).run()


def test_a_dead_manager_does_not_keep_its_pool_from_being_renamed() -> None:
    world = settled(managers(3), hot(2), indices=((2,),))
    world.kill("c-managers-1").edit(unschedulable={"c-managers-1"}).ticks(3)
    world.edit(pools=[managers(3, "masters"), hot(2)]).run()
    assert world.voters == {"c-masters-0", "c-masters-1", "c-masters-2"}


def test_no_vote_is_taken_while_a_manager_that_stays_is_down() -> None:
    world = settled(managers(5), hot(2))
    world.kill("c-managers-0").edit(unschedulable={"c-managers-0"}).ticks(3)
    world.edit(pools=[managers(3), hot(2)]).ticks(20)
    assert not world.exclusions
    assert not world.did(a.Release)
    assert any("c-managers-0 does not serve" in w.message for w in world.plan().waits)
    world.edit(unschedulable=set()).run()


def test_a_manager_that_leaves_and_is_down_goes_first() -> None:
    world = settled(managers(5), hot(2))
    world.kill("c-managers-3").edit(unschedulable={"c-managers-3"}).ticks(3)
    world.edit(pools=[managers(3), hot(2)]).run()
    assert world.did(a.Release) == ["c-managers-3", "c-managers-4"]


def test_an_upgrade_and_other_roles_in_one_edit_come_to_the_same_end() -> None:
    world = settled(managers(), mixed(3, "hot"), indices=((2,), (1,)))
    world.edit(version="2.19.5", pools=[managers(), hot(3)]).run(900)
    assert set(world.pods().values()) == {"2.19.5"}
    assert len(world.pods()) == 6


def test_a_member_whose_vote_was_taken_for_a_restart_stays_until_its_replacement_has_joined() -> None:
    """A bad change has broken the manager meanwhile; with it gone, the other one would be all that is left."""
    bad = {"config/a": "bad"}
    world = settled(mixed(2), indices=((2,),)).edit(crash={("config/a", "bad")})
    world.edit(pools=[mixed(2, config={"config/a": "good"})]).until(lambda w: bool(w.exclusions))
    excluded = next(iter(world.exclusions))
    world.edit(pools=[mixed(2, config=bad)]).until(lambda w: excluded not in w.joined())
    world.ticks(5)
    world.edit(pools=[mixed(2, config=bad, storage_class="fast")]).ticks(40)
    assert not world.did(a.Release)
    assert world.available
    world.edit(pools=[mixed(2, storage_class="fast")]).run()


def test_a_member_without_data_or_vote_is_replaced_by_one_that_has_joined_before() -> None:
    world = settled(managers(1), hot(2), gateway(1))
    world.edit(pools=[managers(1), hot(2), gateway(1, storage_class="fast")]).until(lambda w: bool(w.did(a.Release)))
    assert world.bodies["c-gateway-1"].pod is not None
    assert world.bodies["c-gateway-1"].pod.ready
    world.run()


def test_what_breaks_a_new_member_is_not_given_to_those_that_serve() -> None:
    bad = {"config/a": "bad"}
    world = settled(managers(1), hot(2), indices=((1,), (1,)), sole_copy=o.SoleCopy.WAIT)
    world.edit(crash={("config/a", "bad")}, pools=[managers(1), hot(3, config=bad)]).ticks(20)
    world.edit(policy={"sole_copy": o.SoleCopy.INTERRUPT}).ticks(20)
    assert not world.did(a.DeletePod)
    world.edit(pools=[managers(1), hot(3)]).run()


def test_a_coordinating_pool_is_renamed_while_one_of_its_members_always_serves() -> None:
    world = settled(managers(), hot(3), gateway(2), indices=((2,),))
    world.edit(pools=[managers(), hot(3), gateway(2, name="edge")])
    for _ in range(40):
        world.tick()
        forwards = [b for b in world.bodies.values() if b.pod and b.pod.ready and b.pool in ("edge", "gateway")]
        assert len(forwards) >= 2
    world.run()
    assert {n for n in world.pods() if "gateway" in n} == set()


def test_a_member_that_cannot_be_told_to_leave_yet_has_the_databases_reason() -> None:
    world = settled(managers(), hot(4), indices=((2,),))
    world.edit(pools=[managers(), hot(3)])
    observed = world.observe()
    assert isinstance(observed.database, o.Database)
    units = tuple(u for u in observed.database.units if all(c.member != "c-hot-3" for c in u.copies))
    why = {"c-hot-3": "c-hot-1 has been missing for only 3 s, and may be coming back"}
    database = msgspec.structs.replace(observed.database, units=units, undrainable=why)
    waits = plan(msgspec.structs.replace(observed, database=database), world.now).waits
    (wait,) = (w for w in waits if w.subject == "c-hot-3")
    assert wait.reason == "DrainBlocked"
    assert why["c-hot-3"] in wait.message


def test_a_vote_that_no_member_can_take_over_has_the_databases_reason() -> None:
    world = settled(managers(), hot(3))
    world.edit(pools=[managers(2), hot(3)])
    observed = world.observe()
    assert isinstance(observed.database, o.Database)
    why = dict.fromkeys(observed.database.voters, "no other member has a volume")
    database = msgspec.structs.replace(observed.database, unmovable=why)
    waits = plan(msgspec.structs.replace(observed, database=database), world.now).waits
    assert any(w.reason == "VoteRemovalPending" and "no other member has a volume" in w.message for w in waits)


@pytest.mark.parametrize(("members", "copies"), [(1, 2), (3, 4)])
def test_a_manager_with_copies_that_have_no_other_place_loses_its_vote_and_leaves(members: int, copies: int) -> None:
    """The disaster this prevents: it waits for its turn among the managers, which never comes while it has copies."""
    world = settled(mixed(members), indices=((copies,),))
    world.edit(policy={"replacement": o.Replacement(replace=frozenset({"c-all-0"}))}).run()
    assert world.did(a.Release) == ["c-all-0"]
    assert "c-all-0" not in world.voters


def test_a_manager_that_leaves_takes_no_vote_over_from_its_successor_that_is_restarted_on_request() -> None:
    """The disaster this prevents: both are excluded from voting, and no manager may vote."""
    world = settled(managers(1), hot(2)).edit(pools=[managers(1, "masters"), hot(2)])
    world.until(lambda w: "c-masters-0" in w.voters and set(w.exclusions) == {"c-managers-0"})
    pod = world.bodies["c-masters-0"].pod
    assert pod is not None
    pod.phase = "schedule"
    made = world.plan()
    assert not [x for x in made.actions if isinstance(x, a.ExcludeVoters) and "c-masters-0" in x.members]
    assert made.intents["c-masters-0"].sentence.endswith("the managers would lose their quorum")
