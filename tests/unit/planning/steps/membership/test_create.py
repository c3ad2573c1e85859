"""Creating and growing: everything at once where there is nothing at stake, managers one by one where there is."""

import pytest
from msgspec.structs import replace

from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from stateward.planning.steps.membership.create_members import create
from stateward.planning.steps.membership.scale import scale
from tests.unit.planning.chaos import NOW
from tests.unit.planning.safety.test_choice import facts_of
from tests.unit.planning.world import World, gateway, hot, managers, mixed, settled


def test_a_new_cluster_is_made_at_once_and_forms_once() -> None:
    world = World(managers(), hot(), gateway()).run()
    assert len(world.pods()) == 7
    assert world.did(a.GrantBootstrap) == ["c-managers-0"]
    assert not world.did(a.DeletePod)
    assert world.status.version == "2.17.1"


def test_a_cluster_of_one_node_forms() -> None:
    assert World(mixed(1)).run().status.ready == "1/1"


def test_managers_are_added_one_at_a_time_each_joined_before_the_next() -> None:
    world = settled(managers(), hot())
    world.pools[0] = managers(5)
    world.tick()
    assert world.did(a.Create) == ["c-managers-3"]
    assert any(w.reason == "OneManagerAtATime" and "managers-3 joins first" in w.message for w in world.plan().waits)
    world.until(lambda w: "c-managers-4" in w.bodies)
    assert world.status.member_states[-2].name or "c-managers-3" in world.pods()
    assert "c-managers-3" in world.pods()
    world.run()
    assert len(world.voters) == 5


def test_a_manager_that_begins_again_joins_before_the_next_one_is_created() -> None:
    world = settled(managers(4), hot())
    world.pools[0] = managers(5)
    seen, name = world.observe(), "c-managers-3"
    assert isinstance(seen.database, o.Database)
    database = replace(
        seen.database,
        nodes={n: node for n, node in seen.database.nodes.items() if n != name},
        voters=seen.database.voters - {name},
    )
    for unmade, created in ((True, []), (False, ["c-managers-4"])):
        claim = o.Claim(o.Ref(f"data-{name}", "other", "1"), 1, 0 if unmade else 1, "standard")
        members = tuple(replace(m, pod=None, claim=claim) if m.name == name else m for m in seen.members)
        # Nobody counts as down here: another rule would keep the next manager from being created.
        facts = replace(derive(replace(seen, members=members, database=database), world.now), down=frozenset())
        found = create(facts, scale(facts, {}))
        assert [action.member for action in found.actions if isinstance(action, a.Create)] == created


def test_one_manager_grows_to_three() -> None:
    world = settled(managers(1), hot(2))
    world.edit(pools=[managers(3), hot(2)]).run()
    assert len(world.voters) == 3
    assert not world.did(a.DeletePod)


def test_no_manager_is_added_while_another_one_is_down() -> None:
    world = settled(managers(), hot())
    world.kill("c-managers-2").edit(unschedulable={"c-managers-2"}).ticks(3)
    world.edit(pools=[managers(4), hot()]).tick()
    assert not world.did(a.Create)
    assert any("managers-2 is down" in w.message for w in world.plan().waits)


def test_data_members_are_added_together_and_no_other_member_restarts() -> None:
    world = settled(managers(), hot(), indices=((2,),))
    world.edit(pools=[managers(), hot(6)]).tick()
    assert world.did(a.Create) == ["c-hot-3", "c-hot-4", "c-hot-5"]
    world.run()
    assert not world.did(a.DeletePod)


def test_a_pool_is_added_beside_the_others() -> None:
    world = settled(managers(), hot())
    world.edit(pools=[managers(), hot(), hot(2, "warm"), gateway(2)]).run()
    assert len(world.pods()) == 10
    assert not world.did(a.DeletePod)


def test_a_removed_statefulset_is_recreated_and_counts_as_down_until_then() -> None:
    world = settled(managers(), hot(), indices=((2,),))
    world.bodies["c-hot-1"].workload = None
    world.pass_time()
    world.pass_time()
    assert world.bodies["c-hot-1"].pod is None
    world.edit(pools=[managers(), hot(config={"config/a": "1"})]).tick()
    assert world.did(a.Create) == ["c-hot-1"]
    assert not world.did(a.DeletePod)
    world.run()


def test_a_member_scaled_to_zero_manually_is_scaled_up_again() -> None:
    world = settled(managers(), hot(), indices=((2,),))
    workload = world.bodies["c-hot-1"].workload
    assert workload is not None
    workload.replicas = 0
    world.run()
    assert world.did(a.Create) == ["c-hot-1"]
    assert not world.did(a.DeleteMember)


def test_a_new_member_of_a_pool_that_is_not_next_in_the_order_is_made_with_the_old_version() -> None:
    world = settled(managers(), hot(), gateway(), indices=((2,),))
    world.edit(version="2.19.5", pools=[managers(), hot(), gateway(2)]).tick()
    created = next(x for _, x in world.log if isinstance(x, a.Create))
    assert (created.member, created.version) == ("c-gateway-1", "2.17.1")
    world.run()
    assert set(world.pods().values()) == {"2.19.5"}


