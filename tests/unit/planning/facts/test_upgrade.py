"""Upgrading: pools in order, one safe set at a time, and a way out of everything that goes wrong."""

from msgspec import structs

from stateward.planning.facts.change import downgrade_problem
from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from tests.unit.planning.world import World, gateway, hot, managers, mixed, settled

OLD, NEW = "2.17.1", "2.19.5"
NOW = 1e6


def cluster(**more: object) -> World:
    return settled(managers(), hot(), gateway(), indices=((2,), (2,), (2,)), **more)


def test_pools_change_in_order_data_first_and_the_elected_manager_last() -> None:
    world = cluster().edit(version=NEW, leader="c-managers-2")
    leader = world.leader
    world.run()
    order = world.did(a.DeletePod)
    assert [name[2:].rsplit("-", 1)[0] for name in order] == ["hot"] * 3 + ["gateway"] + ["managers"] * 3
    assert order[-1] == leader
    assert world.status.version == NEW


def test_a_pool_with_data_and_votes_comes_between_data_and_the_rest() -> None:
    world = settled(mixed(3), hot(2), gateway(1), indices=((2,),)).edit(version=NEW).run()
    pools = list(dict.fromkeys(name.rsplit("-", 1)[0] for name in world.did(a.DeletePod)))
    assert pools == ["c-hot", "c-all", "c-gateway"]


def test_the_user_orders_pools_only_within_the_safe_order() -> None:
    world = settled(managers(), hot(2, "one"), hot(2, "two"), order=("managers", "two")).edit(version=NEW).run()
    pools = list(dict.fromkeys(name.rsplit("-", 1)[0] for name in world.did(a.DeletePod)))
    assert pools == ["c-two", "c-one", "c-managers"]


def test_tiers_change_from_the_coldest_to_the_hottest() -> None:
    world = settled(managers(), hot(2, "hot", tier=3), hot(2, "cold", tier=1)).edit(version=NEW).run()
    pools = list(dict.fromkeys(name.rsplit("-", 1)[0] for name in world.did(a.DeletePod)))
    assert pools == ["c-cold", "c-hot", "c-managers"]


def test_every_member_restarts_once_and_allocation_is_restored() -> None:
    world = cluster().edit(version=NEW).run()
    assert set(world.restarts.values()) == {1}
    assert world.allocation is o.Allocation.ALL
    assert len(world.did(a.LimitAllocation)) == 3


def test_the_pod_goes_right_after_the_limit_and_the_flush() -> None:
    world = cluster().edit(version=NEW).until(lambda w: bool(w.did(a.DeletePod)))
    assert [type(x) for _, x in world.log[-3:]] == [a.LimitAllocation, a.Flush, a.DeletePod]


def test_the_deployed_version_changes_only_when_every_member_has_the_new_one() -> None:
    world = cluster().edit(version=NEW)
    while world.status.version == OLD:
        everywhere = set(world.pods().values()) == {NEW} and len(world.pods()) == 7
        world.tick()
        assert (world.status.version == NEW) == everywhere
    assert set(world.pods().values()) == {NEW}


def test_an_evicted_member_of_a_later_pool_comes_back_with_the_old_version() -> None:
    world = cluster().edit(version=NEW).ticks(2)
    world.kill("c-managers-1").until(lambda w: "c-managers-1" in w.pods())
    assert world.pods()["c-managers-1"] == OLD
    world.run()


def test_a_member_of_a_later_pool_comes_back_with_the_desired_version_if_all_others_have_left_its_own() -> None:
    """All others run 2.18.0 when 2.19.5 is desired: a node of 2.17.1 would be refused by each of them, forever."""
    world = settled(mixed(3), gateway(), indices=((2,), (2,))).edit(version="2.18.0")
    world.until(lambda w: [v for n, v in w.pods().items() if n.startswith("c-all")] == ["2.18.0"] * 3)
    world.edit(version=NEW, hang={("version", OLD)}).kill("c-gateway-0").until(lambda w: "c-gateway-0" in w.pods())
    assert world.pods()["c-gateway-0"] == NEW
    world.run()
    assert set(world.pods().values()) == {NEW}


