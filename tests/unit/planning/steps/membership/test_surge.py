"""A member leaves only when as many as the spec asks for have joined without it; making room is the user's choice."""

import pytest
from msgspec.structs import replace

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from stateward.planning.steps.membership.surge import frees_place
from tests.unit.planning.pools import PoolSpec
from tests.unit.planning.world import GIB, World, gateway, hot, managers, mixed, settled

FULL = "0/4 nodes are available: 4 Insufficient memory. preemption: 0/4 nodes are available: 4 No preemption victims."
MISSPELT = "fsat"


def stuck(world: World) -> list[str]:
    return [w.message for w in world.plan().waits if w.reason == "NewMemberStuck" and w.stalled]


def unprovided(world: World, *pools: PoolSpec) -> World:
    """Ask for a storage class that does not exist, and let an hour pass."""
    world.hooks.append(lambda _: serve_as_before(world, frozenset(up(world))))
    return world.edit(unprovided={MISSPELT}, pools=list(pools)).ticks(360)


def up(world: World) -> set[str]:
    return {name for name, body in world.bodies.items() if body.pod is not None and body.pod.ready}


def serve_as_before(world: World, before: frozenset[str]) -> None:
    assert before <= up(world), f"{sorted(before - up(world))} left"
    assert not world.draining
    assert world.available


def test_a_storage_class_that_does_not_exist_costs_no_member() -> None:
    world = settled(managers(), hot(4), indices=((2,), (2,), (2,)))
    unprovided(world, managers(), hot(4, storage_class=MISSPELT))
    assert not world.did(a.Release)
    assert f"storage class {MISSPELT} does not exist; Unschedulable: 0/4 nodes are available" in stuck(world)[0]
    world.hooks.clear()
    world.edit(pools=[managers(), hot(4)]).run()
    assert {n for n in world.pods() if "hot" in n} == {f"c-hot-{i}" for i in range(4)}


def test_the_stall_is_reported_within_a_minute() -> None:
    world = settled(managers(), hot(4), indices=((2,),))
    world.edit(unprovided={MISSPELT}, pools=[managers(), hot(4, storage_class=MISSPELT)]).ticks(6)
    assert stuck(world)


def test_managers_keep_their_votes_under_a_storage_class_that_does_not_exist() -> None:
    world = settled(managers(3), hot(2), indices=((2,),))
    unprovided(world, managers(3, storage_class=MISSPELT), hot(2))
    assert world.voters == {"c-managers-0", "c-managers-1", "c-managers-2"}
    assert not world.exclusions
    world.hooks.clear()
    world.edit(pools=[managers(3), hot(2)]).run()


def test_members_that_are_all_to_be_replaced_stay_where_no_new_one_finds_a_node() -> None:
    world = settled(managers(), hot(4), indices=((2,), (2,), (2,)))
    world.hooks.append(lambda _: serve_as_before(world, frozenset(f"c-hot-{i}" for i in range(4))))
    wish = o.Replacement(replace=frozenset(f"c-hot-{i}" for i in range(4)))
    new = {f"c-hot-{i}" for i in range(4, 12)}
    world.edit(unschedulable=new, scheduler_says=FULL, policy={"replacement": wish}).ticks(360)
    assert len(stuck(world)) == 4
    world.hooks.clear()
    world.edit(unschedulable=set()).run()
    assert len(world.did(a.Release)) == 4


def test_tainted_members_stay_where_no_new_one_finds_a_node() -> None:
    world = settled(managers(), hot(5), indices=((3,), (3,)))
    world.hooks.append(lambda _: serve_as_before(world, frozenset(f"c-hot-{i}" for i in range(5))))
    taints = {f"node-hot-{i}": ("maintenance",) for i in range(5)}
    policy = o.Replacement(enabled=True, max_concurrent=5, taints={"maintenance": 30.0}, max_tainted=5)
    new = {f"c-hot-{i}" for i in range(5, 12)}
    world.edit(unschedulable=new, scheduler_says=FULL, taints=taints, policy={"replacement": policy}).ticks(360)
    assert world.did(a.RecordRemoval)
    assert stuck(world)


