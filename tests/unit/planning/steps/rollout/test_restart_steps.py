"""Single steps of a restart, each on one observation."""

from typing import Any

import pytest
from msgspec.structs import replace

from stateward.planning.facts.change import Change
from stateward.planning.facts.facts import ANSWER_PATIENCE, Facts, derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.model.database import UNANSWERED
from stateward.planning.model.process import AGENT_PATIENCE
from stateward.planning.steps.rollout.restart_one import handle_silent_agent, recreate_pod
from stateward.planning.steps.rollout.restarts_in_progress import without_phase
from stateward.planning.steps.rollout.rolling_change import OtherWork, clear_of_other_work
from stateward.planning.steps.rollout.stop_process import limit_allocation, stop_problem
from stateward.planning.steps.rollout.user_requests import unstoppable
from tests.unit.planning.chaos import NOW
from tests.unit.planning.pools import hot, managers, mixed
from tests.unit.planning.safety.test_choice import facts_of


def with_member(facts: Facts, name: str, **changes: Any) -> Facts:
    """Return the facts with one member changed."""
    members = tuple(replace(m, **changes) if m.name == name else m for m in facts.obs.members)
    return derive(replace(facts.obs, members=members), NOW)


def concerned(facts: Facts, *names: str) -> list[frozenset[str]]:
    """Return the members that the database is told about before these go."""
    made = limit_allocation(facts, [facts.members[name] for name in names])
    return [action.members for action in made if isinstance(action, a.LimitAllocation)]


def test_the_database_learns_which_members_come_back_only_if_others_remain() -> None:
    facts = facts_of([hot(2)], [("hot-0", "hot-1")])
    assert concerned(facts, "hot-0") == [frozenset({"hot-0"})]
    assert concerned(facts, "hot-0", "hot-1") == [frozenset()]


def test_no_setting_is_written_for_members_without_data_nor_twice() -> None:
    facts = facts_of([hot(2)], [("hot-0",)])
    assert limit_allocation(facts, [facts.members["hot-1"]]) == ()
    assert facts.database is not None
    limited = replace(facts, database=replace(facts.database, allocation=o.Allocation.PRIMARIES))
    assert [type(x) for x in limit_allocation(limited, [facts.members["hot-0"]])] == [a.Flush]


@pytest.mark.parametrize(
    ("pool", "outdated", "expected"),
    [("hot", False, [a.DeletePod]), ("hot", True, [a.Stage]), ("renamed", False, []), ("renamed", True, [])],
)
def test_a_pod_is_recreated_from_the_desired_template_only(pool: str, outdated: bool, expected: list[type]) -> None:
    """A member whose pool is no longer in the spec has no desired template."""
    base = facts_of([hot(2)], [])
    config = {"config/a": "old"} if outdated else base.members["hot-1"].config
    facts = with_member(base, "hot-1", pool=pool, config=config)
    assert [type(x) for x in recreate_pod(facts, facts.members["hot-1"], "it is stopped").actions] == expected


def test_a_member_that_cannot_be_kept_stopped_needs_a_person_and_one_without_a_pod_does_not() -> None:
    facts = facts_of([hot(2)], [], down="hot-0")
    facts = replace(facts, obs=replace(facts.obs, stopped=frozenset({"hot-0", "hot-1", "hot-7"})))
    assert [(w.subject, w.reason, w.stalled) for w in unstoppable(facts)] == [
        ("hot-1", "NeedsAgent", True),
        ("hot-7", "StoppedMemberUnknown", True),
    ]


def in_phases(facts: Facts, **phases: o.Phase) -> Facts:
    """Return the facts with the pods of members in these phases."""
    for key, phase in phases.items():
        pod = facts.members[name := key.replace("_", "-")].pod
        assert pod is not None
        facts = with_member(facts, name, pod=replace(pod, phase=phase, agent=True))
    return facts


@pytest.mark.parametrize(
    ("first", "crossing", "late"),
    [
        (o.Phase.STOP_COORDINATED, o.ProtocolSwitch.NONE, ["hot-1"]),
        (o.Phase.START_COORDINATED, o.ProtocolSwitch.NONE, []),
        (o.Phase.START_COORDINATED, o.ProtocolSwitch.SWITCHED, ["hot-1"]),
        (o.Phase.NONE, o.ProtocolSwitch.SWITCHED, []),
    ],
)
def test_a_member_whose_phase_was_not_written_joins_a_coordinated_restart_until_the_others_start(
    first: o.Phase, crossing: o.ProtocolSwitch, late: list[str]
) -> None:
    """Where the others may have switched their protocol, it joins them even then."""
    facts = in_phases(facts_of([hot(2)], []), hot_0=first, hot_1=o.Phase.SCHEDULE_COORDINATED)
    together = [facts.members["hot-0"]] if first is not o.Phase.NONE else []
    found = without_phase(replace(facts, crossing=crossing), together, frozenset())
    assert [m.name for m in found] == late


