"""A restart of one manager while the vote of another one moves leaves the managers their majority."""

from msgspec.structs import replace

from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import Plan
from stateward.planning.safety.availability import quorum_without
from tests.unit.planning.steps.rollout.test_restart import set_phase, waits, world
from tests.unit.planning.world import World, hot, managers, settled


def shrinking() -> World:
    """Return a cluster whose three managers are about to become two."""
    return world(managers(3), hot(2)).edit(pools=[managers(2), hot(2)])


def kinds(made: Plan) -> set[str]:
    return {type(action).__name__ for action in made.actions}


def test_a_requested_restart_of_a_manager_waits_until_the_vote_of_another_one_has_moved() -> None:
    """The disaster this prevents: two of three managers are left, one of them stops, and no majority is there."""
    made = set_phase(shrinking(), "c-managers-0", o.Phase.SCHEDULE)
    made.until(lambda w: bool(w.did(a.ExcludeVoters)))
    assert not made.did(a.StopProcess)
    made.until(lambda w: not w.available or not w.plan().waits)
    assert made.available
    made.run()
    assert made.did(a.StopProcess) == ["c-managers-0"]
    assert made.did(a.Release) == ["c-managers-2"]


def test_the_wait_of_a_requested_restart_names_the_manager_whose_vote_moves() -> None:
    made = set_phase(shrinking(), "c-managers-0", o.Phase.SCHEDULE)
    assert ("c-managers-0", "VoteMoving") in waits(made)
    data = set_phase(shrinking(), "c-hot-0", o.Phase.SCHEDULE)
    data.ticks(2)
    assert data.did(a.StopProcess) == ["c-hot-0"], "members without a vote do not wait for it"


def interrupted(phase: str) -> World:
    """Return a cluster of two managers, the voting one of which is recorded as restarting and still runs."""
    made = shrinking().until(lambda w: bool(w.did(a.Release))).ticks(1)
    assert made.voters == {"c-managers-0"}
    made.log.clear()
    pod = made.bodies["c-managers-0"].pod
    assert pod is not None
    pod.phase, pod.begun = phase, True
    return made


def test_a_manager_whose_stop_was_recorded_gives_its_vote_away_before_it_stops() -> None:
    made = interrupted("stop")
    first = made.plan()
    assert "StopProcess" not in kinds(first)
    assert ("c-managers-0", "VoteMoving") in waits(made)
    made.until(lambda w: bool(w.did(a.StopProcess)))
    assert made.voters == {"c-managers-1"}
    made.run()
    assert made.available
    assert not made.exclusions


def test_a_manager_that_runs_with_another_configuration_gives_its_vote_away_before_it_stops_again() -> None:
    made = interrupted("start")
    pod = made.bodies["c-managers-0"].pod
    assert pod is not None
    pod.runs = "another"
    assert "StopProcess" not in kinds(made.plan())
    made.run()
    assert "c-managers-0" in made.did(a.StopProcess)


def test_a_vote_that_is_excluded_counts_for_no_majority() -> None:
    made = world(managers(3), hot(2))
    seen = made.observe()
    assert isinstance(seen.database, o.Database)
    assert quorum_without(derive(seen, made.now), {"c-managers-0"})
    excluded = replace(seen.database, voting_exclusions=frozenset({"c-managers-2"}))
    facts = derive(replace(seen, database=excluded), made.now)
    assert not quorum_without(facts, {"c-managers-0"})
    assert quorum_without(facts, {"c-managers-2"})


def test_a_vote_moves_also_to_a_manager_whose_own_restart_has_not_been_recorded_as_finished() -> None:
    """The disaster this prevents: the only voter stops, though the other manager serves and could vote."""
    made = world(managers(2), hot(2))
    (voter,) = made.voters
    for body in made.bodies.values():
        if body.pool == "managers" and body.pod is not None:
            body.pod.phase, body.pod.begun = ("stop" if body.name == voter else "start"), True
    made.tick()
    assert voter not in made.did(a.StopProcess)
    assert voter in made.exclusions
    made.run()
    assert voter in made.did(a.StopProcess)


def test_a_vote_that_a_member_without_the_role_never_casts_does_not_count_for_the_quorum() -> None:
    """A manager became a data node while its cluster was created again: two votes of three are all that is left."""
    made = settled(managers(2), hot()).edit(voters={"c-managers-0", "c-managers-1", "c-hot-0"})
    made.edit(pools=[managers(2, config={"config/a": "2"}), hot()])
    for _ in range(20):
        made.tick()
        assert made.available
    held = "config/a: c-hot-0 is no manager and has a vote, which ends when three managers have joined"
    assert held in {wait.message for wait in made.plan().waits}
    made.edit(pools=[managers(3, config={"config/a": "2"}), hot()]).run()


def test_no_vote_moves_for_a_restart_to_a_manager_that_begins_to_leave_in_the_same_round() -> None:
    """The disaster this prevents: both lose their votes, the database refuses that, and the plan never continues."""
    made = set_phase(world(managers(2), hot(2)), "c-managers-0", o.Phase.SCHEDULE)
    made.edit(voters={"c-managers-0"}, pools=[managers(1), hot(2)]).run()
    assert made.did(a.Release) == ["c-managers-1"]
    assert made.did(a.StopProcess) == ["c-managers-0"]


def test_the_successor_of_a_lost_manager_does_not_wait_for_one_whose_recorded_stop_is_held_back() -> None:
    """The disaster this prevents: the stop waits until the lost manager is back, and its successor for the restart."""
    made = world(managers(3), hot(2)).index((2,))
    made.unschedulable.add("c-managers-0")
    made.bodies["c-managers-0"].pod = None
    made.until(lambda w: w.bodies["c-managers-0"].pod is not None)
    pod = made.bodies["c-managers-1"].pod
    assert pod is not None
    pod.phase, pod.begun = "stop", True
    made.edit(policy={"replacement": o.Replacement(undrained=frozenset({"c-managers-0"}))}).log.clear()
    made.run()
    assert made.did(a.Create) == ["c-managers-3"]
    assert made.did(a.StopProcess) == ["c-managers-1"]