def test_a_new_member_lets_one_leave_and_not_the_next() -> None:
    world = settled(managers(), hot(4), indices=((2,), (2,), (2,)))
    wish = o.Replacement(replace=frozenset({"c-hot-0", "c-hot-1", "c-hot-2"}))
    world.edit(unschedulable={"c-hot-5", "c-hot-6"}, policy={"replacement": wish}).ticks(200)
    assert len(world.did(a.Release)) == 1
    assert len(stuck(world)) == 2
    world.edit(unschedulable=set()).run()
    assert sorted(world.did(a.Release)) == ["c-hot-0", "c-hot-1", "c-hot-2"]


def test_a_renamed_pool_whose_new_members_find_no_node_keeps_the_old_ones() -> None:
    world = settled(managers(), hot(3), gateway(2), indices=((2,),))
    new = {"c-data-0", "c-data-1", "c-data-2"}
    world.edit(unschedulable=new, pools=[managers(), hot(3, "data"), gateway(2)]).ticks(200)
    assert not world.did(a.Release)
    world.edit(unschedulable={"c-data-2"}).ticks(200)
    assert len(world.did(a.Release)) == 2
    world.edit(unschedulable=set()).run()


def test_members_that_are_about_to_lose_a_role_stand_in_for_none_that_has_it() -> None:
    world = settled(managers(), hot(3), hot(3, "extra"), indices=((2,), (2,)))
    changed = PoolSpec("extra", 3, config={"storage/roles": "none"})
    new = {"c-data-0", "c-data-1", "c-data-2"}
    world.edit(unschedulable=new, pools=[managers(), hot(3, "data"), changed]).ticks(100)
    assert not {"c-hot-0", "c-hot-1", "c-hot-2"} & set(world.did(a.Release))
    world.edit(unschedulable=set()).run(900)


def test_a_pool_that_shrinks_to_make_room_for_another_one_is_not_held_by_it() -> None:
    world = settled(managers(), hot(4), hot(1, "warm"), indices=((2,),))
    world.edit(unschedulable={"c-warm-1"}, pools=[managers(), hot(3), hot(2, "warm")])
    world.until(lambda w: w.did(a.Release) == ["c-hot-3"])
    world.edit(unschedulable=set()).run()


def test_a_pod_that_is_not_even_created_is_a_stall() -> None:
    world = settled(managers(), hot(3), indices=((2,),))
    world.refused_inputs.add(("config/a", "1"))
    wish = o.Replacement(replace=frozenset({"c-hot-0"}))
    world.edit(pools=[managers(), hot(3, config={"config/a": "1"})], policy={"replacement": wish, "paused": False})
    world.until(lambda w: bool(stuck(w)), limit=10)
    assert "has created no pod" in stuck(world)[0]


def test_a_member_is_not_released_while_its_successor_does_not_serve() -> None:
    world = settled(managers(), hot(3), indices=((2,), (2,)))
    world.edit(policy={"replacement": o.Replacement(replace=frozenset({"c-hot-0"}))})
    world.until(lambda w: "c-hot-0" in w.draining)
    world.kill("c-hot-3").edit(unschedulable={"c-hot-3"}).ticks(60)
    assert not world.did(a.Release)
    assert "TooFewServing" in {w.reason for w in world.plan().waits}
    world.edit(unschedulable=set()).run()
    assert world.did(a.Release) == ["c-hot-0"]


def test_a_member_that_is_about_to_be_ready_again_is_not_released_while_its_successor_does_not_serve() -> None:
    world = settled(managers(), hot(3), indices=((2,), (2,)))
    world.edit(policy={"replacement": o.Replacement(replace=frozenset({"c-hot-0"}))})
    world.until(lambda w: "c-hot-0" in w.draining and not w.load("c-hot-0"))
    for name, goes in (("c-hot-3", False), ("c-managers-0", True)):
        pods = {"c-hot-0", name}
        seen = world.observe()
        members = tuple(
            replace(m, pod=replace(m.pod, ready=False)) if m.pod and m.name in pods else m for m in seen.members
        )
        actions = plan(replace(seen, members=members), world.now).actions
        assert any(isinstance(action, a.Release) for action in actions) is goes, name


