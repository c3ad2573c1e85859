"""Repairing: what is broken may always be fixed, what starts is left alone, what breaks one is kept from others."""

import pytest
from msgspec.structs import replace

from stateward.planning.facts.change import Change, immutable_inputs
from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.model.phase import Phase
from stateward.planning.steps.upkeep.repair import (
    BEREFT,
    broken,
    configuration_is_lost,
    repair_change,
    repair_member,
    unsafe,
)
from tests.unit.planning.chaos import NOW
from tests.unit.planning.safety.test_choice import facts_of
from tests.unit.planning.world import gateway, hot, managers, mixed, settled

BAD, GOOD = {"config/a": "bad"}, {"config/a": "good"}
CRASH = {("config/a", "bad")}


def test_a_bad_change_stops_at_the_first_member_and_its_revert_goes_through() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(crash=CRASH, pools=[managers(), hot(config=BAD)]).ticks(30)
    assert world.did(a.DeletePod) == ["c-hot-2"]
    world.edit(pools=[managers(), hot()]).run()
    assert world.restarts == {"c-hot-2": 2}


def test_a_bad_change_is_fixed_by_another_one() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(crash=CRASH, pools=[managers(), hot(config=BAD)]).ticks(30)
    world.edit(pools=[managers(), hot(config=GOOD)]).run()
    assert len(world.pods()) == 6


def test_a_pod_that_cannot_be_scheduled_gets_the_fix() -> None:
    world = settled(managers(), hot(), indices=((2,),))
    world.edit(unschedulable={"c-hot-2"}, pools=[managers(), hot(config={"template/size": "huge"})]).ticks(20)
    world.edit(unschedulable=set(), pools=[managers(), hot(config={"template/size": "small"})]).run()
    assert world.did(a.DeletePod).count("c-hot-2") == 2


def test_an_evicted_member_is_not_given_a_change_that_has_just_broken_another_one() -> None:
    world = settled(managers(), hot(), indices=((3,),)).edit(crash=CRASH, pools=[managers(), hot(config=BAD)]).ticks(20)
    world.kill("c-hot-1").until(lambda w: "c-hot-1" in w.pods())
    assert world.did(a.DeletePod) == ["c-hot-2"]
    world.kill("c-hot-0").edit(unschedulable={"c-hot-0"}).ticks(10)
    assert any("c-hot-2 does not start with the change" in w.message for w in world.plan().waits)
    world.edit(unschedulable=set()).ticks(5)
    assert {"c-hot-0", "c-hot-1"} <= world.pods().keys()


def test_a_full_outage_with_a_change_pending_does_not_spread_the_change() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(crash=CRASH, pools=[managers(), hot(config=BAD)])
    for name in world.bodies:
        world.kill(name)
    world.ticks(30)
    assert world.did(a.DeletePod) == ["c-hot-2"]


def test_a_first_crash_of_all_members_at_once_is_not_what_a_change_is_written_for() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(pools=[managers(config=GOOD), hot(config=GOOD)])
    world.edit(stumbling=set(world.bodies)).pass_time()
    world.ticks(3).edit(stumbling=set()).until(lambda w: len(w.pods()) == 6)
    assert not world.did(a.DeletePod)
    world.run()
    assert set(world.restarts.values()) == {1}


def test_a_member_alone_that_crashes_is_given_its_change_at_once() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(pools=[managers(), hot(config=GOOD)])
    world.edit(stumbling={"c-hot-1"}).pass_time()
    world.ticks(3)
    assert world.did(a.DeletePod)[:1] == ["c-hot-1"]


def test_a_member_that_serves_again_was_not_away_while_the_database_was_silent_also_if_its_restart_is_not_ended() -> (
    None
):
    """The disaster this prevents: it is recreated as broken, although another member is down."""
    facts = facts_of([managers(3), hot(3)], [("hot-0", "hot-1")])
    started = tuple(
        replace(m, pod=replace(m.pod, phase=Phase.START, begun=True)) if m.pod and m.name == "hot-2" else m
        for m in facts.obs.members
    )
    away = derive(replace(facts.obs, members=started, away={"hot-2": NOW - 3600}), NOW)
    assert "hot-2" not in away.up
    assert not broken(away, away.members["hot-2"])
    silent = derive(replace(away.obs, database=o.Unknown("the database does not answer")), NOW)
    assert silent.overdue(silent.members["hot-2"])


