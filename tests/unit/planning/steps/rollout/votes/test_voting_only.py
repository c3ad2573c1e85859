"""Nodes that vote and are never elected take over no vote: without another manager the cluster would elect none."""

from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.safety.availability import voter_problem
from tests.unit.planning.pools import tiebreaker
from tests.unit.planning.steps.rollout.test_restart import NEW, set_phase, world
from tests.unit.planning.world import World, hot, managers


def small() -> World:
    """Return a cluster with one manager, and one node that only votes."""
    return world(managers(1), tiebreaker(1), hot(2))


def test_the_vote_of_the_only_manager_does_not_move_to_a_node_that_is_never_elected() -> None:
    """The disaster this prevents: no node may be elected, and the exclusion stays, because no manager can end it."""
    made = set_phase(small(), "c-managers-0", o.Phase.SCHEDULE).run()
    assert made.did(a.StopProcess) == ["c-managers-0"]
    assert not made.did(a.ExcludeVoters)
    assert made.available


def test_a_change_restarts_the_only_manager_beside_a_node_that_is_never_elected() -> None:
    made = small().edit(pools=[managers(1, config=NEW), tiebreaker(1, config=NEW), hot(2, config=NEW)]).run()
    assert made.available
    assert not made.exclusions
    assert sorted(made.did(a.StopProcess)) == ["c-hot-0", "c-hot-1", "c-managers-0", "c-tiebreaker-0"]


def test_a_pod_with_the_only_state_of_the_cluster_stays_beside_a_node_that_is_never_elected() -> None:
    made = world(managers(1, ephemeral=True), tiebreaker(1), hot(2))
    facts = derive(made.observe(), made.now)
    assert "the only manager" in (voter_problem(facts, facts.members["c-managers-0"]) or "")
    assert voter_problem(facts, facts.members["c-tiebreaker-0"]) is None


def test_the_last_manager_does_not_leave_while_only_nodes_that_are_never_elected_are_left() -> None:
    made = world(managers(2), tiebreaker(1), hot(2))
    made.edit(pools=[managers(1), tiebreaker(1), hot(2)]).run()
    assert made.did(a.Release) == ["c-managers-1"]
    assert made.available
