"""Nodes that vote and are never elected take over no vote: without another manager the cluster would elect none."""

from msgspec.structs import replace

from stateward.planning.facts.change import written_target
from stateward.planning.facts.facts import derive
from stateward.planning.facts.upgrade_order import pool_order
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.safety.availability import quorum_without, voter_problem, votes_beside
from stateward.planning.steps.membership.earlier_cluster import is_never_elected
from stateward.planning.steps.membership.scale import replacements
from stateward.planning.steps.membership.voting_exclusions import VoteRemoval, remove_vote
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


def test_a_pod_with_state_stays_also_if_nodes_that_are_never_elected_are_a_majority() -> None:
    """The disaster this prevents: its next pod is empty, joins only an elected manager, and none can be elected."""
    made = world(managers(1, ephemeral=True), tiebreaker(2), hot(2))
    assert len(made.voters) == 3
    made.edit(pools=[managers(1, ephemeral=True, config={"template/a": "1"}), tiebreaker(2), hot(2)]).ticks(30)
    assert not made.did(a.DeletePod)
    (wait,) = [w for w in made.plan().waits if w.subject == "c-managers-0"]
    assert wait.message.endswith("c-managers-0 is the only manager, and its pod holds the cluster state")


def exchanged() -> World:
    """Return a cluster of whose two pools of managers each gets what the other one has: whether it can be elected."""
    made = world(managers(2), tiebreaker(1), hot(2))
    return made.edit(pools=[tiebreaker(2, "managers"), managers(1, "tiebreaker"), hot(2)])


def test_whether_it_can_be_elected_does_not_change_in_the_life_of_a_member() -> None:
    """The disaster this prevents: the last manager comes back from a crash as a node that only votes."""
    made = exchanged().run()
    assert made.available
    assert not made.did(a.DeletePod)
    assert sorted(made.did(a.Release)) == ["c-managers-0", "c-managers-1", "c-tiebreaker-0"]
    assert made.did(a.Release)[0] == "c-tiebreaker-0"
    assert {name for name in made.joined() if made.electable(name) and made.joined()[name].voting} == {"c-tiebreaker-1"}


def test_beside_a_manager_whose_successor_only_votes_one_is_replaced_whose_successor_can_be_elected() -> None:
    """The disaster this prevents: the last manager waits for another one, which is replaced after it."""
    made = exchanged()
    made.exclusions = frozenset({"c-managers-0"})
    assert list(replacements(derive(made.observe(), made.now), {})) == ["c-managers-0", "c-tiebreaker-0"]


def test_a_crashed_manager_is_repaired_as_what_it_is_although_its_pool_only_votes_now() -> None:
    """The disaster this prevents: no manager is elected, and the repair of the last one waits for another one."""
    made = world(managers(1), tiebreaker(2), hot(2))
    made.edit(crash={("config/a", "bad")}, pools=[managers(1, config={"config/a": "bad"}), tiebreaker(2), hot(2)])
    made.ticks(30)
    assert not made.available
    made.edit(pools=[tiebreaker(1, "managers", config={"config/a": "1"}), managers(2, "tiebreaker"), hot(2)]).run()
    assert made.available


def test_a_restart_of_all_members_together_waits_for_no_roles() -> None:
    made = exchanged()
    made.schedule = o.Schedule("schedule-coordinated")
    made.run()
    assert made.available
    assert made.did(a.StopProcess)


def test_managers_that_only_vote_change_after_those_that_can_be_elected() -> None:
    """The disaster this prevents: in an upgrade, each of two pools of managers waits for the roles of the other."""
    seen = world(managers(1, "masters"), tiebreaker(2), hot(2)).observe()
    assert [pool.name for pool in pool_order(seen)] == ["hot", "masters", "tiebreaker"]
    changes = {"masters": {"electable": False}, "tiebreaker": {"electable": True}}
    pools = tuple(replace(pool, **changes.get(pool.name, {})) for pool in seen.desired.pools)
    after = replace(seen, desired=replace(seen.desired, pools=pools))
    assert [pool.name for pool in pool_order(after)] == ["hot", "tiebreaker", "masters"]


def test_of_two_managers_that_stay_the_one_keeps_its_vote_that_can_be_elected() -> None:
    """The disaster this prevents: the vote of the elected manager moves to a node that only votes."""
    database = world(managers(2), tiebreaker(1), hot(2)).observe().database
    assert isinstance(database, o.Database)
    assert votes_beside(database, frozenset()) == frozenset()
    assert votes_beside(database, frozenset({"c-managers-1"})) == {"c-tiebreaker-0"}
    assert votes_beside(database, frozenset({"c-tiebreaker-0"})) == frozenset()
    database = world(managers(2), tiebreaker(2), hot(2)).observe().database
    assert isinstance(database, o.Database)
    assert votes_beside(database, frozenset({"c-managers-1"})) == frozenset()


def test_a_manager_leaves_when_one_has_a_vote_that_can_be_elected() -> None:
    made = world(managers(2), tiebreaker(1), hot(2))
    made.edit(pools=[managers(1), tiebreaker(1), hot(2)])
    plans = [made.tick() for _ in range(60)]
    excluded = [action.members for told in plans for action in told.actions if isinstance(action, a.ExcludeVoters)]
    assert excluded[0] == {"c-managers-1", "c-tiebreaker-0"}
    assert excluded[-1] == frozenset()
    assert made.available


def test_the_remaining_voters_are_no_quorum_if_none_of_them_can_be_elected() -> None:
    facts = derive(world(managers(2), tiebreaker(2), hot(2)).observe(), 1e6)
    database = facts.database
    assert database is not None
    voters = frozenset({"c-managers-0", "c-tiebreaker-0", "c-tiebreaker-1"})
    facts = replace(facts, database=replace(database, voters=voters))
    assert not quorum_without(facts, {"c-managers-0"})
    assert quorum_without(facts, {"c-tiebreaker-0"})


def test_a_manager_whose_vote_is_gone_stays_while_only_nodes_have_one_that_are_never_elected() -> None:
    facts = derive(world(managers(2), tiebreaker(1), hot(2)).observe(), 1e6)
    database = facts.database
    assert database is not None
    member = facts.members["c-managers-1"]

    def told(*voters: str) -> tuple[str, ...]:
        seen = replace(database, voters=frozenset(voters), voting_exclusions=frozenset({member.name}))
        part = remove_vote(replace(facts, database=seen), member, VoteRemoval(voter=member.name))
        return tuple(wait.message for wait in part.waits)

    assert told("c-managers-0") == ()
    assert told("c-tiebreaker-0") == ("c-managers-1 cannot leave yet: the vote of c-managers-1 is being moved",)


def test_an_existing_member_is_written_with_what_it_was_made_for() -> None:
    """The disaster this prevents: a restart makes the last manager a node that only votes."""
    made = exchanged()
    facts = derive(made.observe(), made.now)
    for name, only in (("c-managers-0", False), ("c-tiebreaker-0", True)):
        member = facts.members[name]
        assert ("votingOnly" in written_target(facts, member, facts.pools[member.pool])) is only
        assert is_never_elected(facts, member) is only
