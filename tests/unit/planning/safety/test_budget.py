"""Permitted evictions: one more loss only if it is harmless."""

from msgspec import structs

from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from stateward.planning.safety.disruption_budget import stops_serving
from tests.unit.planning.world import World, gateway, hot, managers, mixed, settled


def allowed(world: World) -> dict[str, int]:
    return {budget.name: budget.allowed for budget in world.plan().budgets}


def test_one_of_each_kind_may_go_from_a_healthy_cluster() -> None:
    assert allowed(settled(managers(), hot(), gateway(), indices=((2,),))) == {"data": 1, "managers": 1, "others": 1}


def test_none_may_go_while_a_member_is_down() -> None:
    world = settled(managers(), hot(), gateway(), indices=((2,),)).kill("c-hot-1")
    assert allowed(world) == {"data": 0, "managers": 0, "others": 1}


def test_no_data_member_may_go_where_one_holds_an_only_copy() -> None:
    assert allowed(settled(managers(), hot(), indices=((2,), (1,))))["data"] == 0


def test_none_may_go_while_stateward_itself_takes_a_member_down() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(pools=[managers(), hot(config={"config/a": "1"})])
    for _ in range(5):
        made = world.plan()
        if any(isinstance(action, a.DeletePod) for action in made.actions):
            assert {b.name: b.allowed for b in made.budgets} == {"data": 0, "managers": 0}
            return
        world.tick()
    raise AssertionError("no member was taken down")


def test_where_a_pool_votes_and_holds_data_all_share_one_budget() -> None:
    world = settled(mixed(), hot(2), indices=((2,),))
    (budget,) = world.plan().budgets
    assert set(budget.roles) == {"data", "data-voting", "voting"}


def test_the_only_one_of_a_kind_may_always_be_evicted() -> None:
    assert allowed(settled(managers(1), hot(1), gateway(1), indices=((1,),))) == {"data": 1, "managers": 1, "others": 1}


def test_nothing_is_known_to_be_harmless_while_the_database_does_not_answer() -> None:
    world = settled(managers(), hot()).edit(answers=False)
    assert allowed(world) == {"data": 0, "managers": 0}


def test_members_of_a_pool_that_leaves_are_counted_with_their_kind() -> None:
    world = settled(managers(), hot(), indices=((1,), (1,), (1,))).edit(pools=[managers()])
    assert allowed(world)["data"] == 0


def test_the_last_one_that_is_left_of_several_may_not_go() -> None:
    world = settled(managers(), hot(), indices=((2,),))
    for name in ("c-hot-1", "c-hot-2", "c-managers-1", "c-managers-2"):
        world.bodies[name].pod = None
    assert allowed(world) == {"data": 0, "managers": 0}


def test_a_pool_that_gets_other_roles_is_counted_by_the_labels_of_its_pods() -> None:
    world = settled(managers(), hot(), gateway(2), indices=((2,),))
    seen = world.observe()
    members = tuple(
        structs.replace(m, pod=structs.replace(m.pod, roles="data")) if m.pool == "gateway" and m.pod else m
        for m in seen.members
    )
    found = {b.name: b for b in plan(structs.replace(seen, members=members), world.now).budgets}
    assert (found["data"].members, found["others"].members) == (5, 0)


def test_a_cluster_that_is_being_created_allows_none() -> None:
    world = World(managers(), hot())
    assert allowed(world) == {"data": 0, "managers": 0}


def test_a_repair_waits_for_no_budget_and_a_restart_does() -> None:
    """A repair stops no member that serves: nothing that keeps a budget open may delay it."""
    change = {"pools": [managers(), hot(config={"config/a": "bad"})], "crash": {("config/a", "bad")}}
    world = settled(managers(), hot(), indices=((2,),)).edit(**change)
    world.until(lambda w: any(isinstance(action, a.DeletePod) for action in w.plan().actions))
    assert world.plan().disrupts
    world.ticks(30).edit(pools=[managers(), hot()])
    world.until(lambda w: any(isinstance(action, a.DeletePod) for action in w.plan().actions))
    assert not world.plan().disrupts


def test_a_member_that_the_database_lists_is_stopped_on_closed_budgets_though_its_pod_is_not_ready_yet() -> None:
    world = settled(managers(), hot(), indices=((2,),)).edit(pools=[managers(), hot(config={"config/a": "1"})])
    world.until(lambda w: any(isinstance(action, a.DeletePod) for action in w.plan().actions))
    deletion = next(action for action in world.plan().actions if isinstance(action, a.DeletePod))
    seen = world.observe()
    assert isinstance(seen.database, o.Database)
    members = tuple(
        structs.replace(m, pod=structs.replace(m.pod, ready=False)) if m.pod and m.name == deletion.member else m
        for m in seen.members
    )
    others = {name: node for name, node in seen.database.nodes.items() if name != deletion.member}
    for nodes, serves in ((seen.database.nodes, True), (others, False)):
        database = structs.replace(seen.database, nodes=nodes)
        facts = derive(structs.replace(seen, members=members, database=database), world.now)
        assert stops_serving(facts, [deletion]) is serves
