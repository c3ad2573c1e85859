"""Single steps of members that leave or whose number changes, each on one observation."""

import pytest
from msgspec.structs import replace

from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from stateward.planning.steps.membership.automatic_scaling import Reading, at_rest
from stateward.planning.steps.membership.decommission import still_needed, would_lose
from stateward.planning.steps.membership.scale import replacements, scale
from tests.unit.planning.chaos import NOW
from tests.unit.planning.pools import gateway, hot, managers, mixed
from tests.unit.planning.safety.test_choice import facts_of
from tests.unit.planning.world import GIB, settled


@pytest.mark.parametrize(
    ("down", "stopped", "named"),
    [
        ("", "", "fewer members than the spec asks for would serve without this member"),
        ("hot-0", "", "fewer members than the spec asks for would serve without this member"),
        ("managers-0", "", "managers-0 does not serve"),
        ("managers-0 hot-1", "", "hot-1 does not serve"),
        ("managers-0 hot-0 hot-1", "", "hot-1 does not serve"),
        ("hot-1 hot-2", "hot-1", "hot-2 does not serve"),
    ],
)
def test_a_member_that_is_still_needed_waits_for_another_of_its_pool_first(down: str, stopped: str, named: str) -> None:
    facts = facts_of([managers(), hot(3)], [], down=down)
    facts = replace(facts, obs=replace(facts.obs, stopped=frozenset(stopped.split())))
    assert still_needed(facts, facts.members["hot-0"]).startswith(named)


@pytest.mark.parametrize("begun", [{"draining": frozenset({"hot-1"})}, {"voting_exclusions": frozenset({"hot-1"})}])
def test_a_replacement_in_progress_ends_before_the_next_one_begins(begun: dict[str, frozenset[str]]) -> None:
    seen = facts_of([hot(3)], []).obs
    (pool,) = seen.desired.pools
    inputs = {**pool.inputs, "storage/class": "fast"}
    desired = replace(seen.desired, pools=(replace(pool, inputs=inputs, held_inputs=inputs),))
    assert isinstance(seen.database, o.Database)
    for database, first in ((seen.database, "hot-0"), (replace(seen.database, **begun), "hot-1")):
        facts = derive(replace(seen, desired=desired, database=database), NOW)
        assert list(replacements(facts, {})) == [first]


@pytest.mark.parametrize(("versions", "replaced"), [("1 2 1", ["hot-1", "hot-0"]), ("1 1 1", ["hot-1"])])
def test_beside_an_upgraded_member_that_leaves_one_is_replaced_whose_successor_is_upgraded(
    versions: str, replaced: list[str]
) -> None:
    """The disaster this prevents: a shard can only move to an upgraded member, and the next one waits for the first."""
    seen = facts_of([hot(3)], []).obs
    (pool,) = seen.desired.pools
    inputs = {**pool.inputs, "storage/class": "fast"}
    desired = replace(seen.desired, version="2", pools=(replace(pool, inputs=inputs, held_inputs=inputs),))
    assert isinstance(seen.database, o.Database)
    database = replace(seen.database, draining=frozenset({"hot-1"}))
    members = tuple(
        replace(m, pod=replace(m.pod, version=version))
        for m, version in zip(seen.members, versions.split(), strict=True)
        if m.pod is not None
    )
    facts = derive(replace(seen, desired=desired, database=database, members=members, deployed_version="1"), NOW)
    assert list(replacements(facts, {})) == replaced


def test_a_list_of_replaced_members_may_name_one_of_which_nothing_is_left() -> None:
    facts = facts_of([hot(3)], [])
    listed = {"hot-9": o.Removal("missing", NOW)}
    assert replacements(facts, listed) == {}
    assert scale(facts, listed).leaving == {}


def test_a_rule_that_measures_nothing_allows_a_smaller_pool_and_never_an_empty_one() -> None:
    idle = Reading(o.ScalingRule(o.Measure.SHARDS, above=10, below=5), 0.0)
    assert [idle.allows(members) for members in (0, 1, 2)] == [False, False, True]


@pytest.mark.parametrize(
    ("copy", "rests"),
    [
        (o.Copy(o.CopyState.STARTED, member="hot-1"), True),
        (o.Copy(o.CopyState.INITIALIZING, member="hot-1"), False),
        (o.Copy(o.CopyState.RELOCATING, member="hot-1", target="hot-2"), False),
    ],
)
def test_a_cluster_is_not_at_rest_while_a_copy_is_built_or_moves(copy: o.Copy, rests: bool) -> None:
    seen = facts_of([hot(3)], []).obs
    assert isinstance(seen.database, o.Database)
    unit = o.Unit("logs[0]", 1, (o.Copy(o.CopyState.STARTED, True, "hot-0"), copy))
    facts = derive(replace(seen, database=replace(seen.database, units=(unit,))), NOW)
    assert at_rest(facts) is rests


