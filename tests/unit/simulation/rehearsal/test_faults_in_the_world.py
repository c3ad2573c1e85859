"""What the operator sees of each fault, what it decides, and what the fault costs."""

import pytest

from stateward.planning.model.actions import Create, DeletePod, RecordRemoval, Release, StartProcess, StopProcess
from stateward.planning.model.observation import Database, Member, Observation, Process, ProcessState, Unknown
from stateward.simulation.rehearsal.faults import Kind
from tests.unit.simulation.rehearsal.samples import START, Watched, fault, restart, settled

HOT = "logs-hot-0"


def member(seen: Observation, name: str = HOT) -> Member:
    return next(each for each in seen.members if each.name == name)


def listed(seen: Observation, name: str = HOT) -> bool:
    assert isinstance(seen.database, Database)
    return name in seen.database.nodes


def test_the_operator_sees_a_lost_node_step_by_step() -> None:
    run = Watched(settled(), fault(Kind.NODE, HOT))
    assert listed(run.rounds[0][1])
    dropped = run.at(130.0)
    pod = member(dropped).pod
    assert (listed(dropped), pod is not None and pod.node_ready) == (False, True)
    pod = member(run.at(141.0)).pod
    assert pod is not None
    assert (pod.ready, pod.node_ready, pod.node, pod.terminating) == (False, False, "n1", False)
    evicted = member(run.at(441.0)).pod
    assert evicted is not None
    assert evicted.terminating


def test_a_member_that_stays_away_is_replaced_if_the_policy_says_so() -> None:
    run = Watched(settled(after=600.0), fault(Kind.NODE, HOT))
    assert run.done(RecordRemoval) == [HOT]
    assert run.done(Create) == ["logs-hot-3"]
    assert run.done(Release) == [HOT]
    assert run.outcome.completed
    assert 740.0 < run.outcome.seconds < 1000.0


def test_a_member_that_stays_away_waits_for_a_user_without_the_policy() -> None:
    run = Watched(settled(), fault(Kind.NODE, HOT))
    assert not run.outcome.completed
    assert run.done(RecordRemoval) == []
    assert run.outcome.waits_for[1]


def test_a_node_that_returns_brings_its_member_back_with_its_data() -> None:
    run = Watched(settled(), fault(Kind.NODE, HOT, seconds=50.0))
    assert run.outcome.completed
    assert (run.done(Create), run.done(DeletePod)) == ([], [])
    # Lost at 100 s, back at 150 s, and started at 210 s.
    assert run.outcome.seconds == pytest.approx(214.0, abs=5.0)
    # The database drops it at 130 s, and recreates its copies elsewhere a minute later.
    assert run.outcome.single.seconds == pytest.approx(91.0, abs=1.0)


def test_writes_wait_until_the_database_drops_a_silent_node() -> None:
    run = Watched(settled(), fault(Kind.NODE, HOT, seconds=500.0))
    assert run.outcome.refused.seconds == pytest.approx(30.0)
    assert run.outcome.red.times == 0


def test_a_short_cut_of_the_network_is_not_even_seen() -> None:
    run = Watched(settled(), fault(Kind.NETWORK, HOT, seconds=20.0))
    assert run.outcome.completed
    assert all(listed(seen) for _, seen, _ in run.rounds)
    assert run.outcome.refused.seconds == pytest.approx(20.0)
    assert not any(made.actions for _, _, made in run.rounds)


def test_the_copies_of_a_member_that_was_cut_off_are_back_without_a_start() -> None:
    run = Watched(settled(), fault(Kind.NETWORK, HOT, seconds=50.0))
    assert run.outcome.completed
    assert run.outcome.seconds < 170.0


def test_a_member_with_an_empty_volume_recovers_from_the_others() -> None:
    run = Watched(settled(), fault(Kind.DISK, HOT, seconds=0.0))
    assert (run.outcome.completed, run.outcome.lost) == (True, 0)
    assert listed(run.end)
    assert run.done(RecordRemoval) == []


def test_an_empty_volume_loses_what_has_no_other_copy() -> None:
    run = Watched(settled(copies=1), fault(Kind.DISK, HOT, seconds=0.0))
    assert run.outcome.lost == 2
    assert run.outcome.red.times == 1


def test_a_member_whose_volume_is_gone_crashes_until_it_is_replaced() -> None:
    run = Watched(settled(after=600.0), fault(Kind.DISK, HOT))
    pod = member(run.at(400.0)).pod
    assert pod is not None
    assert pod.trouble.startswith("CrashLoopBackOff")
    assert (run.done(RecordRemoval), run.done(Create)) == ([HOT], ["logs-hot-3"])
    assert run.outcome.completed


def test_without_a_majority_of_the_managers_nothing_is_known_and_nothing_is_written() -> None:
    managers = ("logs-managers-0", "logs-managers-1")
    run = Watched(settled(), fault(Kind.NODE, *managers, seconds=300.0))
    assert isinstance(run.at(131.0).database, Unknown)
    assert run.outcome.completed
    assert listed(run.end, managers[0])
    # From 130 s, when the loss is noticed, until a manager is back at 400 s and has started at 460 s.
    assert run.outcome.refused.seconds == pytest.approx(330.0, abs=2.0)


def test_one_of_three_managers_may_be_lost() -> None:
    run = Watched(settled(), fault(Kind.NODE, "logs-managers-0", seconds=300.0))
    assert all(isinstance(seen.database, Database) for _, seen, _ in run.rounds)
    assert run.outcome.refused.times == 0


@pytest.mark.parametrize("kind", [Kind.NODE, Kind.NETWORK])
def test_a_process_that_was_stopped_for_a_restart_is_started_by_the_operator_after_the_outage(kind: Kind) -> None:
    """Its agent does not answer meanwhile; then it reads the phase on the pod, and waits."""
    stops = [
        when - START
        for when, _, made in Watched(restart()).rounds
        for action in made.actions
        if isinstance(action, StopProcess) and action.member == HOT
    ]
    run = Watched(restart(), fault(kind, HOT, at=stops[0] + 5.0, seconds=120.0))
    states = {
        found.state
        for when, seen, _ in run.rounds
        if when > START + stops[0] + 125.0 and isinstance(found := member(seen).process, Process)
    }
    during = [member(seen).process for when, seen, _ in run.rounds if 6.0 < when - START - stops[0] < 120.0]
    assert all(isinstance(answer, Unknown) for answer in during)
    assert ProcessState.STOPPED in states
    assert run.done(StartProcess).count(HOT) >= 1
    assert run.outcome.completed