def test_a_member_whose_trouble_goes_away_once_its_next_template_is_written_does_not_wait_for_what_is_gone() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(pools=[managers(), hot(config=GOOD)])
    world.edit(stumbling={"c-hot-1"}).pass_time()
    world.until(lambda w: "c-hot-1" in w.did(a.Stage)).edit(stumbling=set()).pass_time()
    began = world.now
    world.until(lambda w: w.pods().keys() >= {"c-hot-1"})
    assert world.did(a.DeletePod) == ["c-hot-1"]
    assert world.now - began < 120.0


def test_managers_that_all_crash_on_a_bad_change_are_repaired_though_the_database_does_not_answer() -> None:
    world = settled(managers(), hot(2), indices=((2,),)).edit(crash=CRASH, pools=[managers(config=BAD), hot(2)])
    for name in ("c-managers-0", "c-managers-1", "c-managers-2"):
        workload = world.bodies[name].workload
        assert workload is not None
        workload.inputs = {**workload.inputs, **BAD}
        world.kill(name)
    world.ticks(10)
    assert not world.available
    world.edit(pools=[managers(), hot(2)]).run()
    assert len(world.pods()) == 5


def test_managers_without_volumes_are_never_remade_while_the_database_does_not_answer() -> None:
    world = settled(managers(ephemeral=True), hot(2)).edit(crash=CRASH, lossy=True)
    for name in ("c-managers-0", "c-managers-1", "c-managers-2"):
        body = world.bodies[name]
        assert body.pod is not None
        body.pod.inputs = {**body.pod.inputs, **BAD}
    world.pass_time()
    world.ticks(10)
    assert not world.did(a.DeletePod)
    assert any(w.reason == "RepairNotSafe" for w in world.plan().waits)


def test_a_broken_member_without_volume_may_hold_the_last_copy_and_stays() -> None:
    world = settled(managers(), hot(2, ephemeral=True), indices=((1,), (1,)))
    pod = world.bodies["c-hot-1"].pod
    assert pod is not None
    pod.inputs = {**pod.inputs, **BAD}
    world.edit(crash=CRASH).pass_time()
    world.ticks(10)
    assert not world.did(a.DeletePod)
    assert any("may hold the last copy" in w.message for w in world.plan().waits)


def test_a_member_that_runs_and_does_not_join_is_recreated_after_a_long_silence() -> None:
    hang = {("config/a", "hang")}
    world = settled(managers(), hot(), indices=((2,),)).edit(hang=hang)
    world.edit(pools=[managers(), hot(config={"config/a": "hang"})]).ticks(20)
    world.edit(pools=[managers(), hot(config=GOOD)]).ticks(5)
    assert world.did(a.DeletePod) == ["c-hot-2"]
    world.run()
    assert len(world.pods()) == 6


def test_a_pod_stuck_in_stopping_is_waited_for_and_named() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(stuck={"c-hot-2"}, pools=[managers(), hot(config=GOOD)])
    world.ticks(40)
    assert world.did(a.DeletePod) == ["c-hot-2"]
    assert "c-hot-2 is stopping" in world.plan().intents["c-hot-2"].sentence
    world.edit(stuck=set()).run()


def test_allocation_is_restored_while_a_member_stays_away() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(crash=CRASH, pools=[managers(), hot(config=BAD)]).ticks(20)
    assert not world.limited
    assert all(len(i.copies) == 2 for i in world.indices)


def test_a_statefulset_that_cannot_make_its_pod_gets_the_fix() -> None:
    world = settled(managers(), hot(), gateway(1)).edit(refused_inputs={("template/a", "bad")})
    world.edit(pools=[managers(), hot(), gateway(1, config={"template/a": "bad"})]).ticks(20)
    assert world.bodies["c-gateway-0"].pod is None
    world.edit(pools=[managers(), hot(), gateway(1, config=GOOD)]).run()
    assert "c-gateway-0" in world.pods()