@pytest.mark.parametrize(
    ("runs", "units", "stopped"),
    [
        ({"hot-0": "old", "hot-1": "old"}, [], "hot-0"),
        ({"hot-0": "new", "hot-1": "old"}, [], "hot-1"),
        ({"hot-0": "old", "hot-1": "old"}, [("hot-0",)], "hot-1"),
    ],
)
def test_of_several_outdated_processes_the_first_that_may_stop_is_stopped(
    runs: dict[str, str], units: list[tuple[str, ...]], stopped: str
) -> None:
    base = facts_of([hot(3)], units, budget=1)
    facts = in_phases(
        derive(replace(base.obs, desired=replace(base.obs.desired, sole_copy=o.SoleCopy.WAIT)), NOW),
        hot_0=o.Phase.START,
        hot_1=o.Phase.START,
    )
    for name, digest in runs.items():
        process = o.Process(o.ProcessState.RUNNING, "new", digest)
        facts = with_member(facts, name, process=process, config_checksum="new")
    outdated = [name for name, digest in runs.items() if digest == "old"]
    assert [n for n in outdated if stop_problem(facts, facts.members[n]) is None] == [stopped]


@pytest.mark.parametrize(("away", "budget", "stops"), [([], 1, True), (["hot-1"], 1, False), (["hot-1"], 2, True)])
def test_a_process_that_was_to_stop_and_serves_again_stops_within_the_budget(
    away: list[str], budget: int, stops: bool
) -> None:
    """It crashed before it was stopped, and has joined again; meanwhile another member is down."""
    facts = in_phases(facts_of([hot(3)], [], budget=budget), hot_0=o.Phase.STOP)
    running = o.Process(o.ProcessState.RUNNING, "new", "new")
    facts = with_member(facts, "hot-0", process=running, config_checksum="new")
    for name in away:
        pod = facts.members[name].pod
        assert pod is not None
        facts = with_member(facts, name, pod=replace(pod, ready=False))
    problem = stop_problem(facts, facts.members["hot-0"])
    assert (problem is None) is stops, problem
    if not stops:
        assert problem == "hot-1 is down, and no more members may be down"


@pytest.mark.parametrize("silent", [[], ["hot-0"], ["hot-0", "hot-1"]])
def test_several_that_were_to_stop_and_still_serve_stop_one_after_the_other(silent: list[str]) -> None:
    """None of them waits for the other, also if their agents have been silent for long."""
    facts = in_phases(facts_of([hot(3)], [("hot-0", "hot-1")], budget=1), hot_0=o.Phase.STOP, hot_1=o.Phase.STOP)
    waits = {f"{name} AgentSilent": NOW - AGENT_PATIENCE for name in silent}
    facts = derive(replace(facts.obs, waits=waits), NOW)
    running = o.Process(o.ProcessState.RUNNING, "new", "new")
    for name in ("hot-0", "hot-1"):
        process = o.Unknown("no answer") if name in silent else running
        facts = with_member(facts, name, process=process, config_checksum="new")
    found = {name: stop_problem(facts, facts.members[name]) for name in ("hot-0", "hot-1")}
    assert found == {"hot-0": None, "hot-1": "hot-0 is stopped first"}


@pytest.mark.parametrize(
    ("ready", "requested", "silent", "stops"),
    [
        (True, True, True, True),
        (True, True, False, False),
        (True, False, True, False),
        (False, False, False, True),
    ],
)
def test_a_serving_process_stops_without_an_answer_of_the_database_only_if_a_user_keeps_it_stopped(
    ready: bool, requested: bool, silent: bool, stops: bool
) -> None:
    base = facts_of([hot(2)], [])
    pod = base.members["hot-0"].pod
    assert pod is not None
    obs = replace(
        with_member(base, "hot-0", pod=replace(pod, ready=ready)).obs,
        database=o.Unknown("no answer"),
        stopped=frozenset({"hot-0"} if requested else ()),
        waits={f"c {UNANSWERED}": NOW - ANSWER_PATIENCE if silent else NOW},
    )
    facts = derive(obs, NOW)
    assert facts.unanswered is silent
    assert (stop_problem(facts, facts.members["hot-0"]) is None) is stops


@pytest.mark.parametrize("units", [[], [("hot-0",)]])
def test_a_pod_whose_agent_stays_silent_is_recreated_unless_it_serves_an_only_copy(
    units: list[tuple[str, ...]],
) -> None:
    base = facts_of([hot(2)], units)
    obs = replace(
        with_member(base, "hot-0", process=o.Unknown("no answer")).obs,
        desired=replace(base.obs.desired, sole_copy=o.SoleCopy.WAIT),
        waits={"hot-0 AgentSilent": NOW - AGENT_PATIENCE},
    )
    facts = derive(obs, NOW)
    made = handle_silent_agent(facts, facts.members["hot-0"])
    assert [type(x) for x in made.actions] == ([] if units else [a.DeletePod])
    (wait,) = made.waits
    assert ("only started copy" in wait.message) is bool(units)


def test_managers_and_members_with_data_wait_while_data_moves() -> None:
    facts = facts_of([managers(1), mixed(1), hot(2)], [("hot-0",)])
    waiting = list(facts.obs.members)
    changes = {m.name: Change(o.Effect.RECREATE, ("a",)) for m in waiting}
    free, part = clear_of_other_work(facts, waiting, changes, OtherWork(moving="hot-7"))
    assert [m.name for m in free] == ["hot-1"]
    assert {(w.subject, w.reason) for w in part.waits} == {
        (name, "DataMoving") for name in ("managers-0", "all-0", "hot-0")
    }
