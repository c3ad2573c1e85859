"""Rolling changes: what restarts whom, how many at once, and what is left alone."""

from msgspec.structs import replace

from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from stateward.planning.safety.safe_set import choose
from tests.unit.planning.world import Index, Shard, World, gateway, hot, managers, mixed, settled

A = {"config/a": "1"}


def reasons(world: World) -> set[str]:
    return {w.reason for w in world.plan().waits}


def test_a_settled_cluster_is_left_alone() -> None:
    world = settled(managers(), hot(), gateway(), indices=((2,), (1,)))
    made = world.plan()
    assert made.settled
    assert not made.actions
    assert made.activity == "the cluster matches its spec"


def test_a_change_that_does_not_matter_restarts_no_member_and_is_written_for_the_next_pod() -> None:
    world = settled(managers(), hot(), indices=((2,),))
    world.edit(pools=[managers(), hot(config={"label/team": "search"})]).run()
    assert sorted(world.did(a.Stage)) == ["c-hot-0", "c-hot-1", "c-hot-2"]
    assert not world.did(a.DeletePod)


def test_only_members_of_the_changed_pool_restart() -> None:
    world = settled(managers(), hot(), gateway(), indices=((2,),))
    world.edit(pools=[managers(), hot(), gateway(config=A)]).run()
    assert world.did(a.DeletePod) == ["c-gateway-0"]
    assert not world.did(a.LimitAllocation)


def test_one_member_at_a_time_over_all_pools() -> None:
    world = settled(managers(), hot(3, "a"), hot(3, "b"), indices=((2,), (2,), (2,)))
    world.edit(pools=[managers(config=A), hot(3, "a", config=A), hot(3, "b", config=A)]).run()
    assert len(world.did(a.DeletePod)) == 9


def test_an_edit_in_the_middle_of_a_roll_restarts_those_changed_again_and_the_others_once() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(pools=[managers(), hot(config=A)])
    world.until(lambda w: len(w.did(a.DeletePod)) == 2)
    world.edit(pools=[managers(), hot(config={"config/a": "2"})]).run()
    assert world.restarts == {"c-hot-2": 2, "c-hot-1": 2, "c-hot-0": 1}


def test_a_revert_in_the_middle_takes_the_changed_ones_back_and_leaves_the_others() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(pools=[managers(), hot(config=A)])
    world.until(lambda w: len(w.did(a.DeletePod)) == 1).edit(pools=[managers(), hot()]).run()
    assert world.restarts == {"c-hot-2": 2}


def test_a_template_that_was_staged_and_reverted_before_its_turn_does_not_come_to_life_later() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(pools=[managers(), hot(config=A)])
    world.until(lambda w: bool(w.did(a.Stage))).edit(pools=[managers(), hot()]).run()
    workload = world.bodies["c-hot-2"].workload
    assert workload is not None
    assert "config/a" not in workload.inputs
    assert not world.did(a.DeletePod)


def test_several_members_at_once_when_no_shard_loses_its_last_copy() -> None:
    world = settled(managers(), hot(6), max_unavailable=3, indices=())
    pairs = [("c-hot-0", "c-hot-1"), ("c-hot-2", "c-hot-3"), ("c-hot-4", "c-hot-5")]
    world.indices = [Index(f"i[{n}]", 2, [Shard(x, primary=True), Shard(y)], {x, y}) for n, (x, y) in enumerate(pairs)]
    world.edit(pools=[managers(), hot(6, config=A)]).until(lambda w: bool(w.did(a.DeletePod)))
    assert len(world.did(a.DeletePod)) == 3
    assert not any({x, y} <= set(world.did(a.DeletePod)) for x, y in pairs)
    world.run()


def test_with_no_limit_as_many_as_are_safe_go_one_zone_at_a_time() -> None:
    world = settled(managers(), hot(6), zones=3, max_unavailable=None)
    world.edit(pools=[managers(), hot(6, config=A)]).until(lambda w: bool(w.did(a.DeletePod)))
    assert world.did(a.DeletePod) in (["c-hot-3", "c-hot-0"], ["c-hot-4", "c-hot-1"], ["c-hot-5", "c-hot-2"])
    world.run()


