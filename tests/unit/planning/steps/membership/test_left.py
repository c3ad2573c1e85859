"""The volume of a replaced member is marked, and no new member uses it, even if the list in the status is lost."""

from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from stateward.api.kinds.status import ClusterStatus
from stateward.planning.facts.facts import derive
from stateward.planning.facts.volume_fit import lacks_roles
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from stateward.planning.steps.membership.kept_volumes import marks
from stateward.planning.steps.membership.scale import free_before, free_ordinals
from tests.unit.planning.chaos import NOW
from tests.unit.planning.pools import GIB, PoolSpec
from tests.unit.planning.safety.test_choice import facts_of
from tests.unit.planning.steps.membership.test_replacement import cluster, wishes
from tests.unit.planning.world import World, gateway, hot, managers, mixed, settled


def replaced() -> World:
    """Return a cluster in whose members' place others have come: hot-0 and hot-1 were left."""
    world = cluster(2).edit(policy=wishes(replace=frozenset({"c-hot-0", "c-hot-1"})))
    return world.run()


def marked(world: World) -> set[str]:
    return {b.name for b in world.bodies.values() if b.claim is not None and b.claim.left}


def made_again(world: World) -> World:
    """Delete the cluster resource, with all that goes with it, and make it again on the kept volumes."""
    for body in world.bodies.values():
        body.workload = body.pod = body.config = None
        if body.claim is not None:
            body.claim.earlier = True
    world.status = ClusterStatus()
    world.draining = frozenset()
    return world.edit(policy=wishes())


def created(world: World) -> set[str]:
    return {x.member for x in world.plan().actions if isinstance(x, a.Create)}


def test_what_replaced_members_left_reports_it_and_nothing_else_does() -> None:
    world = replaced()
    assert marked(world) == {"c-hot-0", "c-hot-1"}
    assert {name for name in world.pods() if "hot" in name} == {"c-hot-2", "c-hot-3"}


def test_a_cluster_that_is_recreated_takes_the_volumes_that_were_in_use() -> None:
    assert created(made_again(replaced())) >= {"c-hot-2", "c-hot-3"}
    world = made_again(replaced()).edit(pools=[managers(), hot(3)])
    assert {name for name in created(world) if "hot" in name} == {"c-hot-2", "c-hot-3", "c-hot-4"}


def test_a_volume_that_was_left_is_used_again_when_a_user_keeps_its_member() -> None:
    world = made_again(replaced()).edit(policy=wishes(keep=frozenset({"c-hot-0"})), pools=[managers(), hot(3)])
    world.ticks(3)
    assert marked(world) == {"c-hot-1"}
    assert "c-hot-0" in world.did(a.Create)


def test_a_member_that_shrinks_away_may_come_back_with_its_volume() -> None:
    world = cluster(4).edit(pools=[managers(), hot(3)]).run()
    assert not marked(world)
    world.edit(pools=[managers(), hot(4)]).run()
    assert "c-hot-3" in world.pods()


def test_a_volume_is_not_given_up_before_its_member_is_gone_and_nothing_is_missing() -> None:
    world = cluster(2).edit(policy=wishes(replace=frozenset({"c-hot-0"})))
    while not world.did(a.MarkVolume):
        body = world.bodies["c-hot-0"]
        assert body.workload is not None or body.pod is None
        world.tick()
    assert world.bodies["c-hot-0"].pod is None
    red = replaced()
    claim = red.bodies["c-hot-0"].claim
    assert claim is not None
    claim.left = False
    assert marks(derive(red.observe(), red.now))
    assert not marks(derive(red.edit(answers=False).observe(), red.now))
    red.edit(answers=True)
    red.indices[0].copies.clear()
    assert not marks(derive(red.observe(), red.now))
    taken = o.Replacement(accepted=frozenset({"c-hot-0"}))
    assert marks(derive(red.edit(policy={"replacement": taken}).observe(), red.now))


@pytest.mark.parametrize("still", ["its pod", "its StatefulSet", "nothing"])
def test_a_member_that_is_replaced_and_not_gone_has_left_nothing(still: str) -> None:
    world = cluster(2).edit(policy=wishes(replace=frozenset({"c-hot-0"})))
    world.until(lambda w: w.bodies["c-hot-0"].pod is None)
    there = cluster(2).observe().members[0]
    pod = there.pod if still == "its pod" else None
    workload = there.workload if still == "its StatefulSet" else None
    seen = world.observe()
    members = tuple(replace(m, pod=pod, workload=workload) if m.name == "c-hot-0" else m for m in seen.members)
    assert bool(marks(derive(replace(seen, members=members), world.now))) is (still == "nothing")