def test_a_single_node_that_a_bad_change_broke_is_repaired() -> None:
    world = settled(mixed(1), indices=((1,),)).edit(crash=CRASH, pools=[mixed(1, config=BAD)]).ticks(10)
    assert not world.available
    world.edit(pools=[mixed(1)]).run()


def test_a_bad_change_stops_at_the_first_set_however_many_may_be_down() -> None:
    world = settled(managers(), hot(4), max_unavailable=3, indices=((2,), (1,), (1,), (1,)))
    world.edit(crash=CRASH, pools=[managers(config=BAD), hot(4, config=BAD)]).ticks(60)
    gone = set(world.did(a.DeletePod))
    assert gone <= {"c-hot-0", "c-hot-1", "c-hot-2", "c-hot-3"}
    staged = {n for n, b in world.bodies.items() if b.workload is not None and b.workload.inputs.get("config/a")}
    assert staged == gone, "no member that still serves may be given it by an eviction"
    assert any("has to come back with the change first" in w.message for w in world.plan().waits)
    world.edit(pools=[managers(), hot(4)]).run()


def test_a_broken_manager_whose_pool_was_renamed_meanwhile_asks_for_the_pool() -> None:
    world = settled(managers(1), hot(2)).edit(crash=CRASH, pools=[managers(1, config=BAD), hot(2)]).ticks(10)
    world.edit(pools=[managers(1, "masters"), hot(2)]).ticks(5)
    needed = [w for w in world.plan().waits if w.reason == "PoolNeeded" and w.stalled]
    assert "with pool managers in the spec" in needed[0].message
    world.edit(pools=[managers(1), managers(1, "masters"), hot(2)]).run()
    world.edit(pools=[managers(1, "masters"), hot(2)]).run()
    assert world.voters == {"c-masters-0"}


def test_broken_members_with_the_last_copies_whose_pool_was_renamed_meanwhile_ask_for_the_pool() -> None:
    world = settled(managers(), hot(1), indices=((1,),)).edit(crash=CRASH, pools=[managers(), hot(1, config=BAD)])
    world.ticks(10).edit(pools=[managers(), hot(2, "warm")]).ticks(10)
    needed = [w for w in world.plan().waits if w.reason == "PoolNeeded" and w.stalled]
    assert "with pool hot in the spec" in needed[0].message
    assert "c-hot-0" in world.bodies
    world.edit(pools=[managers(), hot(1), hot(2, "warm")]).run()
    world.edit(pools=[managers(), hot(2, "warm")]).run()
    assert "c-hot-0" not in world.pods()


def test_a_broken_member_gets_what_a_new_pod_can_apply_while_another_part_of_the_change_needs_a_new_member() -> None:
    """The disaster this prevents: the new member that should take over cannot join a database without this one."""
    base = facts_of([hot(2)], [("hot-0",)])
    member = base.members["hot-1"]
    assert member.pod is not None
    assert member.workload is not None
    before = {**member.pod.inputs, "template/nodeSelector": "no node", "storage/processes": "one"}
    trouble = replace(member.pod, inputs=before, ready=False, running=False, trouble="Unschedulable: no node fits")
    broken = replace(member, pod=trouble, workload=replace(member.workload, inputs=before), config=before)

    def edit(obs: o.Observation, retained: frozenset[str]) -> o.Observation:
        (pool,) = obs.desired.pools
        inputs = {**pool.inputs, "storage/processes": "two"}
        pool = replace(pool, inputs=inputs, held_inputs=inputs, retained=retained)
        members = tuple(broken if m.name == member.name else m for m in obs.members)
        return replace(obs, members=members, desired=replace(obs.desired, pools=(pool,)))

    observed = edit(base.obs, frozenset({"storage/processes"}))
    unrecorded = derive(replace(observed, records={}), NOW)
    (pool,) = unrecorded.obs.desired.pools
    assert immutable_inputs(unrecorded, unrecorded.members["hot-1"], pool) == {"storage/processes": "one"}, "it has run"
    kept = derive(observed, NOW)
    change = repair_change(kept, kept.members["hot-1"])
    assert change is not None
    assert change == Change(o.Effect.RECREATE, ("template/nodeSelector",))
    assert unsafe(kept, kept.members["hot-1"], change) is None
    lost = derive(edit(base.obs, frozenset()), NOW)
    change = repair_change(lost, lost.members["hot-1"])
    assert change is not None
    assert "a new member takes its place" in (unsafe(lost, lost.members["hot-1"], change) or "")


