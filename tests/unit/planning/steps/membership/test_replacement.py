"""Failed members are replaced: after a time, one at a time, and never so that the last copy of something is lost."""

from msgspec.structs import replace

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from tests.unit.planning.world import World, hot, managers, mixed, settled

AFTER = 600.0
DUE = int(AFTER / 10)


def wishes(**more: object) -> dict[str, object]:
    return {"replacement": o.Replacement(**more)}  # type: ignore[arg-type]


def cluster(size: int = 4, **more: object) -> World:
    world = settled(managers(), hot(size), indices=((2,), (2,), (2,)))
    return world.edit(policy=wishes(enabled=True, after=AFTER, **more))


def told(world: World, reason: str) -> str:
    return next((w.message for w in world.plan().waits if w.reason == reason), "")


def phase(world: World, name: str) -> str:
    return next((r.phase for r in world.status.pending_removals if r.name == name), "")


def missing(world: World, name: str) -> str:
    return next(m.missing_reason for m in world.status.member_states if m.name == name)


def fail(world: World, *names: str) -> World:
    """Kill the nodes of members."""
    world.dead_nodes |= {f"node-{name.removeprefix('c-')}" for name in names}
    return world


def test_a_member_whose_machine_is_gone_is_replaced_after_its_time() -> None:
    world = fail(cluster(), "c-hot-1").ticks(DUE - 5)
    assert missing(world, "c-hot-1") == "NodeNotReady"
    assert not world.did(a.RecordRemoval)
    assert "replaced at" in told(world, "Missing")
    world.ticks(40)
    assert world.did(a.RecordRemoval) == ["c-hot-1"]
    assert set(world.pods()) >= {"c-hot-0", "c-hot-2", "c-hot-3", "c-hot-4"}
    assert phase(world, "c-hot-1") == "Terminating", "it is unknown whether its process has ended"
    assert {*world.restarts} == {"c-hot-4"}


def test_the_replaced_member_does_no_harm_when_its_machine_comes_back() -> None:
    world = fail(cluster(), "c-hot-1").ticks(DUE + 40)
    world.dead_nodes.clear()
    world.run()
    assert "c-hot-1" not in world.pods()
    assert phase(world, "c-hot-1") == "VolumeKept"
    assert world.bodies["c-hot-1"].claim is not None
    assert not world.draining


def test_its_place_is_not_filled_again_from_the_volume_that_was_given_up() -> None:
    world = fail(cluster(), "c-hot-1").ticks(DUE + 40)
    world.dead_nodes.clear()
    world.run().edit(pools=[managers(), hot(5)]).run()
    assert {n for n in world.pods() if "hot" in n} == {f"c-hot-{i}" for i in (0, 2, 3, 4, 5)}


def test_once_its_volume_is_deleted_its_place_is_free_again() -> None:
    world = fail(cluster(), "c-hot-1").ticks(DUE + 40)
    world.dead_nodes.clear()
    world.run().bodies.pop("c-hot-1")
    world.run()
    assert phase(world, "c-hot-1") == ""
    world.edit(pools=[managers(), hot(5)]).run()
    assert "c-hot-1" in world.pods()


def test_no_member_is_replaced_unless_the_spec_enables_it() -> None:
    world = fail(cluster(), "c-hot-1").edit(policy=wishes(after=AFTER)).ticks(DUE + 40)
    assert missing(world, "c-hot-1") == "NodeNotReady"
    assert not world.did(a.RecordRemoval)


def test_a_member_that_comes_back_in_time_is_not_replaced_and_its_time_starts_again() -> None:
    world = fail(cluster(), "c-hot-1").ticks(DUE - 5)
    world.dead_nodes.clear()
    world.run()
    assert missing(world, "c-hot-1") == ""
    fail(world, "c-hot-1").ticks(DUE - 5)
    assert not world.did(a.RecordRemoval)


