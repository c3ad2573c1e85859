"""Nodes that vote and are never elected take over no vote: without another manager the cluster would elect none."""

from msgspec.structs import replace

from stateward.planning.facts.facts import derive
from stateward.planning.facts.upgrade_order import pool_order
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import Plan, plan
from stateward.planning.safety.availability import quorum_without, voter_problem, votes_beside
from stateward.planning.steps.membership.voting_exclusions import VoteRemoval, remove_vote
from stateward.planning.steps.upkeep.repair import repair_change, unsafe
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


def edited(*, beside: bool) -> Plan:
    """Return the plan after the managers were changed to nodes that are never elected, perhaps with others beside."""
    pools = (managers(1), tiebreaker(2), *([managers(1, "masters")] if beside else []))
    seen = world(*pools, hot(2)).observe()
    changes = {"managers": {"electable": False, "inputs": {**managers(1).inputs("2.17.1"), "template/roles": "1"}}}
    desired = tuple(replace(pool, **changes.get(pool.name, {})) for pool in seen.desired.pools)
    return plan(replace(seen, desired=replace(seen.desired, pools=desired)), 1e6 + 10_000)


def test_the_last_manager_that_can_be_elected_stays_one_until_another_one_has_joined() -> None:
    """The disaster this prevents: managers become nodes that only vote, and new ones join only an elected one."""
    assert "c-managers-0" in {getattr(action, "member", "") for action in edited(beside=True).actions}
    made = edited(beside=False)
    assert not made.actions
    assert made.intents["c-managers-0"].sentence == (
        "c-managers-0 waits (template/roles): it is the only manager that can be elected, and with the change it cannot"
        " be: another one joins first"
    )


def restarted_together(**change: bool) -> Plan:
    """Return the plan of a restart of all members together after the pool of the managers was changed."""
    made = world(managers(), hot(2))
    made.schedule = o.Schedule("schedule-coordinated")
    seen = made.ticks(1).observe()
    desired = tuple(replace(pool, **(change if pool.name == "managers" else {})) for pool in seen.desired.pools)
    return plan(replace(seen, desired=replace(seen.desired, pools=desired)), made.now)


def test_managers_do_not_all_become_nodes_that_only_vote_in_one_restart() -> None:
    told = restarted_together(electable=False)
    assert not told.actions
    (wait,) = [w for w in told.waits if w.reason == "NotSafeYet"]
    assert wait.message == (
        "only c-managers-0, c-managers-1, c-managers-2 can be elected, and with the change no manager could be: another"
        " one joins first, or change these roles after the restart of all members together"
    )


def test_managers_whose_pool_loses_their_role_keep_it_and_restart_with_the_others() -> None:
    told = restarted_together(electable=False, voting=False)
    assert {x.phase for x in told.actions if isinstance(x, a.SetPhase)} == {o.Phase.STOP_COORDINATED}


def broken_manager(*, electing: bool, changed: bool = False) -> str | None:
    """Return why the only manager is not repaired that has crashed without a database, as its pool gets other roles.

    `electing` are the new roles of the tiebreakers: whether these can be elected. `changed` ones have them already.
    """
    seen = world(managers(1), tiebreaker(2), hot(2)).observe()
    roles = {"managers": {"electable": False}, "tiebreaker": {"electable": electing}}
    desired = tuple(
        replace(pool, **roles[pool.name], inputs={**pool.inputs, "roles": pool.name}) if pool.name in roles else pool
        for pool in seen.desired.pools
    )
    members = tuple(with_roles(m) if changed and m.pool == "tiebreaker" else m for m in seen.members)
    members = tuple(crashed(m) if m.pool == "managers" else m for m in members)
    unknown = o.Unknown("no manager is elected")
    facts = derive(
        replace(seen, members=members, database=unknown, desired=replace(seen.desired, pools=desired)), 1e6 + 10_000
    )
    member = facts.members["c-managers-0"]
    change = repair_change(facts, member)
    assert change is not None
    return unsafe(facts, member, change)


def crashed(member: o.Member) -> o.Member:
    assert member.pod is not None
    return replace(member, pod=replace(member.pod, ready=False, trouble="CrashLoopBackOff"))


def with_roles(member: o.Member) -> o.Member:
    assert member.pod is not None
    return replace(member, pod=replace(member.pod, inputs={**member.pod.inputs, "roles": member.pool}))


def test_a_crashed_manager_becomes_a_node_that_only_votes_only_beside_one_that_surely_can_be_elected() -> None:
    """The disaster this prevents: the last manager comes back as such a node, and none is ever elected."""
    reason = (
        "c-managers-0 may be the only manager that can be elected, and with its new roles it cannot be: take these"
        " back, and change them once another one is elected"
    )
    assert broken_manager(electing=False) == reason
    assert broken_manager(electing=True) == reason
    assert broken_manager(electing=True, changed=True) is None


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