def test_nothing_is_reported_on_a_volume_that_is_being_deleted() -> None:
    world = cluster(2).edit(policy=wishes(replace=frozenset({"c-hot-0"})))
    world.until(lambda w: w.bodies["c-hot-0"].pod is None)
    seen = world.observe()
    claims = (replace(m.claim, terminating=True) if m.claim is not None else None for m in seen.members)
    members = tuple(replace(m, claim=c) for m, c in zip(seen.members, claims, strict=True))
    assert marks(derive(seen, world.now))
    assert not marks(derive(replace(seen, members=members), world.now))


def test_the_mark_goes_when_the_member_runs_again() -> None:
    world = cluster(2)
    claim = world.bodies["c-hot-0"].claim
    assert claim is not None
    claim.left = True
    assert marks(derive(world.observe(), world.now)) == (
        a.MarkVolume(why="it is used again", member="c-hot-0", claim=o.Ref("data-c-hot-0", claim.uid, "1"), left=False),
    )
    world.run()
    assert not marked(world)


def test_a_member_that_is_listed_and_has_not_left_its_volume_is_brought_back_before_others_come() -> None:
    wish = wishes(replace=frozenset({"c-hot-0", "c-hot-1"}))
    world = cluster(2).edit(policy=wish).until(lambda w: "c-hot-2" in w.pods())
    world = made_again(world).edit(policy=wish)
    assert {name for name in created(world) if "hot" in name} == {"c-hot-0", "c-hot-1"}
    world.run()
    assert {name for name in world.pods() if "hot" in name} == {"c-hot-2", "c-hot-3"}
    assert marked(world) == {"c-hot-0", "c-hot-1"}


def test_the_pool_of_needed_data_on_kept_volumes_is_requested() -> None:
    """A cluster is deleted while a pool gets another name, and made again: the new pool is empty."""
    world = made_again(cluster(2)).edit(pools=[managers(), hot(2, "warm")])
    waits = [w for _ in range(30) for w in world.tick().waits if w.reason == "PoolNeeded"]
    assert {w.subject for w in waits} >= {"c-hot-0", "c-hot-1"}
    assert all(w.stalled and "with pool hot in the spec" in w.message for w in waits)
    world.edit(pools=[managers(), hot(2, "warm"), hot(2)]).run()
    world.edit(pools=[managers(), hot(2, "warm")]).run()
    assert not any(w.reason == "PoolNeeded" for w in world.plan().waits)
    assert {name for name in world.pods() if "managers" not in name} == {"c-warm-0", "c-warm-1"}


@pytest.mark.parametrize("change", [{"storage_class": "other"}, {"size": 5 * GIB}])
def test_members_that_an_edit_replaced_leave_marked_volumes_and_a_new_cluster_takes_the_others(
    change: dict[str, Any],
) -> None:
    world = cluster(2).edit(pools=[managers(**change), hot(2, **change)]).run()
    assert marked(world) == {"c-managers-0", "c-managers-1", "c-managers-2", "c-hot-0", "c-hot-1"}
    again = created(made_again(world))
    assert {name for name in again if "managers" in name} == {"c-managers-3", "c-managers-4", "c-managers-5"}


def test_members_that_lose_a_role_leave_marked_volumes() -> None:
    world = settled(mixed(3), hot(2), indices=((2,),)).edit(pools=[managers(3, "all"), hot(2)])
    world.until(lambda w: bool(w.did(a.DeleteMember)))
    assert marked(world) >= set(world.did(a.DeleteMember))


@pytest.mark.parametrize(("mark", "name"), [("data", "hot"), ("state", "managers")])
def test_a_volume_whose_mark_names_a_role_that_its_pool_no_longer_has_starts_no_member(mark: str, name: str) -> None:
    """The disaster this prevents: a lost claim is made again for the new roles while the pod has the old ones."""
    world = settled(managers(), hot(2), indices=((2,),))
    claim = world.bodies[f"c-{name}-0"].claim
    assert claim is not None
    assert getattr(claim, mark)
    claim.made_for = frozenset()
    member = next(m for m in made_again(world).observe().members if m.name == f"c-{name}-0")
    now = managers(name="hot") if mark == "data" else gateway(name="managers")
    assert lacks_roles(now.desired(world.version, world.version), member)
    assert not lacks_roles(mixed(name=name).desired(world.version, world.version), member)