def test_a_member_of_a_later_pool_that_is_broken_gets_its_fix_with_the_old_version() -> None:
    world = cluster().edit(unschedulable={"c-gateway-0"}, version=NEW).kill("c-gateway-0").ticks(5)
    world.edit(pools=[managers(), hot(), gateway(config={"template/size": "small"})], unschedulable=set())
    bodies = world.bodies["c-gateway-0"]
    assert bodies.pod is not None
    world.run()
    assert set(world.pods().values()) == {NEW}


def test_no_other_member_goes_while_the_restarted_member_has_not_joined_with_the_new_version() -> None:
    world = cluster().edit(hang={("version", NEW)}, version=NEW).ticks(40)
    assert world.did(a.DeletePod) == ["c-hot-2"]
    assert len(world.pods()) == 6


def test_a_version_that_does_not_start_stops_at_the_first_member_and_a_fix_goes_through() -> None:
    world = cluster().edit(crash={("version", NEW)}, version=NEW).ticks(40)
    assert world.did(a.DeletePod) == ["c-hot-2"]
    stalled = next(c for c in world.status.conditions if c.type == "Stalled")
    assert stalled.status == "True"
    assert "c-hot-2 does not start" in stalled.message
    world.edit(version="2.19.6").run()
    assert set(world.pods().values()) == {"2.19.6"}


def test_a_version_that_does_not_start_can_be_reverted() -> None:
    world = cluster().edit(crash={("version", NEW)}, version=NEW).ticks(40)
    world.edit(version=OLD).run()
    assert set(world.pods().values()) == {OLD}
    assert world.did(a.DeletePod) == ["c-hot-2", "c-hot-2"]


def test_a_version_that_hangs_in_silence_can_be_reverted_at_once() -> None:
    world = cluster().edit(hang={("version", NEW)}, version=NEW).ticks(6)
    world.edit(version=OLD).ticks(3)
    assert world.did(a.DeletePod) == ["c-hot-2", "c-hot-2"]
    world.run()


def test_after_a_member_has_joined_with_the_new_version_going_back_is_refused_by_name_and_forward_works() -> None:
    world = cluster().edit(version=NEW).until(lambda w: w.pods().get("c-hot-2") == NEW)
    world.ticks(1).edit(version=OLD).ticks(20)
    refused = [w for w in world.plan().waits if w.reason == "CannotGoBack" and w.subject == "spec.version"]
    assert refused
    assert "c-hot-2" in refused[0].message
    assert world.pods()["c-hot-2"] == NEW
    world.edit(pools=[managers(), hot(), gateway(2)]).until(lambda w: "c-gateway-1" in w.pods())
    world.edit(version=NEW).run()
    assert set(world.pods().values()) == {NEW}


def test_a_member_that_has_joined_cannot_go_back_from_the_first_answer_that_shows_it_there() -> None:
    """The disaster this prevents: it joins, nothing has recorded it yet, and its next pod gets the old version."""
    world = cluster().edit(version=NEW).until(lambda w: w.pods().get("c-hot-2") == NEW)
    assert world.observe().records["c-hot-2"].version == OLD
    made = world.edit(version=OLD).plan()
    assert not [x for x in made.actions if isinstance(x, a.Stage) and x.member == "c-hot-2"]
    assert "CannotGoBack" in {w.reason for w in made.waits}


def test_a_member_that_cannot_go_back_is_not_given_the_old_version_when_it_is_evicted() -> None:
    world = cluster().edit(version=NEW).until(lambda w: w.pods().get("c-hot-2") == NEW)
    world.ticks(1).edit(version=OLD).ticks(5).kill("c-hot-2").ticks(30)
    assert world.pods()["c-hot-2"] == NEW


def test_a_third_version_half_way_goes_forward_from_where_each_member_is() -> None:
    world = cluster().edit(version=NEW).until(lambda w: "c-hot-1" in w.did(a.DeletePod))
    world.edit(version="3.0.0").run()
    assert set(world.pods().values()) == {"3.0.0"}
    assert all(x.version != OLD for _, x in world.log if isinstance(x, a.Stage))