@pytest.mark.parametrize(("used", "stuck", "members"), [(20, False, 2), (336, True, 4)])
def test_what_a_replaced_member_leaves_does_not_keep_its_pool_from_changing_its_number(
    used: int, stuck: bool, members: int
) -> None:
    """The disaster this prevents: a volume is kept, or a pod does not end, and the pool keeps its number for good."""
    rule = o.ScalingRule(o.Measure.DISK, above=70, below=50)
    pools = managers(), hot(3, scaling=o.Scaling(lowest=2, highest=6, rules=(rule,)))
    asked = o.Replacement(replace=frozenset({"c-hot-1"}))
    world = settled(*pools, indices=((2,), (2,))).edit(policy={"replacement": asked}, disk_total=100 * GIB)
    world.edit(spread={"hot": 180 * GIB}, stuck={"c-hot-1"} if stuck else set[str]())
    world.until(lambda w: w.did(a.Release) == ["c-hot-1"]).ticks(12)
    assert world.status.pending_removals
    world.edit(spread={"hot": used * GIB}).until(lambda w: w.observe().sizes["hot"].replicas == members, limit=450)


def test_managers_that_are_given_up_at_once_wait_for_no_vote_of_one_that_may_not_leave() -> None:
    """The last one would take the last copy with it until the first is gone; its vote is not the first to move."""
    every = frozenset({"c-all-0", "c-all-1", "c-all-2"})
    world = settled(mixed(3), indices=((2,), (2,), (2,)))
    world.edit(policy={"replacement": o.Replacement(replace=every, undrained=every)}).run()
    assert world.did(a.Release)
    assert world.available


def test_no_vote_is_taken_from_one_of_two_managers_while_a_member_has_one_that_is_no_manager() -> None:
    """A manager that became a data node while its cluster was created again keeps its vote, which it never casts."""
    world = settled(managers(2), hot())
    world.edit(voters={"c-managers-0", "c-managers-1", "c-hot-0"}, pools=[managers(1), hot()]).ticks(20)
    assert not world.exclusions, "the database refuses to let one of two votes count"
    waits = [w.message for w in world.plan().waits if w.reason == "VoteRemovalPending"]
    held = "c-hot-0 is no manager and has a vote, which ends when three managers have joined"
    assert waits == [f"c-managers-1 cannot leave yet: {held}"]
    world.edit(pools=[managers(3), hot()]).run()
    assert "c-hot-0" not in world.voters
    world.edit(pools=[managers(1), hot()]).run()


def test_a_member_whose_drain_is_lifted_is_a_place_for_the_copies_of_a_member_that_leaves() -> None:
    """Two members were about to leave, and one of them stays after all; the copies of the other one move to it.

    The disaster this prevents: in the round in which its drain is lifted, it still counts as no place. So the other
    member leaves with its copies, and its shards have fewer copies than they should.
    """
    world = settled(managers(), hot(3), indices=((2,),))
    world.edit(draining=frozenset({"c-hot-1", "c-hot-2"}), pools=[managers(), hot(2)])
    world.edit(policy={"replacement": o.Replacement(keep=frozenset({"c-hot-2"}))}).tick()
    assert world.draining == {"c-hot-1"}
    assert not world.did(a.Release)
    world.run()
    assert world.did(a.Release) == ["c-hot-1"]
    assert {copy.member for copy in world.indices[0].copies} == {"c-hot-0", "c-hot-2"}


def scaled_to_zero(member: o.Member, *, released: bool) -> o.Member:
    """Return a member without a pod and with its claim, whose StatefulSet the operator has `released`, or a user."""
    assert member.workload is not None
    claim = o.Claim(o.Ref(f"data-{member.name}", "claim", "1"), 1, 1, "standard")
    return replace(member, pod=None, claim=claim, workload=replace(member.workload, replicas=0, released=released))


@pytest.mark.parametrize(
    ("released", "listed", "does"),
    [
        (False, "", a.Create),
        (False, "undrained", a.Create),
        (True, "", a.DeleteVolume),
        (False, "accepted", a.DeleteVolume),
    ],
)
def test_a_member_scaled_to_zero_manually_is_brought_back_also_if_the_database_misses_nothing_yet(
    released: bool, listed: str, does: type[a.Action]
) -> None:
    """FoundationDB notices the loss of data after a minute, and in a zone in maintenance not at all."""
    seen = facts_of([hot(3)], []).obs
    policy = replace(seen.desired.replacement, **({listed: frozenset({"hot-2"})} if listed else {}))
    (pool,) = seen.desired.pools
    desired = replace(
        seen.desired, pools=(replace(pool, replicas=2),), formed_by_word=True, delete_volumes=True, replacement=policy
    )
    members = tuple(scaled_to_zero(m, released=released) if m.name == "hot-2" else m for m in seen.members)
    assert isinstance(seen.database, o.Database)
    nodes = {name: node for name, node in seen.database.nodes.items() if name != "hot-2"}
    database = replace(seen.database, nodes=nodes, draining=frozenset({"hot-2"}), tolerance=1)
    made = plan(replace(seen, desired=desired, members=members, database=database), NOW)
    about = [type(action) for action in made.actions if getattr(action, "member", "") == "hot-2"]
    assert does in about
    assert (a.DeleteVolume in about) == (does is a.DeleteVolume)