def test_with_no_limit_data_still_comes_before_managers_and_managers_one_at_a_time() -> None:
    world = settled(managers(), hot(4), gateway(3), max_unavailable=None)
    pools = [managers(config=A), hot(4, config=A), gateway(3, config=A)]
    world.edit(pools=pools).until(lambda w: bool(w.did(a.DeletePod)))
    assert all("hot" in name for name in world.did(a.DeletePod))
    leader = world.leader
    world.run()
    assert world.did(a.DeletePod)[-1] == leader


def test_the_elected_manager_waits_in_an_upgrade_for_no_one_that_is_upgraded() -> None:
    """The disaster this prevents: an upgraded manager has the only copy of a shard and gets another setting.

    The copy has no place before the elected one is upgraded, and this one is the last in the order.
    """
    world = settled(mixed(2), indices=((1,),))
    world.policy = {"sole_copy": o.SoleCopy.MOVE}
    first = next(name for name in world.pods() if name != world.leader)
    world.edit(version="2.18.0").until(lambda w: w.pods().get(first) == "2.18.0" and w.leader not in w.did(a.DeletePod))
    world.until(lambda w: all(c.member == first for i in w.indices for c in i.copies))
    world.edit(pools=[mixed(2, config=A)]).run()
    assert set(world.pods().values()) == {"2.18.0"}


def test_no_member_goes_while_another_zone_has_a_member_down_even_within_the_budget() -> None:
    world = settled(managers(), hot(6), zones=3, max_unavailable=4)
    world.kill("c-hot-0").edit(unschedulable={"c-hot-0"}).ticks(2)
    world.edit(pools=[managers(), hot(6, config=A)]).ticks(5)
    assert set(world.did(a.DeletePod)) <= {"c-hot-3", "c-hot-0"}


def test_a_drained_kubernetes_node_counts_against_the_budget() -> None:
    world = settled(managers(), hot(), indices=((2,),))
    world.kill("c-managers-0").edit(unschedulable={"c-managers-0"}).tick()
    world.edit(pools=[managers(), hot(config=A)]).ticks(10)
    assert not world.did(a.DeletePod)
    assert any("c-managers-0 is down" in w.message for w in world.plan().waits)
    world.edit(unschedulable=set()).run()


def test_the_last_copy_stays_while_the_member_with_the_other_one_is_down() -> None:
    world = settled(managers(), hot(2), max_unavailable=2, indices=((2,),))
    world.kill("c-hot-0").edit(unschedulable={"c-hot-0"}).ticks(2)
    world.edit(pools=[managers(), hot(2, config=A)]).ticks(20)
    assert "c-hot-1" not in world.did(a.DeletePod)
    for policy in ("Interrupt", "Wait"):
        other = world.copy().edit(policy={"max_unavailable": 2, "sole_copy": o.SoleCopy(policy)}).ticks(20)
        assert "c-hot-1" not in other.did(a.DeletePod)
    world.edit(unschedulable=set()).run()


def test_an_only_copy_is_moved_away_before_its_member_restarts() -> None:
    world = settled(managers(), hot(2), indices=((1,), (1,), (2,)))
    world.edit(pools=[managers(), hot(2, config=A)]).run()
    assert world.did(a.MoveCopies)
    assert set(world.restarts.values()) == {1}


def test_an_only_copy_waits_for_a_user_where_that_was_requested() -> None:
    world = settled(managers(), hot(3), sole_copy=o.SoleCopy.WAIT)
    world.index((1,)).edit(pools=[managers(), hot(3, config=A)]).ticks(60)
    assert len(world.did(a.DeletePod)) == 2
    assert any("only started copy" in w.message for w in world.plan().waits)


def test_an_only_copy_is_interrupted_where_that_was_accepted() -> None:
    world = settled(managers(), hot(2), indices=((1,), (1,)), sole_copy=o.SoleCopy.INTERRUPT)
    world.hooks.append(lambda _: None)
    world.check = lambda *_: None  # type: ignore[method-assign, assignment]
    world.edit(pools=[managers(), hot(2, config=A)]).run()
    assert not world.did(a.MoveCopies)


def test_the_only_data_member_restarts_as_there_is_no_other_way() -> None:
    world = settled(managers(), hot(1), indices=((1,), (2,))).edit(pools=[managers(), hot(1, config=A)]).run()
    assert world.restarts == {"c-hot-0": 1}