def test_a_config_change_in_the_middle_is_one_restart_for_those_still_to_come() -> None:
    world = cluster().edit(version=NEW).until(lambda w: w.pods().get("c-hot-2") == NEW)
    config = {"config/a": "1"}
    world.edit(pools=[managers(config=config), hot(config=config), gateway(config=config)]).run()
    assert world.restarts.pop("c-hot-2") == 2
    assert set(world.restarts.values()) == {1}


def test_version_config_and_template_in_one_edit_are_one_restart_per_member() -> None:
    config = {"config/a": "1", "template/env": "x"}
    world = cluster().edit(version=NEW, pools=[managers(config=config), hot(config=config), gateway(config=config)])
    world.run()
    assert set(world.restarts.values()) == {1}


def test_ephemeral_members_are_drained_before_they_restart_and_used_again_after() -> None:
    world = settled(managers(), hot(ephemeral=True), indices=((2,), (1,), (1,)))
    world.edit(version=NEW).run()
    assert not world.draining
    assert not world.did(a.LimitAllocation)
    assert set(world.pods().values()) == {NEW}


def test_ephemeral_members_are_drained_one_at_a_time_however_many_may_be_down() -> None:
    world = settled(managers(), hot(3, ephemeral=True), indices=((2,), (1,), (1,), (1,)), max_unavailable=None)
    world.hooks.append(lambda _: drained_alone(world))
    world.edit(version=NEW).run()
    assert len([x for _, x in world.log if isinstance(x, a.Drain)]) <= 6


def test_the_member_that_is_drained_already_continues_to_be_drained_though_another_one_would_come_first() -> None:
    world = settled(managers(), hot(3, ephemeral=True), indices=((2,), (2,)))
    world.edit(version=NEW).tick()
    assert world.draining == {"c-hot-2"}
    world.stage(a.Stage("by an earlier plan", "c-hot-0", "hot", NEW))
    assert world.edit(draining=frozenset({"c-hot-0"})).plan().intents["c-hot-0"].state.value != "Waiting"
    assert not [x for x in world.plan().actions if isinstance(x, a.Drain)]
    world.run()


def drained_alone(world: World) -> None:
    assert len(world.draining) <= 1


def test_ephemeral_members_of_which_there_are_as_many_as_copies_can_still_change() -> None:
    world = settled(managers(), hot(2, ephemeral=True), indices=((2,), (2,)))
    world.edit(version=NEW).run()
    assert set(world.pods().values()) == {NEW}


def test_the_only_ephemeral_data_member_is_never_restarted_with_data() -> None:
    world = settled(managers(), hot(1, ephemeral=True), indices=((1,),))
    world.edit(version=NEW).ticks(20)
    assert not world.did(a.DeletePod)
    assert any("which loses its data with its pod" in w.message for w in world.plan().waits)


def test_two_managers_move_the_vote_before_one_restarts() -> None:
    world = settled(managers(2), hot(2), indices=((2,),))
    world.hooks.append(lambda _: assert_available(world))
    world.edit(version=NEW).run()
    assert set(world.pods().values()) == {NEW}
    assert not world.exclusions


def assert_available(world: World) -> None:
    assert world.available


def test_a_single_node_cluster_is_upgraded_though_it_is_yellow_for_ever() -> None:
    world = settled(mixed(1), indices=((2,), (1,)))
    world.edit(version=NEW).run()
    assert world.pods() == {"c-all-0": NEW}


def test_the_only_manager_with_its_state_in_its_pod_is_never_restarted() -> None:
    world = settled(managers(1, ephemeral=True), hot(2), indices=((2,),))
    world.edit(version=NEW).ticks(40)
    assert "c-managers-0" not in world.did(a.DeletePod)
    assert any("and its pod holds the cluster state" in w.message for w in world.plan().waits)


def test_a_replica_that_only_upgraded_nodes_may_take_does_not_stop_the_upgrade() -> None:
    """A new index whose primary is on the only upgraded node stays yellow until a second one is upgraded."""
    world = cluster().edit(version=NEW).until(lambda w: w.pods().get("c-hot-2") == NEW)
    world.until(lambda w: w.allocation is o.Allocation.ALL)
    from tests.unit.planning.world import Index, Shard

    world.indices.append(Index("new[0]", 2, [Shard("c-hot-2", primary=True)], {"c-hot-2"}))
    world.run()
    assert set(world.pods().values()) == {NEW}
    assert len(world.indices[-1].copies) == 2


