"""Members that do not serve: stopped or hanging processes, and requested stops and restarts."""

import pytest
from msgspec.structs import replace

from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.model.phase import Phase
from stateward.planning.steps.rollout.stop_process import stop_problem
from stateward.planning.steps.rollout.stopped_processes import has_no_effect
from tests.unit.planning.safety.test_choice import facts_of
from tests.unit.planning.steps.rollout.test_restart import changed, phases, set_phase, states, uids, waits, world
from tests.unit.planning.world import hot, managers, mixed


def test_a_process_whose_phase_a_user_took_off_in_the_middle_is_started_again() -> None:
    made = set_phase(world(), "c-hot-1", o.Phase.SCHEDULE)
    made.until(lambda w: "stop" in phases(w) and bool(w.did(a.StopProcess)))
    set_phase(made, "c-hot-1", o.Phase.NONE).run()
    assert made.did(a.DeletePod) == []
    assert made.did(a.StopProcess) == ["c-hot-1"]


def test_a_process_that_hangs_is_restarted_on_request() -> None:
    made = world()
    pod = made.bodies["c-hot-1"].pod
    assert pod is not None
    pod.ready, pod.steps, pod.given = False, 0, {"config/a": "hangs"}
    made.hang = {("config/a", "hangs")}
    before = uids(made)
    made.ticks(5)
    assert made.did(a.StopProcess) == []
    set_phase(made, "c-hot-1", o.Phase.SCHEDULE).run()
    assert (made.did(a.StopProcess), uids(made)) == (["c-hot-1"], before)


def test_all_are_restarted_one_after_the_other_though_one_of_them_hangs() -> None:
    made = world()
    pod = made.bodies["c-hot-0"].pod
    assert pod is not None
    pod.ready, pod.steps, pod.given = False, 0, {"config/a": "hangs"}
    made.edit(hang={("config/a", "hangs")}, schedule=o.Schedule("schedule-rolling")).run()
    assert sorted(made.did(a.StopProcess)) == sorted(made.bodies)
    assert made.did(a.DeletePod) == []


def test_a_member_that_crashes_again_and_again_is_kept_stopped() -> None:
    made = world()
    pod = made.bodies["c-hot-1"].pod
    assert pod is not None
    pod.ready, pod.given = False, {"config/a": "crashes"}
    made.edit(crash={("config/a", "crashes")}, kept_stopped=frozenset({"c-hot-1"})).ticks(2)
    assert pod.phase == "stop"
    pod.process = "stopped"  # Its container has started again, and its agent has read the phase.
    made.ticks(3)
    assert states(made)["c-hot-1"] == "Stopped"
    assert made.did(a.StartProcess) == []


def test_a_member_that_is_kept_stopped_does_not_keep_the_others_from_restarting_together() -> None:
    made = world(mixed(4))
    made.kept_stopped = frozenset({"c-all-3"})
    made.until(lambda w: ("c-all-3", "MemberStopped") in waits(w))
    made.schedule = o.Schedule("schedule-coordinated")
    made.until(lambda w: len(w.did(a.FinishRestart)) == 3)
    assert states(made)["c-all-3"] == "Stopped"
    made.edit(kept_stopped=frozenset()).run()
    assert made.did(a.DeletePod) == []


def test_a_request_on_the_cluster_does_not_write_over_a_stop_of_the_same_round() -> None:
    made = changed(world())
    made.until(lambda w: any(isinstance(x, a.StopProcess) for x in w.plan().actions))
    made.schedule = o.Schedule("schedule-rolling")
    (stopping,) = (x.member for x in made.plan().actions if isinstance(x, a.StopProcess))
    written = [x.phase for x in made.plan().actions if isinstance(x, a.SetPhase) and x.member == stopping]
    assert written == [o.Phase.STOP]
    made.run()


def test_of_a_database_that_does_not_answer_one_process_at_a_time_is_restarted_for_a_user() -> None:
    made = world(max_unavailable=None)
    made.edit(answers=False, schedule=o.Schedule("schedule")).ticks(4)
    assert made.did(a.StopProcess) == [], "some answers may be lost on the way"
    made.until(lambda w: any(isinstance(x, a.StopProcess) for x in w.plan().actions))
    gone = {x.member for x in made.plan().actions if isinstance(x, a.StopProcess)}
    assert len(gone | set(made.did(a.StopProcess))) == 1
    made.edit(answers=True).run()


def test_a_member_with_the_only_copy_is_not_stopped_on_request_because_an_answer_is_lost() -> None:
    made = world(mixed(3), indices=((1,),), sole_copy=o.SoleCopy.WAIT)
    (index,) = made.indices
    made.edit(kept_stopped=frozenset({index.copies[0].member})).ticks(3)
    made.edit(answers=False).ticks(1)
    made.edit(answers=True).ticks(3)
    assert made.did(a.StopProcess) == []