@pytest.mark.parametrize("stateless", [True, False])
def test_a_member_without_state_that_a_user_scales_to_zero_leaves_although_its_pool_is_to_run_without_volumes(
    stateless: bool,
) -> None:
    """Its volume holds no data, and with `ephemeral: true` in the spec it could not come back either."""
    seen = facts_of([hot(3)], []).obs
    (pool,) = seen.desired.pools
    made = next(m.workload.inputs for m in seen.members if m.name == "hot-2" and m.workload is not None)
    desired = replace(
        seen.desired,
        pools=(replace(pool, replicas=2, ephemeral=True),),
        formed_by_word=True,
        stateless=made if stateless else {},
    )
    members = tuple(scaled_to_zero(m, released=False) if m.name == "hot-2" else m for m in seen.members)
    assert isinstance(seen.database, o.Database)
    nodes = {name: node for name, node in seen.database.nodes.items() if name != "hot-2"}
    database = replace(seen.database, nodes=nodes, draining=frozenset({"hot-2"}), tolerance=1)
    found = plan(replace(seen, desired=desired, members=members, database=database), NOW)
    gone = [action.member for action in found.actions if isinstance(action, a.DeleteMember)]
    asks = [wait.subject for wait in found.waits if wait.reason == "PoolNeeded"]
    assert (gone, asks) == ((["hot-2"], []) if stateless else ([], ["hot-2"]))


@pytest.mark.parametrize(
    ("earlier", "joined", "capacity", "deleted"),
    [(True, False, 1, False), (True, True, 1, True), (False, False, 1, True), (True, False, 0, True)],
)
def test_what_an_earlier_cluster_has_written_is_not_deleted_with_a_member_that_never_joined_this_one(
    earlier: bool, joined: bool, capacity: int, deleted: bool
) -> None:
    """A FoundationDB cluster is created again, finds the data of another database on its volumes, and gets other pools.

    The volumes were kept because `whenDeleted` asks for that; `whenScaled` is about what this cluster has written.
    """
    seen = facts_of([hot(3)], []).obs
    (pool,) = seen.desired.pools
    desired = replace(seen.desired, pools=(replace(pool, replicas=2),), formed_by_word=True, delete_volumes=True)
    members = tuple(scaled_to_zero(m, released=True) if m.name == "hot-2" else m for m in seen.members)
    members = tuple(replace(m, claim=m.claim and replace(m.claim, earlier=earlier, capacity=capacity)) for m in members)
    records = {name: record for name, record in seen.records.items() if joined or name != "hot-2"}
    assert isinstance(seen.database, o.Database)
    nodes = {name: node for name, node in seen.database.nodes.items() if name != "hot-2"}
    database = replace(seen.database, nodes=nodes, tolerance=1)
    made = plan(replace(seen, desired=desired, members=members, records=records, database=database), NOW)
    about = [type(action) for action in made.actions if getattr(action, "member", "") == "hot-2"]
    assert about == [*([a.DeleteVolume] if deleted else []), a.DeleteMember]


@pytest.mark.parametrize(
    ("tolerance", "partial", "loses"),
    [(1, "", False), (0, "hot-2", True), (1, "hot-2", False), (1, "hot-1", True), (2, "hot-1", False)],
)
def test_a_member_of_which_some_processes_run_counts_as_long_as_the_database_lists_them(
    tolerance: int, partial: str, loses: bool
) -> None:
    """One process of a released member does not end: it counts as there, and is gone a moment later."""
    seen = facts_of([hot(3)], []).obs
    assert isinstance(seen.database, o.Database)
    nodes = {name: node for name, node in seen.database.nodes.items() if name != partial}
    database = replace(seen.database, nodes=nodes, partial=dict.fromkeys([partial] * bool(partial), "1.0.0"))
    members = tuple(
        replace(m, workload=m.workload and replace(m.workload, replicas=0)) if m.name == partial == "hot-1" else m
        for m in seen.members
    )
    facts = derive(replace(seen, members=members, database=replace(database, tolerance=tolerance)), NOW)
    assert bool(would_lose(facts, [facts.members["hot-2"]])) == loses