def test_the_allocation_that_another_user_limited_is_left_alone() -> None:
    world = settled(managers(), hot(), indices=((3,),)).edit(allocation=o.Allocation.PRIMARIES)
    world.edit(pools=[managers(), hot(config=A)]).ticks(20)
    assert not world.did(a.LimitAllocation)
    assert not world.did(a.RestoreAllocation)
    assert len(world.did(a.DeletePod)) == 1
    assert any("another client has limited the allocation to" in w.message for w in world.plan().waits)
    world.edit(allocation=o.Allocation.ALL).run()


def test_nothing_is_restarted_while_data_moves_for_a_shrink() -> None:
    world = settled(managers(), hot(4), indices=((1,),) * 8)
    world.edit(pools=[managers(), hot(3, config=A)]).until(lambda w: any(c.target for i in w.indices for c in i.copies))
    assert "DataMoving" in reasons(world)
    world.run()
    assert "c-hot-3" not in world.did(a.DeletePod)


def test_a_shrink_a_growth_a_version_and_a_config_change_in_one_edit_are_one_restart_per_member() -> None:
    world = settled(managers(), hot(4), gateway(1), indices=((2,), (1,), (2,)))
    world.edit(version="2.19.5", pools=[managers(config=A), hot(3, config=A), gateway(2, config=A)]).run()
    assert world.restarts.pop("c-gateway-1") == 2, "it was made with the old version: its pool's turn had not come"
    assert set(world.restarts.values()) == {1}
    assert set(world.pods().values()) == {"2.19.5"}


def test_no_manager_restarts_while_another_one_loses_its_vote() -> None:
    world = settled(managers(2), hot(2), indices=((2,),))
    world.edit(pools=[managers(1, config=A), hot(2)]).run()
    assert world.voters == {"c-managers-0"}


def test_all_in_one_members_restart_one_at_a_time_without_losing_the_quorum() -> None:
    world = settled(mixed(3), indices=((2,), (3,), (1,)), max_unavailable=None).edit(pools=[mixed(3, config=A)]).run()
    assert set(world.restarts.values()) == {1}


def test_roles_that_change_are_a_new_member_in_place_of_each() -> None:
    world = settled(managers(), mixed(3, "hot"), indices=((2,), (1,)))
    world.edit(pools=[managers(), hot(3)]).run(800)
    assert not world.did(a.DeletePod)
    assert all(not p.voting for n, p in world.joined().items() if "hot" in n)
    assert len(world.pods()) == 6


def test_stale_caches_hold_back_everything_that_destroys() -> None:
    world = settled(managers(), hot(4), indices=((2,),)).edit(settled_writes=False)
    world.edit(pools=[managers(), hot(3, config=A)]).ticks(30)
    assert not any(action.needs_live for _, action in world.log)
    world.edit(settled_writes=True).run()


def test_a_statefulset_that_has_not_seen_the_template_is_waited_for() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(pools=[managers(), hot(config=A)])
    world.tick()
    for body in world.bodies.values():
        assert body.workload is not None
        body.workload.observed = False
    made = world.plan()
    assert not any(isinstance(action, a.DeletePod) for action in made.actions)
    assert any(
        "its StatefulSet controller has not observed the new template yet" in i.sentence for i in made.intents.values()
    )


def test_an_only_copy_is_not_moved_to_a_member_that_the_same_plan_begins_to_drain() -> None:
    world = settled(managers(), hot(2), hot(1, "old"), indices=((1,), (1,)))
    world.edit(pools=[managers(), hot(2, config=A), hot(1, "old")]).tick()
    made = world.edit(pools=[managers(), hot(2, config=A)]).plan()
    assert [x.members for x in made.actions if isinstance(x, a.Drain)] == [{"c-old-0"}]
    assert [m.target for x in made.actions if isinstance(x, a.MoveCopies) for m in x.moves] == ["c-hot-0"]
    world.run()


def on_its_way(world: World, origin: str, target: str) -> o.Observation:
    """Return the observation with the only copy of every shard on one member on its way to another one."""
    seen = world.observe()
    assert isinstance(seen.database, o.Database)
    units = tuple(
        replace(u, copies=tuple(replace(c, state=o.CopyState.RELOCATING, target=target) for c in u.copies))
        if [c.member for c in u.copies] == [origin]
        else u
        for u in seen.database.units
    )
    return replace(seen, database=replace(seen.database, units=units))