def test_a_member_without_a_pod_does_not_get_roles_with_which_it_cannot_start_on_its_volume() -> None:
    """The disaster this prevents: it refuses to start when its machine is back, and its copies may be the last ones."""
    base = facts_of([hot(2)], [("hot-0",)], down="hot-1")
    (pool,) = base.obs.desired.pools
    edited = replace(pool, data=False, inputs={**pool.inputs, "config/a": "new", "storage/holds": "nothing"})
    obs = replace(base.obs, desired=replace(base.obs.desired, pools=(edited,)))
    recorded = derive(obs, NOW)
    member = recorded.members["hot-1"]
    change = repair_change(recorded, member)
    assert change is not None
    assert change == Change(o.Effect.REPLACE, ("config/a", "storage/holds"))
    wanted = "config/a, storage/holds cannot change on hot-1: a new member takes its place"
    assert unsafe(recorded, member, change) == wanted
    new = derive(replace(obs, records={}), NOW)
    # Its template keeps the roles of its volume, so another pod would have them too, and would be recreated forever.
    assert unsafe(new, member, change) == wanted, "it has never joined, and a process may have used its volume"
    assert member.claim is not None
    assert unsafe(new, replace(member, claim=replace(member.claim, capacity=0)), change) is None
    unformed = derive(replace(obs, records={}, database=o.Unformed("it was never created")), NOW)
    assert unsafe(unformed, member, change) is None
    for mark in ({"earlier": True}, {"state": True}):
        assert unsafe(unformed, replace(member, claim=replace(member.claim, **mark)), change) == wanted


@pytest.mark.parametrize(("joined", "ephemeral"), [(True, True), (True, False), (False, True), (False, False)])
def test_only_a_member_in_the_database_whose_data_would_go_with_its_pod_is_drained_first(
    joined: bool, ephemeral: bool
) -> None:
    base = facts_of([hot(3, ephemeral=ephemeral)], [("hot-0", "hot-1")])
    database = base.database
    assert database is not None
    nodes = {name: node for name, node in database.nodes.items() if joined or name != "hot-1"}
    members = tuple(replace(m, claim=None) if ephemeral else m for m in base.obs.members)
    facts = derive(replace(base.obs, members=members, database=replace(database, nodes=nodes)), NOW)
    made = repair_member(facts, facts.members["hot-1"], Change(o.Effect.RECREATE, ("a",)), frozenset(), frozenset())
    assert made.drain == ({"hot-1"} if joined and ephemeral else set())
    assert [type(x) for x in made.actions] == ([] if joined and ephemeral else [a.DeletePod])


@pytest.mark.parametrize(
    ("policy", "going", "expected"),
    [
        (o.SoleCopy.MOVE, frozenset[str](), [a.MoveCopies]),
        (o.SoleCopy.MOVE, frozenset({"hot-1"}), []),
        (o.SoleCopy.WAIT, frozenset[str](), []),
        (o.SoleCopy.INTERRUPT, frozenset[str](), [a.DeletePod]),
    ],
)
def test_an_only_copy_is_moved_off_a_broken_member_if_the_spec_allows_moves_and_no_other_member_is_recreated(
    policy: o.SoleCopy, going: frozenset[str], expected: list[type[a.Action]]
) -> None:
    base = facts_of([hot(3)], [("hot-0",)])
    facts = derive(replace(base.obs, desired=replace(base.obs.desired, sole_copy=policy)), NOW)
    made = repair_member(facts, facts.members["hot-0"], Change(o.Effect.RECREATE, ("a",)), going, frozenset())
    assert [type(x) for x in made.actions] == expected