def test_failed_members_are_replaced_one_at_a_time_and_one_that_only_cannot_end_does_not_count() -> None:
    world = settled(managers(), hot(6), indices=((3,), (3,), (3,)))
    world.edit(policy=wishes(enabled=True, after=AFTER))
    fail(world, "c-hot-1", "c-hot-2")
    for _ in range(DUE + 80):
        listed = [n for n in ("c-hot-1", "c-hot-2") if phase(world, n) not in ("", "Terminating", "VolumeKept")]
        assert len(listed) <= 1
        world.tick()
    assert world.did(a.RecordRemoval) == ["c-hot-1", "c-hot-2"]
    assert phase(world, "c-hot-1") == "Terminating"


def test_members_of_one_zone_are_replaced_together_where_that_is_requested() -> None:
    world = settled(managers(), hot(6), indices=((3,), (3,), (3,)), zones=3)
    world.edit(policy=wishes(enabled=True, after=AFTER, per_zone=True))
    fail(world, "c-hot-1", "c-hot-4").until(lambda w: bool(w.did(a.RecordRemoval)), limit=DUE + 60)
    assert world.did(a.RecordRemoval) == ["c-hot-1", "c-hot-4"]


def test_nothing_is_replaced_while_the_database_does_not_answer_and_no_time_is_forgotten() -> None:
    world = fail(cluster(), "c-hot-1").ticks(10)
    since = next(m.missing_since_time for m in world.status.member_states if m.name == "c-hot-1")
    world.edit(answers=False).ticks(DUE + 20)
    assert not world.did(a.RecordRemoval)
    assert "does not answer" in told(world, "ReplacementHeld")
    assert since == next(m.missing_since_time for m in world.status.member_states if m.name == "c-hot-1")
    world.edit(answers=True).ticks(2)
    assert world.did(a.RecordRemoval) == ["c-hot-1"]


def test_nothing_is_replaced_while_a_shard_has_no_copy_because_the_missing_one_may_hold_it() -> None:
    world = settled(managers(), hot(4), indices=((1,), (2,), (2,)))
    world.edit(policy=wishes(enabled=True, after=AFTER), lossy=True)
    sole = world.indices[0].copies[0].member
    fail(world, sole).ticks(DUE + 40)
    assert not world.did(a.RecordRemoval)
    assert "may hold the last" in told(world, "ReplacementHeld")
    world.dead_nodes.clear()
    world.run()
    assert sole in world.pods()


def test_what_an_edit_has_broken_is_not_replaced() -> None:
    world = cluster()
    world.crash.add(("config/bad", "1"))
    world.edit(pools=[managers(), hot(4, config={"config/bad": "1"})]).ticks(DUE + 60)
    assert not world.did(a.RecordRemoval)
    assert "no other member of its pool serves" in told(world, "ReplacementHeld")
    world.edit(pools=[managers(), hot(4)]).run()


def test_a_member_on_a_tainted_node_is_drained_and_replaced_though_it_serves() -> None:
    world = cluster(taints={"maintenance": 120.0})
    world.taints = {"node-hot-2": ["maintenance"]}
    world.until(lambda w: "c-hot-2" in w.did(a.Release))
    assert world.did(a.RecordRemoval) == ["c-hot-2"]
    world.run()
    assert "c-hot-4" in world.pods()
    assert "c-hot-2" not in world.pods()


def test_the_time_of_a_taint_does_not_count_for_a_failure() -> None:
    world = cluster(taints={"maintenance": 10 * AFTER})
    world.taints = {"node-hot-2": ["maintenance"]}
    world.ticks(DUE)
    fail(world, "c-hot-2").ticks(DUE - 5)
    assert not world.did(a.RecordRemoval)


def test_a_manager_is_replaced_too_and_loses_its_vote_before_it_is_given_up() -> None:
    world = fail(cluster(), "c-managers-1").ticks(DUE + 60)
    assert world.did(a.RecordRemoval) == ["c-managers-1"]
    assert "c-managers-3" in world.voters
    assert "c-managers-1" not in world.voters
    world.dead_nodes.clear()
    world.run()
    assert not world.exclusions