def test_growing_the_pool_in_turn_makes_members_of_the_new_version() -> None:
    world = settled(managers(), hot(), indices=((2,),))
    world.edit(version="2.19.5", pools=[managers(), hot(4)]).run()
    assert world.restarts["c-hot-3"] == 1
    assert set(world.pods().values()) == {"2.19.5"}


def test_a_pool_that_was_down_when_all_others_became_new_follows_them() -> None:
    world = settled(managers(), hot(), gateway(1))
    world.kill("c-gateway-0").edit(unschedulable={"c-gateway-0"}).ticks(3)
    world.edit(version="2.19.5").ticks(40)
    world.edit(unschedulable=set()).run()
    assert set(world.pods().values()) == {"2.19.5"}


def test_after_a_full_outage_nothing_is_done_but_waiting() -> None:
    world = settled(managers(), hot(), gateway(), indices=((2,), (1,)))
    for name in world.bodies:
        world.kill(name)
    world.run()
    assert not world.log
    assert len(world.pods()) == 7


def test_a_wrong_storage_class_can_be_corrected_before_the_cluster_is_formed() -> None:
    world = World(managers(storage_class="typo"), hot()).edit(unprovided={"typo"}).ticks(5)
    world.edit(pools=[managers(storage_class="fast"), hot()]).run()
    assert len(world.pods()) == 6
    assert {b.claim.storage_class for b in world.bodies.values() if b.claim and b.pool == "managers"} == {"fast"}


def test_before_the_cluster_is_formed_new_members_get_the_names_of_those_that_never_had_data() -> None:
    """The disaster this prevents: a cluster file that names coordinators which will never exist."""
    facts = facts_of([hot(2, storage_class="fast")], [], down="hot-0 hot-1")

    def unbound(member: o.Member) -> o.Member:
        assert member.claim is not None
        return replace(member, claim=replace(member.claim, capacity=0, storage_class="misspelt"))

    members = tuple(map(unbound, facts.obs.members))
    new = replace(facts.obs, members=members, database=o.Unknown("no pod runs"), records={})
    unformed = derive(new, NOW)
    assert set(scale(unformed, {}).leaving) == {"hot-0", "hot-1"}
    assert scale(unformed, {}).missing == ()
    gone = derive(replace(new, members=()), NOW)
    assert [ordinal for _, ordinal in scale(gone, {}).missing] == [0, 1]
    formed = derive(replace(new, database=facts.obs.database), NOW)
    assert [ordinal for _, ordinal in scale(formed, {}).missing] == [2, 3]


def unseen(world: World) -> o.Observation:
    """Return the observation of a cache that has the pods and not yet their claims: unknown is not ephemeral."""
    observed = world.observe()
    members = tuple(
        replace(m, claim=None, pod=replace(m.pod, claims=True) if m.pod else None) for m in observed.members
    )
    return replace(observed, members=members)


def test_a_member_whose_claim_is_not_seen_is_not_replaced() -> None:
    world = settled(managers(), hot(), indices=((2,),))
    made = plan(unseen(world), world.now)
    assert not [action for action in made.actions if isinstance(action, a.Create | a.Drain | a.Release)]


def test_the_grant_is_not_tied_to_the_pod_while_its_claim_is_not_seen() -> None:
    world = World(managers(), hot())
    world.until(lambda w: any(isinstance(action, a.RecordBootstrap) for action in w.plan().actions))
    assert not [x for x in plan(unseen(world), world.now).actions if isinstance(x, a.RecordBootstrap)]


@pytest.mark.parametrize("name", ["c-hot-0", "c-managers-0"])
def test_a_member_is_never_created_again_with_an_older_version_than_its_data(name: str) -> None:
    """The disaster this prevents: a downgrade is refused, a StatefulSet is deleted, and its member never comes back."""
    world = settled(managers(), hot(2), indices=((2,),), version="2.18.0").edit(version="2.17.1").ticks(2)
    assert {w.reason for w in world.plan().waits} == {"CannotGoBack"}
    body = world.bodies[name]
    body.workload = body.pod = body.config = None
    world.ticks(30)
    assert world.pods()[name] == "2.18.0"
    world.edit(version="2.18.0").run()
    assert not world.did(a.DeletePod)


@pytest.mark.parametrize("left", ["StatefulSet", "Secret"])
def test_a_member_that_comes_back_keeps_the_processes_whose_data_is_on_its_volume(left: str) -> None:
    """All StatefulSets are scaled to zero or deleted while the spec asks for members with fewer processes."""
    seen = facts_of([hot(3, config={"storage/processes": "two"})], []).obs
    (pool,) = seen.desired.pools
    inputs = {name: digest for name, digest in pool.inputs.items() if name != "storage/processes"}
    pool = replace(pool, inputs=inputs, held_inputs=inputs, retained=frozenset({"storage/processes"}))
    desired = replace(seen.desired, pools=(pool,), formed_by_word=True)
    off = [replace(m, name=f"c-{m.name}", pod=None) for m in seen.members]
    off = [
        replace(m, workload=replace(m.workload, replicas=0) if m.workload and left == "StatefulSet" else None)
        for m in off
    ]
    records = {m.name: o.Record("1.0.0", "hot-0") for m in off}
    made = plan(
        replace(seen, desired=desired, members=tuple(off), database=o.Unknown("no answer"), records=records), NOW
    )
    keeps = [action.keeps for action in made.actions if isinstance(action, a.Create)]
    assert keeps == [{"storage/processes": "two"}] * 3