@pytest.mark.parametrize(
    ("pool", "lacks"),
    [
        (gateway(0, "old"), "the role data for pool old"),
        (managers(0, "old"), "the role data for pool old"),
        (hot(0, "old", ephemeral=True), "storage.ephemeral: false for pool old"),
    ],
)
def test_a_member_scaled_to_zero_manually_is_not_brought_back_where_its_pool_cannot_use_its_volume(
    pool: PoolSpec, lacks: str
) -> None:
    """The disaster this prevents: its process refuses to start on its data, and no message says what is needed."""
    world = settled(managers(), hot(2), hot(1, "old"), indices=((1,), (1,), (1,)))
    workload = world.bodies["c-old-0"].workload
    assert workload is not None
    workload.replicas = 0
    world.pass_time()
    world.pass_time()
    world.edit(pools=[managers(), hot(2), pool]).ticks(20)
    assert not world.did(a.Create)
    waits = {w.subject: w for w in world.plan().waits if w.reason == "PoolNeeded"}
    assert waits["c-old-0"].stalled
    assert waits["c-old-0"].message == (
        "c-old-0 cannot leave yet: its volume may hold the last copy of shard logs[2]; it can only be used with"
        f" {lacks} in the spec"
    )
    world.edit(pools=[managers(), hot(2), hot(0, "old")]).run()
    assert world.did(a.Create) == ["c-old-0"]


def test_a_member_with_the_last_copy_that_was_scaled_to_zero_before_it_joined_again_comes_back() -> None:
    """The cluster was created again, so only its volume shows that it has joined before; then it leaves as asked."""
    world = settled(managers(), hot(3), indices=((1,), (1,), (1,)))
    holder = world.indices[0].copies[0].member
    made_again(world).edit(policy={"replacement": o.Replacement(replace=frozenset({holder}))})
    world.until(lambda w: w.bodies[holder].pod is not None)
    workload = world.bodies[holder].workload
    assert workload is not None
    workload.replicas = 0
    world.run()
    assert holder not in world.pods()
    assert all(index.current for index in world.indices)


@pytest.mark.parametrize("ordinal", [7, 10**9])
def test_a_kept_volume_with_any_number_is_named_at_once(ordinal: int) -> None:
    """Someone creates a claim with the labels of a member: its number is theirs, and used up the operator's memory."""
    seen = facts_of([managers(), hot(2)], [("hot-0",)]).obs
    claim = o.Claim(o.Ref("data", "claim", "1"), 1, 1, "standard")
    extra = o.Member(f"c-hot-{ordinal}", "hot", ordinal, claim=claim)
    database = replace(seen.database, units=(o.Unit("red", 1, (o.Copy(o.CopyState.UNASSIGNED),)),))
    made = plan(replace(seen, database=database, members=(*seen.members, extra)), NOW)
    (wait,) = [wait for wait in made.waits if wait.subject == extra.name]
    assert f"only be used with {ordinal + 1} members of pool hot in the spec" in wait.message


@pytest.mark.parametrize("seed", range(20))
def test_the_place_of_a_free_number_is_that_in_the_list_of_all(seed: int) -> None:
    """It is found without a list, because a number may be any."""
    random = Random(seed)  # noqa: S311 - a cluster that can be made again
    seen = facts_of([hot(9)], []).obs
    some = [replace(m, name=f"c-{m.name}") for m in seen.members if random.random() < 0.8]
    off = [
        replace(m, pod=None, workload=None, claim=random.choice([None, m.claim])) if random.random() < 0.5 else m
        for m in some
    ]
    records = {m.name: o.Record("1.0.0") for m in off if random.random() < 0.4}
    replaced = frozenset(m.name for m in some if random.random() < 0.2)
    desired = replace(seen.desired, replacement=o.Replacement(replace=replaced))
    facts = derive(replace(seen, members=tuple(off), records=records, desired=desired), NOW)
    (pool,) = facts.obs.desired.pools
    free = free_ordinals(facts, pool, 30)
    assert len(free) == len(set(free)) == 30
    assert [free_before(facts, pool, n) for n in free] == list(range(30))
    assert all(free_before(facts, pool, n) is None for n in range(9) if n not in free)