@pytest.mark.parametrize(
    ("by", "accepted", "marked"),
    [("operator", False, True), ("user", False, False), ("user", True, True), ("deletion", False, False)],
)
def test_the_volume_of_a_replaced_member_is_given_up_only_if_the_operator_has_released_the_member(
    by: str, accepted: bool, marked: bool
) -> None:
    """A user deletes the StatefulSet of a member that holds the only copies; FoundationDB misses nothing for a minute.

    Its volume was marked as left in that minute. Nothing asked for it when the database had missed its data.
    """
    seen = facts_of([hot(3)], []).obs
    policy = replace(seen.desired.replacement, accepted=frozenset({"hot-2"} if accepted else ()))
    members = tuple(scaled_to_zero(m, released=by == "operator") if m.name == "hot-2" else m for m in seen.members)
    if by == "deletion":
        members = tuple(replace(m, workload=None) if m.name == "hot-2" else m for m in members)
    assert isinstance(seen.database, o.Database)
    nodes = {name: node for name, node in seen.database.nodes.items() if name != "hot-2"}
    database = replace(seen.database, nodes=nodes, draining=frozenset({"hot-2"}), tolerance=1)
    desired = replace(seen.desired, formed_by_word=True, replacement=policy)
    removals = {"hot-2": o.Removal("a user asked for it", NOW)}
    made = plan(replace(seen, desired=desired, members=members, database=database, removals=removals), NOW)
    assert [x.left for x in made.actions if isinstance(x, a.MarkVolume)] == [True] * marked


@pytest.mark.parametrize(("released", "does"), [(False, [a.Create]), (True, [])])
def test_a_leaving_member_scaled_to_zero_manually_is_brought_back_while_the_database_does_not_answer(
    released: bool, does: list[type[a.Action]]
) -> None:
    """FoundationDB may be down for want of its logs: nothing else brings the database back."""
    seen = facts_of([hot(3)], []).obs
    (pool,) = seen.desired.pools
    desired = replace(seen.desired, pools=(replace(pool, replicas=2),), formed_by_word=True)
    members = tuple(scaled_to_zero(m, released=released) if m.name == "hot-2" else m for m in seen.members)
    made = plan(replace(seen, desired=desired, members=members, database=o.Unknown("it is not available")), NOW)
    assert [type(action) for action in made.actions if getattr(action, "member", "") == "hot-2"] == does


@pytest.mark.parametrize("ready", [True, False])
def test_a_pod_that_lost_its_stateful_set_is_deleted_when_its_member_may_go(ready: bool) -> None:
    """The disaster this prevents: a user deletes a StatefulSet and keeps its pod, which then never ends."""
    world = settled(managers(), hot(3), indices=((2,), (2,))).edit(pools=[managers(), hot(2)])
    world.until(lambda w: w.did(a.Release) == ["c-hot-2"])
    seen = world.observe()
    (member,) = (m for m in seen.members if m.name == "c-hot-2")
    assert member.pod is not None
    for terminating in (False, True):
        pod = replace(member.pod, ready=ready, terminating=terminating)
        left = replace(member, workload=None, pod=pod)
        others = (m for m in seen.members if m is not member)
        deleted = [
            x for x in plan(replace(seen, members=(*others, left)), world.now).actions if isinstance(x, a.DeletePod)
        ]
        assert [x.pod for x in deleted] == ([] if terminating else [pod.ref])


@pytest.mark.parametrize(
    ("missing", "waits"),
    [("nothing", set()), ("another member", {"TooFewServing"}), ("its successor", {"SuccessorNotJoined"})],
)
def test_a_pod_that_lost_its_stateful_set_is_deleted_only_when_a_member_could_be_released(
    missing: str, waits: set[str]
) -> None:
    """It was deleted while two other members were down."""
    world, name = settled(managers(), hot(3), gateway(1), indices=((2,), (2,))), "c-hot-2"
    if missing == "its successor":
        name = "c-gateway-0"
        world.edit(pools=[managers(), hot(3), gateway(1, storage_class="fast")], unschedulable={"c-gateway-1"}).tick()
    else:
        world.edit(pools=[managers(), hot(2), gateway(1)]).until(lambda w: w.did(a.Release) == ["c-hot-2"])
    if missing == "another member":
        world.kill("c-gateway-0")
    seen = world.observe()
    member = next(m for m in seen.members if m.name == name)
    assert member.pod is not None
    left = replace(member, workload=None, pod=replace(member.pod, ready=True, terminating=False))
    made = plan(replace(seen, members=(*(m for m in seen.members if m is not member), left)), world.now)
    assert [x.member for x in made.actions if isinstance(x, a.DeletePod)] == ([] if waits else [name])
    assert {w.reason for w in made.waits if w.subject == name} == waits