def test_a_stop_that_was_written_and_not_done_is_not_done_while_the_database_does_not_answer() -> None:
    made = set_phase(world(), "c-hot-1", o.Phase.STOP)
    made.edit(answers=False).ticks(5)
    assert made.did(a.StopProcess) == []
    assert ("c-hot-1", "NotSafeYet") in waits(made)
    made.edit(answers=True).run()
    assert made.did(a.StopProcess) == ["c-hot-1"]


@pytest.mark.parametrize("copies", [1, 2])
def test_a_stop_that_was_written_and_not_done_frees_the_member_of_only_copies_first(copies: int) -> None:
    made = world(indices=((copies,),))
    (index,) = made.indices
    index.copies, index.current = [c for c in index.copies if c.primary], {index.copies[0].member}
    holder = index.copies[0].member
    set_phase(made, holder, o.Phase.STOP).tick()
    assert made.did(a.StopProcess) == []
    made.run()
    assert made.did(a.StopProcess) == [holder]


def test_a_bad_setting_of_the_only_manager_can_be_reverted_though_the_database_is_gone() -> None:
    made = world(managers(1), hot(2), indices=((2,),))
    made.edit(hang={("config/a", "1")}, pools=[managers(1, config={"config/a": "1"}), hot(2)])
    made.until(lambda w: "start" in phases(w))
    made.mute = {"c-managers-0"}
    made.until(lambda w: bool(w.did(a.DeletePod)))
    made.edit(mute=set(), pools=[managers(1), hot(2)]).run()


def test_what_breaks_members_with_their_data_in_the_pod_is_reverted_inside_their_pods() -> None:
    together = frozenset({"security"})
    made = world(managers(), hot(2, ephemeral=True), indices=((2,),))
    both = {"security/on": "1", "config/a": "bad"}
    made.crash = {("config/a", "bad")}
    before = uids(made)
    made.edit(
        pools=[
            managers(config={"security/on": "1"}, coordinated=together),
            hot(2, ephemeral=True, config=both, coordinated=together),
        ]
    )
    made.until(lambda w: len(w.did(a.StartProcess)) == 5).ticks(10)
    good = hot(2, ephemeral=True, config={"security/on": "1"}, coordinated=together)
    made.edit(pools=[made.pools[0], good]).run()
    assert uids(made) == before


@pytest.mark.parametrize("back", ["at once", "later", "never"])
def test_a_process_that_runs_with_what_its_pod_does_not_say_is_put_right(back: str) -> None:
    """A user removed the phase after the start of the process, and the change is reverted."""
    made = changed(world())
    made.until(lambda w: bool(w.did(a.StartProcess)))
    (name,) = made.did(a.StartProcess)
    pod = made.bodies[name].pod
    assert pod is not None
    assert pod.runs != pod.said
    set_phase(made, name, o.Phase.NONE)
    if back == "later":
        made.tick()
    if back != "never":
        made.edit(pools=[managers(), hot()])
    made.run()
    assert pod is made.bodies[name].pod
    assert pod.runs == pod.said == made.bodies[name].pod.mounted  # type: ignore[union-attr]
    assert pod.inputs.get("config/a") == (None if back != "never" else "1")
    assert not made.did(a.DeletePod)


def test_a_process_is_not_started_with_what_was_written_for_the_version_before_that_of_its_pod() -> None:
    made = world()
    made.kept_stopped = frozenset({"c-hot-1"})
    made.until(lambda w: ("c-hot-1", "MemberStopped") in waits(w))
    body = made.bodies["c-hot-1"]
    assert body.config is not None
    assert body.pod is not None
    right = dict(body.config)
    body.config = {**right, "version": "of before"}  # By an operator that began on an old state.
    body.pod.arrives = made.now
    made.kept_stopped = frozenset()
    made.until(lambda w: "c-hot-1" in w.did(a.StartProcess))
    assert body.pod.given == right
    made.run()
    assert made.did(a.DeletePod) == []


def test_a_process_kept_stopped_before_it_ever_joined_is_started_when_its_phase_was_taken_off() -> None:
    made = world()
    made.kept_stopped = frozenset({"c-hot-3"})
    made.edit(pools=[managers(), hot(4)])
    made.until(lambda w: "c-hot-3" in w.bodies and ("c-hot-3", "MemberStopped") in waits(w))
    assert "c-hot-3" not in made.observe().records
    set_phase(made, "c-hot-3", o.Phase.NONE).kept_stopped = frozenset()
    made.run()
    assert made.did(a.StartProcess) == ["c-hot-3"]
    assert made.did(a.DeletePod) == []