def test_other_clusters_leave_a_limited_number_of_replacements() -> None:
    world = fail(cluster(), "c-hot-1").edit(slots=0).ticks(DUE + 40)
    assert not world.did(a.RecordRemoval)
    assert "operator's limit" in told(world, "ReplacementHeld")
    world.edit(slots=1).ticks(2)
    assert world.did(a.RecordRemoval) == ["c-hot-1"]


def test_a_user_replaces_a_healthy_member_new_in_data_over_old_out() -> None:
    world = cluster().edit(policy=wishes(replace=frozenset({"c-hot-0"})))
    world.until(lambda w: "c-hot-4" in w.pods())
    assert "c-hot-0" in world.pods()
    world.run()
    assert "c-hot-0" not in world.pods()
    assert world.did(a.Release) == ["c-hot-0"]
    world.edit(policy=wishes(replace=frozenset({"c-hot-0"}))).ticks(20)
    assert "c-hot-0" not in world.pods(), "a name that is still on the list is never used again"


def test_keep_cancels_a_replacement_in_flight() -> None:
    world = cluster().edit(policy=wishes(replace=frozenset({"c-hot-0"})))
    world.until(lambda w: "c-hot-0" in w.draining)
    world.edit(policy=wishes(keep=frozenset({"c-hot-0"}))).run()
    assert "c-hot-0" in world.pods()
    assert {n for n in world.pods() if "hot" in n} == {f"c-hot-{i}" for i in range(4)}
    assert not world.draining
    assert phase(world, "c-hot-0") == ""


def test_keep_wins_over_replace_and_the_conflict_is_reported() -> None:
    world = cluster().edit(policy=wishes(replace=frozenset({"c-hot-0"}), keep=frozenset({"c-hot-0"}))).ticks(20)
    assert "c-hot-0" in world.pods()
    assert not world.draining
    assert "it is kept" in told(world, "KeepConflict")


def test_a_wrong_name_is_reported_and_stops_nothing_else() -> None:
    world = cluster().edit(policy=wishes(replace=frozenset({"c-warm-0", "c-hot-0"})))
    world.until(lambda w: "c-hot-0" in w.did(a.Release))
    assert "does not exist" in told(world, "NoSuchMember")


def test_a_kept_member_is_not_the_one_that_a_shrink_takes() -> None:
    world = cluster().edit(policy=wishes(keep=frozenset({"c-hot-3"})), pools=[managers(), hot(3)]).run()
    assert {n for n in world.pods() if "hot" in n} == {"c-hot-0", "c-hot-1", "c-hot-3"}


def test_without_draining_is_refused_where_it_would_lose_the_last_copy() -> None:
    world = settled(managers(), hot(4), indices=((1,), (2,), (2,)))
    sole = world.indices[0].copies[0].member
    world.edit(policy=wishes(undrained=frozenset({sole}))).ticks(30)
    assert not world.did(a.Release)
    assert "only started copy" in told(world, "WouldLoseLastCopy")
    world.edit(policy=wishes(undrained=frozenset({sole}), accepted=frozenset({sole})), lossy=True)
    world.until(lambda w: sole in w.did(a.Release))


def test_without_draining_moves_nothing_where_copies_are_elsewhere() -> None:
    world = cluster().edit(policy=wishes(undrained=frozenset({"c-hot-0"})))
    world.hooks.append(lambda _: None)
    world.run()
    assert world.did(a.Release) == ["c-hot-0"]
    assert not world.did(a.Drain)


def test_no_eviction_is_allowed_while_a_member_leaves_with_its_copies() -> None:
    world = cluster().edit(policy=wishes(undrained=frozenset({"c-hot-0"})))
    world.until(lambda w: any(isinstance(action, a.Release) for action in w.plan().actions))
    assert {budget.name: budget.allowed for budget in world.plan().budgets}["data"] == 0


def test_two_that_hold_the_only_two_copies_are_not_given_up_together() -> None:
    for ephemeral in (False, True):
        world = settled(managers(), hot(4, ephemeral=ephemeral), indices=((2,), (2,)))
        pair = frozenset(copy.member for copy in world.indices[0].copies)
        world.edit(policy=wishes(undrained=pair)).until(lambda w: bool(w.did(a.Release)))
        assert len(world.did(a.Release)) == 1
        assert "is leaving or down" in told(world, "WouldLoseLastCopy")
        world.run()
        assert set(world.did(a.Release)) == pair


