"""Settings in the database are always reverted, even after a crash at the worst moment."""

import pytest
from msgspec.structs import replace

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from tests.unit.planning.world import World, gateway, hot, managers, settled

A = {"config/a": "1"}


def small() -> World:
    return settled(managers(), hot(), indices=((2,),))


def test_an_allocation_that_was_limited_for_no_work_is_restored() -> None:
    world = small().edit(allocation=o.Allocation.PRIMARIES, limited=True).run()
    assert len(world.did(a.RestoreAllocation)) == 1
    assert not world.limited


def test_balancing_that_was_paused_for_no_work_is_resumed() -> None:
    world = small().edit(balance_paused=True).run()
    assert len(world.did(a.ResumeBalancing)) == 1
    assert not world.balance_paused


def test_a_drain_that_was_left_behind_is_lifted() -> None:
    world = small().edit(draining=frozenset({"c-hot-1", "c-gone-0"})).run()
    assert not world.draining


def test_votes_that_were_taken_and_left_so_are_given_back() -> None:
    world = small().edit(exclusions=frozenset({"c-managers-1", "c-gone-0"})).run()
    assert not world.exclusions


def test_undoing_continues_while_paused_and_nothing_else() -> None:
    world = small().edit(policy={"paused": True}, allocation=o.Allocation.PRIMARIES, limited=True, version="2.19.5")
    world.edit(pools=[managers(), hot(2), gateway()]).ticks(5)
    assert [type(x) for _, x in world.log] == [a.RestoreAllocation]
    assert any(w.reason == "Paused" for w in world.plan().waits)
    world.edit(policy={}).run()


def test_undoing_continues_while_an_edit_is_refused_and_nothing_else() -> None:
    refusal = o.Refusal("spec.pools[0]", "InvalidSpec", "no")
    world = (
        small().edit(refusals=(refusal,), allocation=o.Allocation.PRIMARIES, limited=True, version="2.19.5").ticks(5)
    )
    assert [type(x) for _, x in world.log] == [a.RestoreAllocation]


def test_the_allocation_stays_limited_while_the_member_comes_back_and_is_restored_when_it_does_not() -> None:
    world = (
        settled(managers(), hot(), indices=((3,),))
        .edit(pools=[managers(), hot(config=A)])
        .until(lambda w: bool(w.did(a.DeletePod)))
    )
    world.ticks(1)
    assert world.limited
    world.edit(hang={("config/a", "1")}).ticks(60)
    assert not world.limited


def test_a_drained_member_with_its_data_in_its_pod_stays_drained_until_the_pod_is_gone() -> None:
    world = settled(managers(), hot(3, ephemeral=True), indices=((2,), (2,)))
    world.edit(pools=[managers(), hot(3, ephemeral=True, config=A)], stuck={"c-hot-0", "c-hot-1", "c-hot-2"})
    name = world.until(lambda w: bool(w.did(a.DeletePod))).ticks(3).did(a.DeletePod)[0]
    assert name in world.draining
    world.edit(stuck=set()).run()
    assert not world.draining


def test_a_member_that_leaves_stays_drained_until_nothing_of_it_is_left_that_goes() -> None:
    world = small().edit(pools=[managers(), hot(2)]).until(lambda w: bool(w.did(a.DeleteMember)))
    name = world.did(a.DeleteMember)[0]
    assert name in world.draining
    world.run()
    assert not world.draining


def test_half_of_a_drain_or_of_a_limit_is_reverted_and_counts_for_nothing() -> None:
    """The disaster this prevents: a plan that waits forever for data that nothing moves away from the member."""
    seen = small().observe()
    assert isinstance(seen.database, o.Database)
    half = replace(seen.database, half_draining=frozenset({"c-hot-1"}), half_limited=True)
    made = plan(replace(seen, database=half), 0.0).actions
    assert [x.members for x in made if isinstance(x, a.Drain)] == [frozenset()]
    assert any(isinstance(x, a.RestoreAllocation) for x in made)
    world = settled(managers(), hot(3)).edit(pools=[managers(), hot(2)]).until(lambda w: bool(w.draining))
    seen = world.observe()
    assert isinstance(seen.database, o.Database)
    begun = replace(seen.database, draining=frozenset(), half_draining=seen.database.draining)
    again = [x for x in plan(replace(seen, database=begun), world.now).actions if isinstance(x, a.Drain)]
    assert [(x.members, x.lifts) for x in again] == [(seen.database.draining, False)]


@pytest.mark.parametrize("terminating", [True, False])
def test_a_member_that_left_stays_drained_while_its_volume_goes_and_not_where_it_is_kept(*, terminating: bool) -> None:
    world = small().edit(pools=[managers(), hot(2)]).run()
    seen = world.observe()
    left = next(m for m in seen.members if m.pod is None and m.claim is not None)
    assert left.claim is not None
    members = tuple(
        replace(m, claim=replace(left.claim, terminating=terminating)) if m is left else m for m in seen.members
    )
    assert isinstance(seen.database, o.Database)
    database = replace(seen.database, draining=frozenset({left.name}))
    made = plan(replace(seen, members=members, database=database), world.now)
    assert any(isinstance(action, a.Drain) for action in made.actions) is not terminating