def test_a_restart_that_was_taken_off_is_remembered_though_its_change_is_reverted_on_an_old_state() -> None:
    """Nothing else shows that its agent must be queried: its pod is Ready and matches the spec."""
    made = changed(world())
    before = {name: dict(body.config or {}) for name, body in made.bodies.items()}
    made.until(lambda w: bool(w.did(a.StartProcess)))
    (name,) = made.did(a.StartProcess)
    body = made.bodies[name]
    assert body.pod is not None
    assert body.workload is not None
    made.until(lambda w: (pod := w.bodies[name].pod) is not None and pod.process == "running" and pod.ready)
    set_phase(made, name, o.Phase.NONE).edit(pools=[managers(), hot()])
    body.workload.inputs, body.config, body.pod.arrives = dict(body.pod.inputs), before[name], made.now
    assert body.pod.runs != body.pod.said
    made.run()
    assert body.pod.runs == body.pod.said == body.pod.mounted
    assert not made.did(a.DeletePod)


def test_a_restart_that_was_taken_off_before_its_process_was_stopped_leaves_nothing_behind() -> None:
    made = set_phase(world(), "c-hot-1", o.Phase.NONE)
    pod = made.bodies["c-hot-1"].pod
    assert pod is not None
    pod.begun = True
    made.run()
    assert not pod.begun
    assert made.did(a.StopProcess) == made.did(a.DeletePod) == []


def test_an_upgrade_that_is_reverted_is_not_started_on_a_member_kept_stopped_in_its_new_pod() -> None:
    made = world()
    old = made.version
    made.edit(version="2.19.5").until(lambda w: bool(w.did(a.DeletePod)))
    (name,) = made.did(a.DeletePod)
    made.kept_stopped = frozenset({name})
    made.until(lambda w: (name, "MemberStopped") in waits(w))
    assert made.observe().records[name].version == old
    made.kept_stopped = frozenset()
    made.edit(version=old).run()
    assert made.did(a.DeletePod) == [name, name]
    assert made.did(a.StartProcess) == []
    assert {body.pod.version for body in made.bodies.values() if body.pod is not None} == {old}


def test_the_mark_of_a_restart_goes_from_a_pod_without_an_agent_when_its_phase_was_removed() -> None:
    facts = facts_of([hot(1)], [])
    member = facts.members["hot-0"]
    assert member.pod is not None
    assert has_no_effect(facts, replace(member, pod=replace(member.pod, begun=True, agent=False)))
    assert not has_no_effect(facts, replace(member, pod=replace(member.pod, begun=True, agent=True)))
    assert not has_no_effect(facts, replace(member, pod=replace(member.pod, begun=True, phase=Phase.STOP)))


def test_a_serving_process_with_an_outdated_configuration_is_not_stopped_beyond_the_budget() -> None:
    facts = facts_of([managers(1), hot(3)], [], budget=1)
    pods = {"hot-0": ("old", o.ProcessState.RUNNING), "hot-1": ("", o.ProcessState.STOPPED)}

    def restarting(member: o.Member) -> o.Member:
        if member.name not in pods or member.pod is None:
            return member
        runs, state = pods[member.name]
        pod = replace(member.pod, phase=Phase.START, ready=state is o.ProcessState.RUNNING, agent=True)
        return replace(member, pod=pod, config_checksum="new", process=o.Process(state, "new", runs))

    members = {m.name: restarting(m) for m in facts.obs.members}
    made = derive(replace(facts.obs, members=tuple(members.values())), facts.now)
    assert "hot-1 is down" in (stop_problem(made, made.members["hot-0"]) or "")
    members["hot-1"] = facts.members["hot-1"]
    made = derive(replace(facts.obs, members=tuple(members.values())), facts.now)
    assert stop_problem(made, made.members["hot-0"]) is None


def test_a_stopped_process_is_started_also_if_the_spec_allows_no_restarts_in_pods_any_longer() -> None:
    """The disaster this prevents: no other step starts it, as its pod is up to date."""
    made = set_phase(world(), "c-hot-1", o.Phase.SCHEDULE)
    made.until(lambda w: "stop" in phases(w) and bool(w.did(a.StopProcess)))
    made.policy = {**made.policy, "in_place": False}
    set_phase(made, "c-hot-1", o.Phase.NONE).run()
    assert made.did(a.StopProcess) == ["c-hot-1"]
    assert made.did(a.StartProcess) == ["c-hot-1"]


def test_a_member_that_hangs_and_is_kept_stopped_does_not_wait_for_the_restart_of_all() -> None:
    made = set_phase(world(), "c-hot-1", o.Phase.SCHEDULE_COORDINATED)
    pod = made.bodies["c-hot-1"].pod
    assert pod is not None
    pod.ready, pod.steps, pod.given = False, 0, {"config/a": "hangs"}
    made.edit(hang={("config/a", "hangs")}, kept_stopped=frozenset({"c-hot-1"})).ticks(3)
    assert states(made)["c-hot-1"] == "Stopped"
    made.edit(kept_stopped=frozenset()).run()