def test_where_zones_are_not_known_a_limit_by_zone_is_the_plain_limit() -> None:
    world = settled(managers(), hot(6), indices=((3,), (3,), (3,)))
    world.edit(policy=wishes(enabled=True, after=AFTER, per_zone=True))
    fail(world, "c-hot-1", "c-hot-3", "c-hot-5")
    for _ in range(DUE + 20):
        world.tick()
        assert sum(r.phase in ("Waiting", "Draining", "Leaving") for r in world.status.pending_removals) <= 1
    assert world.did(a.RecordRemoval)


def test_nothing_is_settled_while_the_pod_of_a_replaced_member_just_ends() -> None:
    """It is still drained, and a client that waits for a settled cluster would find this in the database."""
    world = cluster().edit(stuck={"c-hot-1"})
    world.edit(policy=wishes(replace=frozenset({"c-hot-1"}))).until(lambda w: phase(w, "c-hot-1") == "Terminating")
    world.ticks(20)

    def settled_at(now: float, *, node_ready: bool = True, terminating: bool = True) -> bool:
        obs = world.observe()
        assert isinstance(obs.database, o.Database)
        assert obs.database.draining == {"c-hot-1"}
        ending = next(m for m in obs.members if m.name == "c-hot-1")
        assert ending.pod is not None
        gone_by = world.now + 120.0 if terminating else 0.0
        pod = replace(ending.pod, terminating=terminating, gone_by=gone_by, node_ready=node_ready)
        ending = replace(ending, pod=pod)
        others = tuple(m for m in obs.members if m.name != "c-hot-1")
        return plan(replace(obs, members=(*others, ending)), now).settled

    assert not settled_at(world.now)
    assert not settled_at(world.now, terminating=False), "Kubernetes has not begun to end it"
    assert not settled_at(world.now + 130.0), "its node has not said yet that it has ended"
    assert settled_at(world.now + 200.0), "something holds it"
    assert settled_at(world.now, node_ready=False), "its node is unreachable"
    world.edit(stuck=set()).run()
    assert not world.draining


def test_nothing_is_settled_while_the_volume_of_a_replaced_member_is_being_deleted() -> None:
    """Its pod is gone, and the drain stays until the other objects are gone, too."""
    world = cluster().edit(stuck={"c-hot-1"})
    world.edit(policy=wishes(replace=frozenset({"c-hot-1"}))).until(lambda w: phase(w, "c-hot-1") == "Terminating")
    obs = world.ticks(20).observe()
    assert isinstance(obs.database, o.Database)
    ending = next(m for m in obs.members if m.name == "c-hot-1")
    assert ending.claim is not None
    ending = replace(ending, pod=None, workload=None, claim=replace(ending.claim, terminating=True, left=True))
    nodes = {name: node for name, node in obs.database.nodes.items() if name != "c-hot-1"}
    others = tuple(m for m in obs.members if m.name != "c-hot-1")
    made = plan(replace(obs, members=(*others, ending), database=replace(obs.database, nodes=nodes)), world.now)
    assert obs.database.draining == {"c-hot-1"}
    assert not any(isinstance(action, a.Drain) for action in made.actions)
    assert not made.settled


def test_an_upgrade_passes_by_a_member_that_was_released_and_cannot_end() -> None:
    world = fail(cluster(), "c-hot-1").ticks(DUE + 40)
    assert phase(world, "c-hot-1") == "Terminating"
    world.edit(version="2.18.0").ticks(300)
    assert world.status.version == "2.18.0"
    assert {b.pod.version for b in world.bodies.values() if b.pod and b.name != "c-hot-1"} == {"2.18.0"}


