"""Restarts of processes in their pods: rolling, coordinated, requested, and interrupted."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from stateward.planning.facts.agents_to_ask import members_to_ask
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.model.observation import Orphan, Phase, Ref, Schedule
from stateward.planning.model.phase import AFTER
from stateward.planning.model.security import CERTIFICATES
from tests.unit.planning.pools import PoolSpec
from tests.unit.planning.world import World, hot, managers, mixed, settled

NEW = {"config/a": "1"}


def world(*pools: PoolSpec, indices: tuple[tuple[int, ...], ...] = ((2,), (2,)), **policy: object) -> World:
    """Return a settled cluster whose pods have agents."""
    made = World(*pools or (managers(), hot()), **policy)  # type: ignore[arg-type]
    made.agents = True
    made.run().index(*indices).run()
    made.log.clear()
    made.restarts.clear()
    return made


def changed(made: World, **more: object) -> World:
    return made.edit(pools=[managers(config=NEW), hot(config=NEW)], **more)


def uids(made: World) -> dict[str, str]:
    return {body.name: body.pod.uid for body in made.bodies.values() if body.pod is not None}


def phases(made: World) -> set[str]:
    return {body.pod.phase for body in made.bodies.values() if body.pod is not None}


def states(made: World) -> dict[str, str]:
    return {intent.member: intent.state.value for intent in made.plan().intents.values()}


def waits(made: World) -> set[tuple[str, str]]:
    return {(wait.subject, wait.reason) for wait in made.plan().waits}


def set_phase(made: World, name: str, phase: Phase) -> World:
    pod = made.bodies[name].pod
    assert pod is not None
    pod.phase = phase.value
    return made


def test_a_setting_is_changed_in_kept_pods_one_after_the_other_and_the_leader_last() -> None:
    made = world()
    before = uids(made)
    changed(made).run()
    assert uids(made) == before
    assert made.did(a.DeletePod) == []
    stopped = made.did(a.StopProcess)
    assert sorted(stopped) == sorted(before)
    assert stopped[:3] == ["c-hot-2", "c-hot-1", "c-hot-0"]
    assert phases(made) == {""}
    assert not made.limited
    assert all(body.pod is not None and body.pod.inputs["config/a"] == "1" for body in made.bodies.values())


def test_the_allocation_is_limited_and_memory_is_flushed_before_each_stop() -> None:
    made = changed(world()).run()
    kinds = [type(action) for _, action in made.log]
    first = kinds.index(a.StopProcess)
    assert kinds[first - 3 : first] == [a.SetPhase, a.LimitAllocation, a.Flush] or kinds[first - 3 : first] == [
        a.LimitAllocation,
        a.Flush,
        a.SetPhase,
    ]


def test_nothing_is_stopped_before_its_configuration_is_in_its_pod() -> None:
    made = changed(world(), propagation=120.0)
    made.until(lambda w: any(r == "ConfigurationNotMounted" for _, r in waits(w)))
    assert made.did(a.StopProcess) == []
    made.run()
    assert len(made.did(a.StopProcess)) == 6


def test_what_an_agent_cannot_read_is_what_its_member_waits_for() -> None:
    made = changed(world(), propagation=120.0)
    made.until(lambda w: any(r == "ConfigurationNotMounted" for _, r in waits(w)))
    said = "the disk is broken"
    asked = made.answer

    def answer(name: str) -> o.Process | o.Unknown:
        found = asked(name)
        return msgspec.structs.replace(found, mounted="", problem=said) if isinstance(found, o.Process) else found

    made.answer = answer
    told = [wait.message for wait in made.plan().waits if wait.reason == "ConfigurationNotMounted"]
    assert told
    assert all(said in text for text in told)


def test_a_silent_database_whose_certificates_were_renewed_without_it_says_how_it_comes_back() -> None:
    """Members that do not reload certificates: after the old ones have expired, no member trusts another."""
    made = world()
    made.answers = False
    (told,) = [wait.message for wait in made.plan().waits if wait.reason == "DatabaseUnknown"]
    assert "--coordinated" not in told
    renewed = {CERTIFICATES: "2"}
    made.edit(pools=[managers(config=renewed), hot(config=renewed)])
    (told,) = [wait.message for wait in made.plan().waits if wait.reason == "DatabaseUnknown"]
    assert "--coordinated" in told


def test_without_an_agent_pods_are_recreated() -> None:
    made = changed(settled(managers(), hot(), indices=((2,),)))
    made.run()
    assert made.did(a.StopProcess) == []
    assert len(made.did(a.DeletePod)) == 6
    assert any("its pod has no agent" in action.why for _, action in made.log if isinstance(action, a.DeletePod))


def test_a_cluster_without_restarts_in_place_gets_new_pods() -> None:
    made = changed(world(in_place=False)).run()
    assert made.did(a.StopProcess) == []
    assert len(made.did(a.DeletePod)) == 6


def test_a_member_whose_agent_stays_silent_is_recreated_and_the_reason_is_reported() -> None:
    made = changed(world(), mute={"c-hot-2"})
    made.until(lambda w: ("c-hot-2", "AgentSilent") in waits(w))
    assert made.did(a.DeletePod) == []
    made.run()
    assert made.did(a.DeletePod) == ["c-hot-2"]
    (why,) = (action.why for _, action in made.log if isinstance(action, a.DeletePod))
    assert "its agent does not answer" in why


def test_an_agent_that_falls_silent_in_the_middle_costs_its_pod_and_nothing_else() -> None:
    made = changed(world())
    made.until(lambda w: "stop" in phases(w) or "start" in phases(w))
    name = made.did(a.StopProcess)[0]
    made.mute = {name}
    made.until(lambda w: bool(w.did(a.DeletePod)))
    made.mute = set()
    made.run()
    assert made.did(a.DeletePod) == [name]


def test_data_in_the_pod_stays_there_and_is_not_drained() -> None:
    made = world(managers(), hot(ephemeral=True))
    made.edit(pools=[managers(config=NEW), hot(ephemeral=True, config=NEW)]).run()
    assert made.did(a.DeletePod) == []
    assert made.did(a.Drain) == []


@pytest.mark.parametrize("phase", [Phase.SCHEDULE, Phase.SCHEDULE_ROLLING])
def test_a_user_restarts_one_member_by_an_annotation_of_its_pod(phase: Phase) -> None:
    made = world()
    before = uids(made)
    set_phase(made, "c-hot-1", phase).run()
    assert made.did(a.StopProcess) == ["c-hot-1"]
    assert uids(made) == before
    assert phases(made) == {""}


def test_a_user_restarts_some_pools_by_an_annotation_of_the_cluster() -> None:
    made = world()
    made.schedule = Schedule("schedule-rolling", ("hot",))
    made.run()
    assert made.did(a.StopProcess) == ["c-hot-2", "c-hot-1", "c-hot-0"]
    assert made.schedule is None


@pytest.mark.parametrize(
    ("wish", "reason"),
    [(Schedule("now"), "RestartPhaseUnknown"), (Schedule("schedule", ("warm",)), "RestartPoolUnknown")],
)
def test_a_request_that_makes_no_sense_is_reported_and_not_applied(wish: Schedule, reason: str) -> None:
    made = world()
    made.schedule = wish
    made.ticks(3)
    assert ("c", reason) in waits(made)
    assert made.did(a.SetPhase) == []


def together(made: World, *, until: Callable[[World], bool]) -> list[tuple[int, int]]:
    """Continue, and return at each step how many processes run with the old and the new inputs."""
    seen: list[tuple[int, int]] = []
    first = {body.name: body.pod.starts for body in made.bodies.values() if body.pod is not None}
    for _ in range(100):
        if until(made):
            return seen
        made.tick()
        up = [b for b in made.bodies.values() if b.pod is not None and b.pod.process in ("starting", "running")]
        old = sum(b.pod is not None and b.pod.starts == first[b.name] for b in up)
        seen.append((old, len(up) - old))
    raise AssertionError(made.story())


def test_all_are_stopped_before_any_is_started() -> None:
    made = world()
    before = uids(made)
    made.schedule = Schedule("schedule-coordinated")
    made.tick()
    seen = together(made, until=lambda w: phases(w) == {""} and bool(w.did(a.FinishRestart)))
    assert (0, 0) in seen
    assert not any(old and new for old, new in seen)
    made.run()
    assert uids(made) == before
    assert not made.limited
    assert len(made.did(a.StopProcess)) == 6


def test_what_members_of_a_removed_pool_run_with_is_recorded_after_a_restart_of_all() -> None:
    """The disaster this prevents: the security is taken back, and all restart without it but the managers."""
    made, on, together_with = world(), {"security/on": "1"}, frozenset({"security"})
    made.edit(pools=[make(config=on, coordinated=together_with) for make in (managers, hot)])
    made.until(lambda w: bool(w.did(a.StartProcess)))
    made.edit(pools=[managers(name="masters"), hot()]).until(lambda w: phases(w) <= {"", "schedule-coordinated"})
    pods = {body.name: body.pod for body in made.bodies.values()}
    for name in ("c-managers-0", "c-managers-1", "c-managers-2"):
        pod = pods[name]
        assert pod is not None
        assert pod.given is not None
        assert pod.inputs["security/on"] == pod.given["security/on"] == "1"
    made.edit(pools=[make(coordinated=together_with) for make in (managers, hot)]).run()
    assert all("security/on" not in (body.pod.given or {}) for body in made.bodies.values() if body.pod is not None)


def test_a_change_that_cannot_be_talked_across_restarts_all_together() -> None:
    made = world()
    before = uids(made)
    on, together_with = {"security/on": "1"}, frozenset({"security"})
    pools = [make(config=on, coordinated=together_with) for make in (managers, hot)]
    made.edit(pools=pools, propagation=60.0)
    seen = together(made, until=lambda w: bool(w.did(a.FinishRestart)) and phases(w) == {""})
    assert (0, 0) in seen
    assert not any(old and new for old, new in seen)
    made.run()
    assert uids(made) == before


def test_a_member_that_misbehaves_is_kept_stopped_until_it_may_start_again() -> None:
    made = world()
    made.kept_stopped = frozenset({"c-hot-1"})
    made.until(lambda w: ("c-hot-1", "MemberStopped") in waits(w))
    made.ticks(40)
    assert made.did(a.StartProcess) == []
    assert not made.limited
    assert states(made)["c-hot-1"] == "Stopped"
    made.kept_stopped = frozenset()
    made.run()
    assert made.did(a.StartProcess) == ["c-hot-1"]


def test_a_process_never_starts_with_the_configuration_of_its_next_version() -> None:
    """A user stops a member whose template of the upgrade is written already, and lets it start again."""
    made = world().edit(version="2.19.5")
    made.until(lambda w: any(s.workload is not None and s.workload.version == "2.19.5" for s in w.observe().members))
    name = next(m.name for m in made.observe().members if m.workload is not None and m.workload.version == "2.19.5")
    before, pod = uids(made)[name], made.bodies[name].pod
    assert pod is not None
    pod.phase, pod.process, pod.ready = Phase.STOP.value, "stopped", False
    made.run()
    assert name not in made.did(a.StartProcess)
    assert uids(made)[name] != before
    assert made.did(a.DeletePod).count(name) == 1


def test_names_of_unknown_members_are_reported() -> None:
    made = world()
    made.kept_stopped = frozenset({"c-hot-9"})
    made.tick()
    assert ("c-hot-9", "StoppedMemberUnknown") in waits(made)


def test_what_was_begun_is_ended_while_everything_is_paused() -> None:
    made = changed(world())
    made.until(lambda w: bool(phases(w) & {"stop", "start"}))
    made.policy["paused"] = True
    made.until(lambda w: phases(w) == {""})
    assert len(made.did(a.StopProcess)) == 1
    assert not made.ticks(2).limited


def test_a_change_that_is_reverted_half_way_ends_like_the_beginning() -> None:
    made = changed(world())
    made.until(lambda w: len(w.did(a.FinishRestart)) == 2)
    made.edit(pools=[managers(), hot()]).run()
    assert made.did(a.DeletePod) == []
    assert all(body.pod is not None and "config/a" not in body.pod.inputs for body in made.bodies.values())
    assert not [body.name for body in made.bodies.values() if body.config != made.spec(body.pool).inputs(made.version)]


@pytest.mark.parametrize("how", ["crash", "hang"])
def test_a_setting_that_does_not_start_stops_at_the_first_member_and_can_be_reverted(how: str) -> None:
    made = changed(world(), **{how: {("config/a", "1")}})
    made.ticks(30)
    assert set(made.did(a.StopProcess)) == {"c-hot-2"}
    made.edit(pools=[managers(), hot()]).run()
    assert set(made.did(a.StopProcess)) == {"c-hot-2"}


def test_a_secret_without_a_member_is_collected_after_a_quarter_of_an_hour() -> None:
    made = world(mixed())
    made.orphans = (Orphan(Ref("c-mixed-7", "uid", "1"), made.now),)
    made.ticks(80)
    assert made.did(a.DeleteConfiguration) == []
    made.ticks(20)
    assert made.did(a.DeleteConfiguration)


def test_the_drawing_in_the_docs_is_how_one_phase_follows_another() -> None:
    drawing = (Path(__file__).parents[5] / "docs/concepts.md").read_text()
    drawing = drawing[drawing.index("### A restart in the pod") :].partition("stateDiagram-v2")[2].partition("```")[0]
    drawn = {(before, after) for before, after in re.findall(r"(\w+) --> (\w+):", drawing)}
    named = {(x.value or "none", y.value or "none") for x, following in AFTER.items() for y in following}
    assert drawn == {(x.replace("-", "_"), y.replace("-", "_")) for x, y in named}


@pytest.mark.parametrize("phase", [Phase.SCHEDULE, Phase.SCHEDULE_ROLLING, Phase.SCHEDULE_COORDINATED])
def test_whatever_is_requested_on_the_cluster_restarts_every_process_once_in_its_pod(phase: Phase) -> None:
    made = world()
    before = uids(made)
    made.schedule = Schedule(phase.value)
    made.run()
    assert sorted(made.did(a.StopProcess)) == sorted(before)
    assert uids(made) == before
    assert (phases(made), made.schedule) == ({""}, None)


def test_a_member_that_is_kept_stopped_waits_for_no_restart_but_perhaps_for_a_change() -> None:
    made = world().edit(kept_stopped=frozenset({"c-hot-1"}))
    made.until(lambda w: states(w)["c-hot-1"] == "Stopped").tick()
    pending = {m.name: m.pending for m in made.status.member_states}
    assert pending["c-hot-1"] == ""
    changed(made).tick()
    pending = {m.name: m.pending for m in made.status.member_states}
    assert pending["c-hot-1"] == "restart"


@pytest.mark.parametrize("told", [1, 3, 5])
def test_an_operator_that_dies_while_it_reports_all_to_stop_is_followed_by_one_that_reports_the_others(
    told: int,
) -> None:
    made = world().edit(schedule=Schedule("schedule-coordinated"))
    made.until(lambda w: phases(w) == {"schedule-coordinated"})
    for name in sorted(made.bodies)[:told]:
        set_phase(made, name, Phase.STOP_COORDINATED)
    made.log.clear()
    made.run()
    kinds = [type(action) for _, action in made.log]
    last_stop = len(kinds) - 1 - kinds[::-1].index(a.StopProcess)
    assert kinds.count(a.StopProcess) == kinds.count(a.StartProcess) == 6
    assert last_stop < kinds.index(a.StartProcess), "the first processes continued alone"


def test_a_pod_without_an_agent_in_a_removed_pool_ends_its_coordinated_restart_and_leaves() -> None:
    made = settled(managers(), hot(2), hot(2, "warm"), indices=((2,),))
    for name in ("c-warm-0", "c-warm-1"):
        pod = made.bodies[name].pod
        assert pod is not None
        pod.phase = "stop-coordinated"
    made.edit(pools=[managers(), hot(2)]).run()
    assert set(made.pods()) == {"c-managers-0", "c-managers-1", "c-managers-2", "c-hot-0", "c-hot-1"}


def test_a_settled_cluster_asks_no_agent_and_a_staged_member_is_asked() -> None:
    made = world()
    assert members_to_ask(made.silent()) == ()
    changed(made).until(lambda w: bool(w.did(a.Stage)))
    assert {m.name for m in members_to_ask(made.silent())} >= {"c-hot-2"}