@pytest.mark.parametrize(("terminating", "observed"), [(False, True), (True, True), (False, False)])
def test_a_broken_pod_is_deleted_once_and_after_its_statefulset_has_the_template(
    terminating: bool, observed: bool
) -> None:
    facts = facts_of([hot(3)], [("hot-0", "hot-1")])
    member = facts.members["hot-1"]
    assert member.pod is not None
    assert member.workload is not None
    pod, workload = replace(member.pod, terminating=terminating), replace(member.workload, observed=observed)
    made = repair_member(
        facts,
        replace(member, pod=pod, workload=workload),
        Change(o.Effect.RECREATE, ("a",)),
        frozenset(),
        frozenset(),
    )
    assert [type(x) for x in made.actions] == ([a.DeletePod] if observed and not terminating else [])


@pytest.mark.parametrize("changed", ["config/a", "version"])
@pytest.mark.parametrize(
    ("runs", "agent", "ready", "readable", "template", "seconds", "lost"),
    [
        ("old", False, False, True, "new", BEREFT + 1, True),
        ("old", False, False, True, "new", BEREFT, False),
        ("old", True, False, True, "new", BEREFT + 1, False),
        ("old", False, True, True, "new", BEREFT + 1, False),
        ("old", False, False, False, "new", BEREFT + 1, False),
        ("old", False, False, True, "old", BEREFT + 1, False),
        ("new", False, False, True, "new", BEREFT + 1, False),
    ],
)
def test_a_pod_that_waits_for_a_configuration_that_was_overwritten_is_found_after_a_while(
    changed: str, runs: str, agent: bool, ready: bool, readable: bool, template: str, seconds: float, lost: bool
) -> None:
    """With an agent it uses what is mounted, and before its next template is written nothing was overwritten.

    In FoundationDB the version is in the configuration, too: a process crashed while its upgrade was prepared, and its
    pod waited for the former version's file without end.
    """
    base = facts_of([hot(2, config={"config/a": "new"})], [])
    member = base.members["hot-0"]
    assert member.pod is not None
    assert member.workload is not None
    wanted = member.workload.inputs
    inputs = {**wanted, changed: wanted[changed] if runs == "new" else "old"}
    member = replace(
        member,
        pod=replace(member.pod, inputs=inputs, agent=agent, ready=ready),
        workload=replace(member.workload, inputs={**wanted, changed: wanted[changed] if template == "new" else "old"}),
        config=member.config if readable else None,
    )
    assert member.pod is not None
    observed = replace(base.obs, members=(member, base.members["hot-1"]), away={"hot-0": NOW - seconds})
    assert configuration_is_lost(derive(observed, NOW), member, member.pod) is lost


@pytest.mark.parametrize(
    ("more", "because"),
    [
        ({}, None),
        ({"dynamic/a": "new"}, None),
        ({"template/a": "new"}, ("template/a",)),
        ({"template/a": "new", "dynamic/a": "new"}, ("template/a",)),
    ],
)
def test_a_part_that_needs_no_new_pod_is_no_reason_to_recreate_a_member_that_must_be_replaced(
    more: dict[str, str], because: tuple[str, ...] | None
) -> None:
    base = facts_of([hot(2, config={"storage/processes": "one"})], [])
    (pool,) = base.obs.desired.pools
    inputs = {**pool.inputs, "storage/processes": "two", **more}
    pool = replace(pool, inputs=inputs, held_inputs=inputs, retained=frozenset({"storage/processes"}))
    facts = derive(replace(base.obs, desired=replace(base.obs.desired, pools=(pool,))), NOW)
    change = repair_change(facts, facts.members["hot-1"])
    assert change is not None
    if because is None:
        assert change.effect is o.Effect.REPLACE
    else:
        assert change == Change(o.Effect.RECREATE, because)


def test_a_broken_member_without_data_in_its_pod_is_repaired_while_the_database_does_not_answer() -> None:
    """The disaster this prevents: the pod holds nothing, and its corrected setting waits for the whole database."""
    world = settled(managers(), hot(2), gateway(ephemeral=True)).edit(crash={("config/a", "bad")})
    bad = gateway(ephemeral=True, config={"config/a": "bad"})
    world.edit(pools=[managers(), hot(2), bad]).until(lambda w: len(w.did(a.DeletePod)) == 1).ticks(8)
    world.log.clear()
    world.edit(answers=False, pools=[managers(), hot(2), gateway(ephemeral=True)]).ticks(10)
    assert world.did(a.DeletePod) == ["c-gateway-0"]