def test_while_only_copies_leave_one_member_none_is_moved_onto_it() -> None:
    """Otherwise two members exchange their single copies forever."""
    world = settled(managers(), hot(2), indices=((1,), (1,)))
    world.edit(pools=[managers(), hot(2, config=A)]).until(lambda w: bool(w.plan().actions))
    world.until(lambda w: any(isinstance(x, a.MoveCopies) for x in w.plan().actions))
    (first,) = (x for x in world.plan().actions if isinstance(x, a.MoveCopies))
    origin, target = first.moves[0].origin, first.moves[0].target
    made = plan(on_its_way(world, origin, target), world.now)
    assert not any(isinstance(x, a.MoveCopies | a.Stage) for x in made.actions), "the other one is not prepared either"
    world.run()


def test_the_database_moves_nothing_back_for_balance_until_the_freed_member_is_down() -> None:
    world = settled(managers(), hot(2), indices=((1,), (1,), (2,))).edit(pools=[managers(), hot(2, config=A)])
    world.until(lambda w: bool(w.did(a.MoveCopies)))
    assert world.balance_paused
    (move, *_) = next(x for _, x in reversed(world.log) if isinstance(x, a.MoveCopies)).moves
    moving = plan(on_its_way(world, move.target, move.origin), world.now)
    assert not any(isinstance(x, a.ResumeBalancing) for x in moving.actions), "an only copy is being installed"
    world.until(lambda w: any(isinstance(x, a.DeletePod) for x in w.plan().actions))
    assert not any(isinstance(x, a.ResumeBalancing) for x in world.plan().actions), "the member is just going down"
    world.until(lambda w: bool(w.did(a.DeletePod))).until(lambda w: bool(w.did(a.ResumeBalancing)))
    assert not world.run().balance_paused


def test_a_member_to_which_an_only_copy_is_on_its_way_does_not_go_down() -> None:
    """It may have arrived before the pod is deleted."""
    world = settled(managers(), hot(2), indices=((1,),))
    (holder,) = (c.member for c in world.indices[0].copies)
    other = ({"c-hot-0", "c-hot-1"} - {holder}).pop()
    world.edit(pools=[managers(), hot(2, config=A)]).until(lambda w: other in w.did(a.Stage))
    assert any(isinstance(x, a.DeletePod) and x.member == other for x in world.plan().actions)
    made = plan(on_its_way(world, holder, other), world.now)
    assert not any(isinstance(x, a.DeletePod) for x in made.actions)
    assert any("is relocating to" in w.message for w in made.waits if w.subject == other)


def test_two_members_do_not_go_together_where_a_copy_is_on_its_way_between_them() -> None:
    world = settled(managers(), hot(4), max_unavailable=3, indices=((2,), (1,)))
    seen = world.observe()
    assert isinstance(seen.database, o.Database)
    pair = next(u for u in seen.database.units if u.wanted == 2)
    first, second = (c.member for c in pair.copies)
    free = next(n for n in ("c-hot-0", "c-hot-1", "c-hot-2", "c-hot-3") if n not in (first, second))
    copies = (replace(pair.copies[0], state=o.CopyState.RELOCATING, target=free), pair.copies[1])
    moved = tuple(replace(u, copies=copies) if u is pair else u for u in seen.database.units)
    facts = derive(replace(seen, database=replace(seen.database, units=moved)), world.now)
    both = [facts.members[second], facts.members[free]]
    assert len(choose(facts, both).chosen) == 1


def test_a_copy_that_is_on_its_way_from_a_leaving_member_is_not_moved_before_it_has_arrived() -> None:
    """The disaster this prevents: the database refuses the move of a copy that is not there, in each round."""
    world = settled(managers(), hot(3), indices=((1,),))
    (copy,) = world.indices[0].copies
    goes = next(name for name in ("c-hot-0", "c-hot-1") if name != copy.member)
    workload, pod = world.bodies[copy.member].workload, world.bodies[goes].pod
    assert workload is not None
    assert pod is not None
    workload.replicas, copy.target, pod.phase = 0, goes, "schedule"
    assert not [x for x in world.plan().actions if isinstance(x, a.MoveCopies)]
    world.run()
    assert goes in world.did(a.DeletePod)