def test_too_many_replicas_do_not_stop_an_upgrade() -> None:
    world = settled(managers(), hot(2), indices=((5,), (2,))).edit(version=NEW).run()
    assert set(world.pods().values()) == {NEW}


def test_a_shard_without_any_copy_stops_the_upgrade_and_is_named() -> None:
    world = settled(managers(), hot(3), indices=((1,), (1,), (1,)))
    world.kill("c-hot-0").edit(unschedulable={"c-hot-0"}, version=NEW).ticks(20)
    assert set(world.did(a.DeletePod)) == {"c-hot-0"}, "only the broken one is being recreated"
    assert any("has no started copy" in w.message for w in world.plan().waits)
    world.edit(unschedulable=set()).run()


def test_the_pool_status_names_the_next_member() -> None:
    world = cluster().edit(version=NEW).ticks(3)
    assert {p.name: p.upgrade for p in world.status.pools} == {
        "managers": "Pending",
        "hot": "Upgrading",
        "gateway": "Pending",
    }
    world.run()
    assert {p.upgrade for p in world.status.pools} == {""}


def test_a_refused_version_leaves_the_rest_of_the_edit_to_continue() -> None:
    refusal = o.Refusal("spec.version", "UpgradeRefused", "no downgrade", everything=False)
    world = cluster().edit(refusals=(refusal,), pools=[managers(), hot(4), gateway()])
    world.until(lambda w: "c-hot-3" in w.pods())
    assert any(w.reason == "UpgradeRefused" and w.stalled for w in world.plan().waits)


def test_a_pool_that_is_renamed_half_way_through_an_upgrade_comes_to_the_same_end() -> None:
    """New members are created in turn, the data moves to them, and no member stays at the old version."""
    world = settled(managers(), hot(), indices=((2,), (2,))).edit(version="2.19.5")
    world.until(lambda w: any(m.version == "2.19.5" for m in w.status.member_states))
    world.edit(pools=[managers(), hot(name="warm")]).run()
    assert sorted(world.pods()) == [*(f"c-managers-{i}" for i in range(3)), *(f"c-warm-{i}" for i in range(3))]
    assert set(world.pods().values()) == {"2.19.5"}
    assert (world.status.ready, world.status.version) == ("6/6", "2.19.5")


def test_a_member_whose_volume_was_lost_may_go_back_to_the_version_before() -> None:
    world = cluster().edit(version=NEW).run()
    body = world.bodies["c-hot-0"]
    assert body.claim is not None
    body.claim.uid, body.claim.version, body.pod = "another-volume", "", None
    facts = derive(world.edit(version=OLD).observe(), world.now)
    assert downgrade_problem(facts, facts.members["c-hot-0"]) is None
    assert downgrade_problem(facts, facts.members["c-hot-1"]) is not None


def older_data(world: World, version: str) -> o.Observation:
    """Return an observation with data that this version and later ones cannot read."""
    seen = world.observe()
    assert isinstance(seen.database, o.Database)
    database = structs.replace(seen.database, barrier=o.Barrier(version, "it cannot read the index a"))
    return structs.replace(seen, database=database)


def test_a_version_that_cannot_read_the_data_is_refused_before_anything_changes() -> None:
    made = plan(older_data(cluster().edit(version=NEW), "2.18.0"), NOW)
    assert [w.message for w in made.waits if w.stalled] == [f"{NEW}: it cannot read the index a"]
    assert made.actions == ()
    assert made.activity == f"{NEW}: it cannot read the index a"


def test_data_that_a_version_reads_does_not_delay_it() -> None:
    made = plan(older_data(cluster().edit(version=NEW), "3.0.0"), NOW)
    assert "DataTooOld" not in {w.reason for w in made.waits}
    assert made.actions


def test_an_upgrade_in_which_a_member_has_joined_continues() -> None:
    world = cluster().edit(version=NEW)
    world.until(lambda w: any(m.version == NEW for m in w.status.member_states))
    assert "DataTooOld" not in {w.reason for w in plan(older_data(world, "2.18.0"), NOW).waits}