def test_members_of_which_the_status_has_lost_its_records_do_not_count_as_new() -> None:
    world = settled(managers(), hot(3), indices=((2,),))
    seen = world.observe()
    obs = o.Observation(
        **{f: getattr(seen, f) for f in seen.__struct_fields__ if f not in {"records", "desired"}},
        records={},
        desired=type(seen.desired)(
            version=world.version, pools=tuple(p.desired(world.version, "") for p in (managers(), hot(3, "data")))
        ),
    )
    assert not any(
        isinstance(x, a.Release | a.Drain) and getattr(x, "members", {1}) for x in plan(obs, world.now).actions
    )


# Preferred.


def preferred(world: World, says: str = FULL) -> World:
    """Rename the data pool where no new member finds a node, with `surge: Preferred`."""
    new = {"c-data-0", "c-data-1", "c-data-2"}
    world.edit(policy={"surge": o.Surge.PREFERRED}, unschedulable=new, scheduler_says=says)
    return world.edit(pools=[managers(), hot(3, "data")])


def test_where_the_user_prefers_it_one_member_at_a_time_makes_room() -> None:
    world = preferred(settled(managers(), hot(3), indices=((2,),)))
    world.until(lambda w: bool(w.draining))
    assert len(world.draining) == 1
    world.ticks(200)
    assert len(world.did(a.Release)) == 1, "the next one waits until the first new member has joined"
    world.edit(unschedulable={"c-data-1", "c-data-2"}).until(lambda w: len(w.did(a.Release)) == 2)
    world.edit(unschedulable={"c-data-2"}).until(lambda w: len(w.did(a.Release)) == 3)
    world.edit(unschedulable=set()).run()


def test_no_room_is_made_for_a_reason_that_a_departure_does_not_cure() -> None:
    world = preferred(settled(managers(), hot(3), indices=((2,),)), "0/4 nodes are available: 4 node(s) didn't match")
    world.ticks(100)
    assert not world.did(a.Release)
    assert stuck(world)


def test_no_room_is_made_while_another_member_is_down() -> None:
    world = settled(managers(), hot(3), indices=((2,),))
    world.kill("c-managers-0").edit(dead_nodes={"node-managers-0"}).ticks(3)
    preferred(world).ticks(100)
    assert not world.did(a.Release)
    assert not world.draining


def test_no_room_is_made_at_the_price_of_a_copy() -> None:
    world = preferred(settled(managers(), hot(3), indices=((3,),)))
    world.ticks(60)
    assert not world.draining
    assert "ShrinkRefused" in {w.reason for w in world.plan().waits}


def test_managers_make_room_one_at_a_time_and_keep_their_quorum() -> None:
    world = settled(mixed(3), indices=((1,), (2,)))
    world.hooks.append(lambda _: available(world))
    new = {"c-all-3", "c-all-4", "c-all-5"}
    wish = o.Replacement(replace=frozenset({"c-all-0", "c-all-1", "c-all-2"}))
    world.edit(policy={"surge": o.Surge.PREFERRED, "replacement": wish}, unschedulable=new, scheduler_says=FULL)
    world.until(lambda w: len(w.did(a.Release)) == 1).ticks(60)
    assert len(world.did(a.Release)) == 1
    world.edit(unschedulable=set()).run(900)
    assert world.voters == new


def available(world: World) -> None:
    assert world.available


def member(*, taints: tuple[str, ...] = (), node: str = "n1", node_ready: bool = True) -> o.Member:
    pod = o.Pod(
        ref=o.Ref("p", "u", "1"),
        inputs={},
        version="1",
        created=0.0,
        ready=True,
        running=True,
        node=node,
        node_ready=node_ready,
        taints=taints,
    )
    return o.Member(name="c-hot-0", pool="hot", ordinal=0, pod=pod)


@pytest.mark.parametrize(
    ("says", "cured"),
    [
        ("Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.", True),
        ("Unschedulable: 0/3 nodes are available: 1 Insufficient memory, 2 node(s) were unschedulable.", True),
        ("Unschedulable: 0/3 nodes are available: 3 Too many pods.", True),
        ("Unschedulable: 0/3 nodes are available: 3 node(s) didn't match pod anti-affinity rules.", True),
        ("Unschedulable: 0/3 nodes are available: 3 node(s) exceed max volume count.", True),
        ("Unschedulable: 0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector.", False),
        ("Unschedulable: 0/3 nodes are available: 3 node(s) had untolerated taint {a: b}.", False),
        ("Unschedulable: 0/3 nodes are available: 3 node(s) were unschedulable.", False),
        ('Unschedulable: persistentvolumeclaim "data-c-hot-4" not found', False),
        ("Unschedulable: 0/3 nodes are available: pod has unbound immediate PersistentVolumeClaims.", False),
        ("Unschedulable: 0/3 nodes are available: 3 node(s) had volume node affinity conflict.", False),
        ("Unschedulable: 0/1 nodes are available. preemption: 0/1 nodes: 1 Insufficient memory.", False),
    ],
)
def test_what_a_departure_cures(says: str, cured: bool) -> None:
    assert frees_place(member(), says) is cured