def test_no_member_is_replaced_while_another_is_on_its_way_back() -> None:
    world = fail(cluster(size=5), "c-hot-1").ticks(DUE - 2)
    world.kill("c-hot-2").tick()
    for _ in range(3):
        if "c-hot-2" not in world.pods():
            assert not world.did(a.RecordRemoval)
        world.tick()
    world.ticks(20)
    assert world.did(a.RecordRemoval) == ["c-hot-1"]


def test_an_upgrade_waits_for_the_replacement_and_both_end() -> None:
    world = fail(settled(mixed(4), indices=((2,), (2,))), "c-all-2")
    world.edit(policy=wishes(enabled=True, after=AFTER), version="2.19.5").ticks(DUE + 40)
    assert world.did(a.RecordRemoval) == ["c-all-2"]
    world.dead_nodes.clear()
    world.run(limit=600)
    assert set(world.pods().values()) == {"2.19.5"}
    assert len(world.pods()) == 4


def test_a_new_member_that_no_quota_lets_in_is_reported_as_without_room() -> None:
    world = cluster()
    world.refused_inputs.add(("config/a", "1"))
    world.edit(pools=[managers(), hot(4, config={"config/a": "1"})], policy=wishes(replace=frozenset({"c-hot-0"})))
    world.ticks(2)
    assert phase(world, "c-hot-0") == "Waiting"
    world.ticks(10)
    assert phase(world, "c-hot-0") == "NoRoom"


def test_no_replacement_for_a_taint_begins_while_nodes_in_more_zones_have_it_than_are_allowed() -> None:
    world = settled(managers(), hot(6), indices=((2,), (2,), (2,)), zones=3)
    world.edit(policy=wishes(enabled=True, after=AFTER, taints={"maintenance": 60.0}))
    world.taints = {f"node-hot-{i}": ["maintenance"] for i in range(3)}
    world.ticks(60)
    assert not world.did(a.RecordRemoval)
    held = told(world, "ReplacementHeld")
    assert "3 fault domains have nodes with such taints (zone zone-0, zone zone-1, zone zone-2)" in held
    assert "maxFaultDomainsWithTaints is 1" in held
    world.taints = {f"node-hot-{i}": ["maintenance"] for i in (0, 3)}
    world.until(lambda w: sorted(w.did(a.Release)) == ["c-hot-0", "c-hot-3"], limit=400)
    world.run()


def test_more_zones_may_have_nodes_with_taints_where_that_is_allowed() -> None:
    world = settled(managers(), hot(6), indices=((2,), (2,), (2,)), zones=3)
    world.edit(policy=wishes(enabled=True, after=AFTER, taints={"maintenance": 60.0}, max_tainted=3))
    world.taints = {f"node-hot-{i}": ["maintenance"] for i in range(3)}
    world.until(lambda w: len(w.did(a.Release)) == 3, limit=400)


def test_a_node_of_which_no_zone_is_known_is_a_fault_domain_and_other_taints_and_failures_are_none_of_this() -> None:
    world = cluster(taints={"maintenance": 60.0})
    world.taints = {"node-hot-0": ["maintenance"], "node-hot-1": ["other"], "node-hot-2": ["maintenance"]}
    fail(world, "c-hot-3").ticks(DUE + 10)
    assert "2 fault domains have nodes with such taints (node node-hot-0, node node-hot-2)" in told(
        world, "ReplacementHeld"
    )
    assert world.did(a.RecordRemoval) == ["c-hot-3"]


def test_what_was_begun_for_a_taint_continues_when_other_zones_get_it() -> None:
    world = settled(managers(), hot(6), indices=((2,), (2,), (2,)), zones=3)
    world.edit(policy=wishes(enabled=True, after=AFTER, taints={"maintenance": 60.0}))
    world.taints = {"node-hot-0": ["maintenance"]}
    world.until(lambda w: w.did(a.RecordRemoval) == ["c-hot-0"])
    world.taints |= {f"node-hot-{i}": ["maintenance"] for i in (1, 2)}
    world.until(lambda w: w.did(a.Release) == ["c-hot-0"])
    world.ticks(60)
    assert world.did(a.RecordRemoval) == ["c-hot-0"]