def test_a_member_whose_pod_is_gone_stays_drained_until_the_database_no_longer_lists_it() -> None:
    """The disaster this prevents: a process outlives its pod on an unreachable node, and receives data again."""
    seen = small().observe()
    assert isinstance(seen.database, o.Database)
    nodes = {**seen.database.nodes, "c-hot-9": replace(seen.database.nodes["c-hot-1"], name="c-hot-9")}
    drained = frozenset({"c-hot-1", "c-hot-9"})
    made = plan(replace(seen, database=replace(seen.database, nodes=nodes, draining=drained)), 0.0)
    assert [x.members for x in made.actions if isinstance(x, a.Drain)] == [{"c-hot-9"}]
    assert [(w.subject, w.reason, w.stalled) for w in made.waits] == [("c-hot-9", "StillListed", False)]
    assert not made.settled
    made = plan(replace(seen, database=replace(seen.database, draining=frozenset({"c-hot-9"}))), 0.0)
    assert [x.members for x in made.actions if isinstance(x, a.Drain)] == [frozenset()]
    assert made.waits == ()


def test_a_manager_that_restarts_without_its_vote_gets_it_back_when_it_is_back() -> None:
    world = settled(managers(2), hot(2))
    world.edit(pools=[managers(2, config=A), hot(2)]).until(lambda w: bool(w.exclusions))
    name = next(iter(world.exclusions))
    world.until(lambda w: name in w.did(a.DeletePod))
    world.ticks(1)
    assert name in world.exclusions
    world.run()
    assert not world.exclusions


def test_a_vote_that_was_taken_from_the_only_manager_is_given_back_before_it_restarts() -> None:
    world = settled(managers(1), hot(2)).edit(exclusions=frozenset({"c-managers-0"}))
    world.edit(pools=[managers(1, config=A), hot(2)])
    assert [x.members for x in world.plan().actions if isinstance(x, a.ExcludeVoters)] == [frozenset()]
    world.run()


def test_a_voter_that_is_nobodys_any_more_loses_its_vote_and_managers_change_again() -> None:
    world = settled(managers(2), hot(2))
    world.edit(voters=world.voters | {"Zzb0vM5eQkWJ2Fw1Ut7RrA"} | {"c-managers-0", "c-managers-1"})
    world.edit(pools=[managers(2, config=A), hot(2)])
    assert [x.members for x in world.plan().actions if isinstance(x, a.ExcludeVoters)] == [{"Zzb0vM5eQkWJ2Fw1Ut7RrA"}]
    world.run()
    assert not world.exclusions
    assert world.voters < {"c-managers-0", "c-managers-1"}


def test_a_vote_is_not_taken_by_id_while_a_manager_is_away_whose_it_may_be() -> None:
    world = settled(managers(3), hot(2))
    observed = world.observe()
    assert isinstance(observed.database, o.Database)
    nodes = {name: node for name, node in observed.database.nodes.items() if name != "c-managers-2"}
    voters = frozenset({"c-managers-0", "c-managers-1", "Zzb0vM5eQkWJ2Fw1Ut7RrA"})
    nameless = frozenset({"Zzb0vM5eQkWJ2Fw1Ut7RrA"})
    database = replace(observed.database, nodes=nodes, voters=voters, nameless=nameless)
    for unseen in (False, True):
        members = tuple(m for m in observed.members if not (unseen and m.name == "c-managers-2"))
        made = plan(replace(observed, database=database, members=members), world.now)
        assert not [x for x in made.actions if isinstance(x, a.ExcludeVoters)]


SCENARIOS = {
    "upgrade": {"version": "2.19.5"},
    "shrink": {"pools": [managers(), hot(2), gateway()]},
    "managers": {"pools": [managers(1), hot(), gateway()]},
    "rename": {"pools": [managers(), hot(3, "data"), gateway()]},
    "all": {"version": "2.19.5", "pools": [managers(1, config=A), hot(2, config=A), gateway(2)]},
    "volumes": {"pools": [managers(), hot(size=5 << 30), gateway()]},
    "ephemeral": {"pools": [managers(), hot(ephemeral=True), gateway()]},
}


@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("every", [2, 3])
def test_an_operator_that_dies_after_any_action_comes_to_the_same_end(name: str, every: int) -> None:
    """Every second (or third) round is cut after its first action, and its status is never written."""
    world = settled(managers(), hot(), gateway(), indices=((2,), (1,), (2,))).edit(**SCENARIOS[name])
    calm = world.copy().run(900)
    for step in range(900):
        if step % every:
            world.tick()
        else:
            observed = world.observe()
            made = plan(observed, world.now)
            world.check(observed, made)
            for action in made.actions[: 1 + step % 2]:
                world.carry_out(action)
            world.pass_time()
        if world.plan().settled and step % every:
            break
    world.run()
    assert world.pods().values().__len__() == calm.pods().values().__len__()
    assert set(world.pods()) == set(calm.pods())
    assert (world.voters and len(world.voters)) == len(calm.voters)
    assert not world.draining | world.exclusions
    assert not world.limited
