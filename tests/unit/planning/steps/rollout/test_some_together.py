"""A coordinated restart of some members, while others have a change of their own that restarts them one by one."""

from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.model.intent import StepResult
from stateward.planning.model.phase import COORDINATED
from stateward.planning.plan import Plan, after_steps
from stateward.planning.safety.sole_copies import sole_verdict
from tests.unit.planning.steps.rollout.test_restart import NEW, changed, phases, world
from tests.unit.planning.world import World, hot, managers, settled


def stops_with_others(made: World) -> set[str]:
    """Return the members that stop by themselves in a plan in which, or after which, others stop together."""
    found: set[str] = set()

    def look(plan: Plan) -> None:
        together = {x.member for x in plan.actions if isinstance(x, a.SetPhase) and x.phase in COORDINATED}
        together |= {b.name for b in made.bodies.values() if b.pod is not None and b.pod.phase == "stop-coordinated"}
        alone = {x.member for x in plan.actions if isinstance(x, a.StopProcess | a.DeletePod)} - together
        if together:
            found.update(alone)

    made.hooks.append(look)
    return found


def test_no_other_member_stops_in_the_plan_that_begins_to_stop_some_together() -> None:
    """The disaster this prevents: two of three managers, or all copies of a shard, are down together."""
    made = changed(world(indices=((3,), (2,))), schedule=o.Schedule("schedule-coordinated", ("managers",)))
    made.until(lambda w: "stop" in phases(w))
    found = stops_with_others(made)
    made.run()
    assert not found


def test_no_other_manager_stops_when_one_is_stopped_by_a_coordinated_request() -> None:
    made = world().edit(pools=[managers(config=NEW), hot()])
    pod = made.bodies["c-managers-0"].pod
    assert pod is not None
    pod.phase = "schedule-coordinated"
    found = stops_with_others(made)
    made.run()
    assert not found


def test_no_copy_of_a_shard_stops_by_itself_when_the_others_are_stopped_together() -> None:
    made = world(indices=((2,), (2,)), max_unavailable=None).edit(pools=[managers(), hot(config=NEW)])
    for name in ("c-hot-0", "c-hot-1"):
        pod = made.bodies[name].pod
        assert pod is not None
        pod.phase = "schedule-coordinated"
    found = stops_with_others(made)
    made.run()
    assert not found


def test_no_manager_that_a_user_wants_restarted_stops_while_another_one_is_stopped_by_a_coordinated_request() -> None:
    made = world(max_unavailable=None)
    for name, phase in (("c-managers-0", "schedule-coordinated"), ("c-managers-1", "schedule")):
        pod = made.bodies[name].pod
        assert pod is not None
        pod.phase = phase
    found = stops_with_others(made)
    made.run()
    assert not found


def test_a_member_does_not_restart_while_the_other_one_with_the_copies_leaves() -> None:
    """The disaster this prevents: one plan lets a drained member go, whose copy has no other place, and stops the last.

    Then no shard has a started copy, and the member that left is brought back.
    """
    made = settled(managers(), hot(2), indices=((2,),))
    facts = derive(made.observe(), made.now)
    leaving, other = facts.members["c-hot-0"], facts.members["c-hot-1"]
    assert leaving.workload is not None
    assert sole_verdict(facts, other) is None
    released = StepResult(actions=(a.Release(why="", member=leaving.name, workload=leaving.workload.ref),))
    reason = "shard logs[0] has its only started copy on c-hot-1"
    assert sole_verdict(after_steps(facts, released), other) == reason
    ending = made.edit(pools=[managers(), hot(2)])
    workload = ending.bodies["c-hot-0"].workload
    assert workload is not None
    workload.replicas = 0
    assert sole_verdict(after_steps(derive(ending.observe(), ending.now), StepResult()), other) == reason


def test_all_restart_together_also_if_a_restart_in_progress_cannot_end_before_that() -> None:
    """The disaster this prevents: certificates expire while one member restarts, and no member trusts another."""
    made = changed(world())
    made.until(lambda w: bool(w.did(a.StartProcess)))
    (first,) = made.did(a.StartProcess)
    made.answers = False
    made.ticks(3)
    made.schedule = o.Schedule("schedule-coordinated")
    made.until(lambda w: len(w.did(a.StopProcess)) == 6, limit=20)
    made.until(lambda w: len(w.did(a.StartProcess)) == 6)
    assert made.did(a.StartProcess).count(first) == 1
    made.answers = True
    made.run()


def test_all_restart_together_although_one_does_not_come_back_from_its_own_restart() -> None:
    made = changed(world())
    made.until(lambda w: bool(w.did(a.StartProcess)))
    (first,) = made.did(a.StartProcess)
    made.hang |= set(NEW.items())
    made.schedule = o.Schedule("schedule-coordinated")
    made.ticks(5)
    assert made.did(a.StopProcess) == [first]
    made.until(lambda w: len(w.did(a.StopProcess)) == 6)


def test_all_restart_together_although_one_hangs_after_a_restart_without_a_change() -> None:
    """The disaster this prevents: nothing repairs it, because it has no change, and the others wait for it."""
    made = world()
    pod = made.bodies["c-hot-2"].pod
    assert pod is not None
    pod.phase = "schedule"
    made.until(lambda w: bool(w.did(a.StartProcess)))
    made.hang |= set((pod.given or pod.inputs).items())
    made.schedule = o.Schedule("schedule-coordinated")
    made.until(lambda w: len(w.did(a.StopProcess)) == 6)


def test_all_restart_together_although_a_recorded_stop_is_held_back_for_long() -> None:
    """The disaster this prevents: a new pod joins only when the others have the change of all, which they restart for.

    They wait for the restart of one that serves, and this one does not stop while the new pod is down.
    """
    made = world(max_unavailable=1).edit(stumbling={"c-hot-2"})
    held, others = "c-managers-1", {"c-managers-0", "c-managers-2", "c-hot-0", "c-hot-1"}
    made.kill("c-hot-2").ticks(3)
    for name in (held, *others):
        pod = made.bodies[name].pod
        assert pod is not None
        pod.phase, pod.begun = ("stop", True) if name == held else ("schedule-coordinated", False)
    made.ticks(50)
    assert not made.did(a.StopProcess)
    assert "c-hot-2 is down" in {w.subject: w.message for w in made.plan().waits}[held]
    made.until(lambda w: others <= set(w.did(a.StopProcess)), limit=20)
    made.edit(stumbling=set()).run()
    assert held in made.did(a.StopProcess)


def test_a_request_for_all_waits_for_a_restart_that_ends_in_the_same_plan() -> None:
    """The disaster this prevents: one pod gets no phase in that plan, and the request is removed all the same."""
    made = world()
    pod = made.bodies["c-hot-1"].pod
    assert pod is not None
    pod.begun = True
    made.schedule = o.Schedule("schedule-rolling")
    assert not [x for x in made.tick().actions if isinstance(x, a.ClearSchedule)]
    made.run()
    assert made.schedule is None
    assert len(set(made.did(a.StopProcess))) == 6