def test_a_node_that_takes_no_pods_is_no_room() -> None:
    says = "Unschedulable: 0/3 nodes are available: 1 node(s) had untolerated taint {a: b}, 2 Insufficient memory."
    assert not frees_place(member(taints=("a",)), says)
    assert frees_place(member(), says)
    assert frees_place(member(taints=("a",)), "Unschedulable: 0/3 nodes are available: 3 Insufficient memory.")
    assert not frees_place(member(node_ready=False), "Unschedulable: 0/3 nodes are available: 3 Insufficient memory.")
    assert not frees_place(member(node=""), "Unschedulable: 0/3 nodes are available: 3 Insufficient memory.")


@pytest.mark.parametrize("copies", [1, 2])
def test_the_role_data_moves_from_one_pool_to_another_one(copies: int) -> None:
    """The disaster this prevents: each pool waits for the replacement of a member of the other one."""
    world = settled(managers(), hot(2, "a"), gateway(2, "b"), indices=((copies,), (copies,)))
    world.edit(pools=[managers(), gateway(2, "a"), hot(2, "b")]).run()
    assert {c.member.rpartition("-")[0] for index in world.indices for c in index.copies} == {"c-b"}


@pytest.mark.parametrize("slow", ["", "a", "b"])
@pytest.mark.parametrize(("votes", "voted"), [((False, False), (False, False)), ((True, True), (False, True))])
def test_no_new_member_leaves_again_while_the_role_data_moves(
    slow: str, votes: tuple[bool, bool], voted: tuple[bool, bool]
) -> None:
    """The disaster this prevents: of two members that are replaced at once, one forgets its new member in between."""

    def pools(voting: tuple[bool, bool], *, moved: bool) -> list[PoolSpec]:
        one = PoolSpec("a", 2, voting=voting[0], data=not moved)
        return [managers(), one, PoolSpec("b", 2, voting=voting[1], data=moved)]

    world = settled(*pools(votes, moved=False), indices=((1,), (2,)))
    before = frozenset(world.bodies)
    world.edit(pools=pools(voted, moved=True))
    made = world.tick()
    for _ in range(300):
        made = world.tick()
        new = {name for name in world.bodies if name.startswith(f"c-{slow}-")} - before if slow else set[str]()
        world.unschedulable = {n for n in new if (pod := world.bodies[n].pod) and world.now < pod.created + 100}
        if made.settled:
            break
    assert made.settled
    assert not set(world.did(a.Release)) - before


def test_managers_of_a_pool_that_shrinks_to_none_wait_for_others_and_do_not_count_as_their_replacement() -> None:
    """The disaster this prevents: another pool gets their roles, and its members wait for the last one to leave."""
    world = settled(mixed(3), hot(2), indices=((2,),)).edit(pools=[hot(0, "all"), mixed(2, "hot")]).run()
    assert {name.rpartition("-")[0] for name in world.pods()} == {"c-hot"}
    assert world.voters <= world.pods().keys()


def test_members_that_get_the_role_data_are_replaced_before_the_only_one_that_has_it() -> None:
    """The disaster this prevents: their pool shrinks, so the only one gets no successor, and they wait for its end."""
    world = settled(managers(3, "a"), hot(1, "b"), indices=((1,), (1,)))
    world.edit(pools=[hot(3, "a"), managers(3, "b")])
    world.until(lambda w: [n for n, pod in w.joined().items() if pod.data] == ["c-a-3"])
    world.edit(pools=[hot(2, "a", size=5 * GIB), managers(3, "b")]).run()
    assert sum(name.startswith("c-a-") for name in world.pods()) == 2
