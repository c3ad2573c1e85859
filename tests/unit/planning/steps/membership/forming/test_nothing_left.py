"""StatefulSets, claims or all managers are gone: what is needed for an election comes back, or the user is asked."""

import pytest
from msgspec.structs import replace

from stateward.operator.objects.recorded_status import bootstrap, records
from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from stateward.planning.report.status import status
from stateward.planning.steps.membership.bootstrap import form_anew
from tests.unit.planning.pools import PoolSpec
from tests.unit.planning.steps.membership.forming.test_bootstrap import lose_volume, reasons
from tests.unit.planning.steps.membership.forming.test_created_again import without_managers
from tests.unit.planning.steps.membership.test_left import made_again
from tests.unit.planning.world import World, hot, managers, mixed, settled

MANAGERS = ("c-managers-0", "c-managers-1", "c-managers-2")


def delete(world: World, *members: str, volumes: bool = False) -> World:
    """Delete the StatefulSets and pods of members, and their volumes too where that is said."""
    for name in members:
        body = world.bodies[name]
        body.workload = body.pod = body.config = None
        if volumes:
            del world.bodies[name]
    return world


@pytest.mark.parametrize("gone", [MANAGERS[:2], MANAGERS])
def test_managers_whose_stateful_sets_were_deleted_while_the_cluster_was_paused_come_back(
    gone: tuple[str, ...],
) -> None:
    """The disaster this prevents: they count as new ones then, and wait for a database that waits for them."""
    world = settled(managers(), hot(2), indices=((2,),)).edit(policy={"paused": True}).ticks(2)
    delete(world, *gone).ticks(3)
    assert {m.name for m in world.status.member_states} >= set(gone)
    world.edit(policy={}).run()
    assert world.did(a.Create) == list(gone)


@pytest.mark.parametrize("ephemeral", [False, True])
def test_managers_of_which_nothing_is_left_are_created_and_form_a_cluster_once_the_user_accepts_the_loss(
    ephemeral: bool,
) -> None:
    world = settled(managers(ephemeral=ephemeral), hot(2)).edit(policy={"paused": True}).ticks(2)
    delete(world, *MANAGERS, volumes=True).edit(identity="", voters=set()).ticks(3)
    world.edit(policy={}).ticks(20)
    assert set(world.did(a.Create)) == set(MANAGERS)
    assert "ManagersLost" in reasons(world)
    assert not world.did(a.RecordBootstrap)
    world.edit(bootstrap_again=True).run()
    assert set(world.did(a.GrantBootstrap)) == {"c-managers-0"}


@pytest.mark.parametrize(("lost", "named"), [(MANAGERS[:1], ""), (MANAGERS[:2], "c-managers-0, c-managers-1")])
def test_a_silent_database_whose_managers_have_lost_their_majority_names_them(
    lost: tuple[str, ...], named: str
) -> None:
    """It would wait forever: without these volumes no manager is ever elected."""
    world = settled(managers(), hot(2), indices=((2,),))
    for name in lost:
        lose_volume(world, name)
    world.edit(answers=False).ticks(4)
    assert "QuorumLost" not in reasons(world)
    world.ticks(10)
    told = [wait for wait in world.plan().waits if wait.reason == "QuorumLost"]
    assert bool(told) is bool(named)
    assert all(w.stalled and w.message.startswith(f"{named} lost the cluster state") for w in told)
    assert all("1 of 3 managers on record have it" in wait.message for wait in told)


def test_managers_that_are_renamed_after_all_were_lost_are_created_once_the_user_accepts_the_loss() -> None:
    world = settled(managers(), hot(2))
    for name in MANAGERS:
        lose_volume(world, name)
    world.edit(identity="", voters=set(), pools=[managers(name="masters"), hot(2)]).ticks(20)
    assert not world.did(a.Create)
    world.edit(bootstrap_again=True).run()
    assert world.did(a.GrantBootstrap) == ["c-masters-0"]


def without_claim(world: World, name: str, **more: object) -> o.Observation:
    """Return the observation without the claim of a member whose pod waits for it."""
    seen = world.observe()

    def waiting(member: o.Member) -> o.Member:
        assert member.pod is not None
        return replace(member, claim=None, pod=replace(member.pod, claims=True, node="", running=False, ready=False))

    members = tuple(waiting(m) if m.name == name else m for m in seen.members)
    return replace(seen, members=members, **more)


@pytest.mark.parametrize("name", ["c-managers-1", "c-hot-0"])
def test_a_claim_that_was_deleted_before_its_member_ever_ran_is_made_again(name: str) -> None:
    """The disaster this prevents: a user deletes the claims of a wrong storage class, and the pods wait for them."""
    world = World(managers(), hot(2)).until(lambda w: bool(w.did(a.RecordBootstrap)))
    made = plan(without_claim(world, name), world.now)
    assert [x.member for x in made.actions if isinstance(x, a.Create)] == [name]


def test_a_claim_is_not_made_again_for_a_member_that_joined_or_has_the_grant() -> None:
    world = World(managers(), hot(2)).until(lambda w: bool(w.did(a.RecordBootstrap)))
    made = plan(without_claim(world, "c-managers-0"), world.now)
    assert not [x for x in made.actions if isinstance(x, a.Create)]
    world.run()
    made = plan(without_claim(world, "c-hot-0"), world.now)
    assert not [x for x in made.actions if isinstance(x, a.Create)]


def test_a_new_member_that_leaves_and_lost_its_claim_is_released_although_no_database_answers() -> None:
    """The disaster this prevents: it is to form the cluster and never runs, and waits for a database to leave it."""
    world = World(managers(), hot(2)).ticks(1)
    listed = {"c-managers-0": o.Removal(reason="a user asked for it", since=world.now)}
    made = plan(without_claim(world, "c-managers-0", removals=listed), world.now)
    assert [x.member for x in made.actions if isinstance(x, a.Release)] == ["c-managers-0"]
    # It may have formed the cluster: then only a user knows.
    world.until(lambda w: bool(w.did(a.RecordBootstrap)))
    made = plan(without_claim(world, "c-managers-0", removals=listed), world.now)
    assert not [x for x in made.actions if isinstance(x, a.Release)]


def test_a_claim_that_was_deleted_for_a_new_cluster_is_made_again_whatever_joined_the_lost_one() -> None:
    """The disaster this prevents: the operator advises to delete it, and the pod waits for it as for a lost volume."""
    world = settled(managers(), hot(2))
    for name in MANAGERS:
        lose_volume(world, name)
    world.edit(identity="", voters=set(), bootstrap_again=True).until(lambda w: bool(w.did(a.GrantBootstrap)))
    answer = o.Database(
        identity="new", health=o.Health.GREEN, nodes={"c-managers-0": o.Node("c-managers-0", "2.17.1", True, False)}
    )
    seen = replace(without_claim(world, "c-managers-1"), database=answer)
    assert seen.bootstrap is not None
    assert not seen.bootstrap.formed
    assert [x.member for x in plan(seen, world.now).actions if isinstance(x, a.Create)] == ["c-managers-1"]
    written = status(seen, plan(seen, world.now), world.status, world.now)
    assert {m.name: m.volume for m in written.member_states}["c-managers-1"] == ""
    later = replace(seen, bootstrap=bootstrap(written), records=records(written))
    assert [x.member for x in plan(later, world.now).actions if isinstance(x, a.Create)] == ["c-managers-1"]


def test_no_claim_is_made_again_while_a_user_may_restore_the_volume_of_a_manager() -> None:
    world = without_managers(settled(managers(), hot(2))).ticks(5)
    assert "ManagersLost" in reasons(world)
    made = plan(without_claim(world, "c-managers-0"), world.now)
    assert not [x for x in made.actions if isinstance(x, a.Create)]


def test_the_last_answer_of_a_deleted_cluster_is_none_of_the_one_that_is_created_again() -> None:
    """The disaster this prevents: it counts as formed, and nothing says which of the kept volumes it needs."""
    world = settled(managers(), hot(2))
    before = world.observe()
    ending = tuple(replace(m, workload=None, pod=replace(m.pod, terminating=True)) for m in before.members if m.pod)
    seen = replace(made_again(world.copy()).observe(), members=ending, database=before.database)
    assert derive(seen, world.now).database is None
    # A cluster whose status was lost has pods that stay; one that is on record answers for itself.
    assert derive(replace(seen, members=before.members), world.now).database is not None
    assert derive(replace(seen, records=before.records), world.now).database is not None
    assert derive(replace(seen, deployed_version="2.17.1"), world.now).database is not None
    formed = o.Bootstrap("c-managers-0", "", formed=True)
    assert derive(replace(seen, bootstrap=formed), world.now).database is not None
    assert derive(replace(seen, bootstrap=replace(formed, formed=False)), world.now).database is None


def test_a_member_that_was_released_does_not_come_back_in_the_place_of_its_successor() -> None:
    """The disaster this prevents: the vote is on the volume of the successor, and no election succeeds without it."""
    world = settled(managers(1), hot(2)).edit(pools=[managers(1, storage_class="other"), hot(2)])
    world.until(lambda w: bool(w.did(a.Release)))
    delete(world.ticks(1), "c-managers-1")
    world.run()
    assert world.voters == {"c-managers-1"}


def test_a_member_that_is_about_to_form_the_cluster_stays_the_one_whatever_pool_comes_first() -> None:
    world = settled(managers(), hot(2))
    for name in MANAGERS:
        lose_volume(world, name)
    world.edit(identity="", voters=set(), may_form=False, bootstrap_again=True)
    world.until(lambda w: bool(w.did(a.GrantBootstrap)))
    world.edit(pools=[mixed(3), managers(), hot(2)], bootstrap_again=True).ticks(10)
    assert set(world.did(a.RecordBootstrap)) == {"c-managers-0"}
    world.edit(may_form=True).run()


@pytest.mark.parametrize(("told", "forms"), [("granted", True), ("", False)])
def test_a_member_that_has_its_permission_stays_the_one_also_when_its_pool_has_lost_the_role(
    told: str, forms: bool
) -> None:
    """The disaster this prevents: it is about to form the cluster, and a member of another pool forms a second one."""
    world = World(managers(), hot()).until(lambda w: bool(w.did(a.GrantBootstrap)))
    observed = world.observe()
    members = tuple(
        replace(m, pod=replace(m.pod, bootstrap=told)) if m.name == "c-managers-0" and m.pod else m
        for m in observed.members
    )
    pools = tuple(replace(pool, voting=pool.name == "hot") for pool in observed.desired.pools)
    desired = replace(observed.desired, pools=pools)
    observed = replace(observed, members=members, desired=desired, database=o.Unknown("silent"), bootstrap_again=True)
    made = form_anew(derive(observed, world.now))
    assert not forms or not [action for action in made.actions if isinstance(action, a.RecordBootstrap)]
    assert forms or [action.member for action in made.actions if isinstance(action, a.RecordBootstrap)] == ["c-hot-0"]


@pytest.mark.parametrize("first", [True, False])
def test_a_pool_that_gets_the_role_of_managers_after_all_were_lost_does_not_count_as_their_rest(first: bool) -> None:
    """Its members never had a vote, and the first of them cannot form a cluster with the data of before."""
    world = settled(managers(), hot(2))
    for name in MANAGERS:
        lose_volume(world, name)
    asked = [mixed(2, "hot"), managers()] if first else [managers(), mixed(2, "hot")]
    world.edit(identity="", voters=set(), pools=asked).ticks(20)
    assert "ManagersLost" in reasons(world)
    world.edit(bootstrap_again=True).until(lambda w: bool(w.identity))
    assert world.voters == {"c-managers-0"}


def test_the_only_manager_with_a_vote_is_asked_for_and_comes_back_beside_its_successor() -> None:
    """The disaster this prevents: its StatefulSet is deleted once the successor has joined, which fills its place."""
    world = settled(managers(1), hot(2)).edit(pools=[managers(1, storage_class="other"), hot(2)])
    world.until(lambda w: "c-managers-1" in w.joined())
    delete(world, "c-managers-0").ticks(50)
    assert "PoolNeeded" not in reasons(world), "the database may answer again"
    world.ticks(20)
    assert reasons(world)["PoolNeeded"] == (
        "the kept volume of c-managers-0 may hold the state of this cluster; it can only be used with 2 members of pool"
        " managers in the spec"
    )
    world.edit(pools=[managers(2, storage_class="other"), hot(2)]).run()
    assert "c-managers-0" in world.did(a.Create)
    assert world.voters <= {"c-managers-1", "c-managers-2"}


def test_a_member_that_was_to_be_replaced_and_is_needed_asks_for_what_takes_its_replacement_back() -> None:
    """The disaster this prevents: its StatefulSet is deleted too early, and its name is never used again."""
    world = settled(managers(), hot(2), indices=((1,), (1,)))
    world.edit(policy={"replacement": o.Replacement(replace=frozenset({"c-hot-0"}))})
    world.until(lambda w: "c-hot-2" in w.bodies)
    delete(world, "c-hot-0").ticks(10)
    told = reasons(world)["PoolNeeded"]
    assert told.startswith("the kept volume of c-hot-0 may hold the last copy of shard logs[")
    assert told.endswith("; it can only be used with c-hot-0 in members.keep in the spec")
    world.edit(policy={"replacement": o.Replacement(keep=frozenset({"c-hot-0"}))}).ticks(5)
    world.edit(pools=[managers(), hot(3)]).run()
    assert "c-hot-0" in world.pods()


def test_managers_that_keep_their_data_in_pods_are_lost_also_while_one_of_them_leaves() -> None:
    """The disaster this prevents: the one that leaves has no pod any more, and no one is asked for a new cluster."""
    world = settled(managers(ephemeral=True), hot(2)).edit(pools=[managers(1, ephemeral=True), hot(2)])
    world.until(lambda w: (body := w.bodies["c-managers-2"]).pod is None and body.workload is not None)
    for name in MANAGERS:
        world.bodies[name].pod = None
    world.edit(identity="", voters=set()).ticks(20)
    assert "ManagersLost" in reasons(world)
    world.edit(bootstrap_again=True).run()
    assert world.did(a.GrantBootstrap)


def test_the_only_manager_with_a_vote_that_a_user_scaled_to_zero_is_asked_for() -> None:
    """The disaster this prevents: it looks like one that was released, and its replacement is decided already."""
    world = settled(managers(1), hot(2)).edit(policy={"replacement": o.Replacement(replace=frozenset(MANAGERS[:1]))})
    world.until(lambda w: "c-managers-1" in w.bodies)
    workload = world.bodies["c-managers-0"].workload
    assert workload is not None
    workload.replicas = 0
    world.ticks(70)
    assert reasons(world)["PoolNeeded"].endswith("; it can only be used with c-managers-0 in members.keep in the spec")
    world.edit(policy={"replacement": o.Replacement(keep=frozenset(MANAGERS[:1]))}, pools=[managers(2), hot(2)]).run()
    assert "c-managers-0" in world.did(a.Create)


def test_earlier_managers_that_a_user_scaled_to_zero_are_asked_for_also_in_a_cluster_that_was_created_again() -> None:
    """The disaster this prevents: the one that is left waits for their votes, and no message names them."""
    world = made_again(settled(managers(), hot(2))).until(lambda w: bool(w.did(a.Create)))
    for name in MANAGERS[:2]:
        workload = world.bodies[name].workload
        assert workload is not None
        workload.replicas = 0
    world.edit(pools=[managers(1), hot(2)]).ticks(80)
    assert reasons(world)["PoolNeeded"].startswith("the kept volume of c-managers-1 may hold the state of an earlier")
    world.edit(pools=[managers(3), hot(2)]).run()


def all_lost(world: World, *pools: PoolSpec) -> World:
    """Lose the volumes of all managers while the spec asks for other pools, and let the user accept that."""
    delete(world, *MANAGERS, volumes=True).edit(identity="", voters=set(), pools=list(pools)).ticks(3)
    return world.edit(bootstrap_again=True).ticks(30)


def test_a_pool_with_data_that_gets_the_role_after_all_managers_were_lost_has_no_empty_volume() -> None:
    """The disaster this prevents: its members have joined the lost cluster, and no message says what is needed."""
    world = all_lost(settled(managers(), hot(3)), mixed(2, "hot"))
    assert not world.did(a.RecordBootstrap)
    assert reasons(world)["EarlierVolumes"] == (
        "no manager has an empty volume to form a new cluster on: add a member to pool hot, or give up the data of"
        " c-hot-0, which may be from the lost cluster: kubectl delete pvc data-c-hot-0 --wait=false && kubectl delete"
        " pod c-hot-0-0; the operator then creates a new volume"
    )
    added = world.copy().edit(pools=[mixed(3, "hot")]).until(lambda w: bool(w.did(a.RecordBootstrap)))
    assert added.did(a.RecordBootstrap) == ["c-hot-3"]
    world.bodies["c-hot-0"].claim = None
    world.kill("c-hot-0").until(lambda w: bool(w.did(a.RecordBootstrap)))
    assert world.did(a.RecordBootstrap) == ["c-hot-0"]


@pytest.mark.parametrize("ephemeral", [False, True])
def test_members_that_keep_data_in_pods_get_no_claims_when_their_pool_gets_the_role(*, ephemeral: bool) -> None:
    """The disasters this prevents: with claims they count as managers with kept volumes; without, no one is asked."""
    world = all_lost(settled(managers(), hot(3, ephemeral=True)), mixed(2, "hot", ephemeral=ephemeral))
    assert not world.did(a.Create)
    assert reasons(world)["EarlierVolumes"].endswith("to form a new cluster on: add a member to pool hot")
    world.edit(pools=[mixed(3, "hot", ephemeral=ephemeral)]).until(lambda w: bool(w.did(a.RecordBootstrap)))
    assert world.did(a.RecordBootstrap) == ["c-hot-3"]


def test_the_volume_of_the_only_manager_is_named_also_if_its_pool_is_to_keep_its_data_in_pods() -> None:
    """The disaster this prevents: its StatefulSet is deleted while it is replaced, and nothing names its volume."""
    world = settled(managers(1), hot(2)).edit(pools=[managers(1, ephemeral=True), hot(2)])
    delete(world, "c-managers-0").ticks(70)
    assert reasons(world)["PoolNeeded"] == (
        "the kept volume of c-managers-0 may hold the state of this cluster; it can only be used with"
        " storage.ephemeral: false for pool managers in the spec"
    )
    world.edit(pools=[managers(1), hot(2)]).run()


@pytest.mark.parametrize("ephemeral", [True, False])
def test_pods_that_wait_for_lost_claims_are_made_as_their_pool_asks_for_before_they_get_volumes(
    *, ephemeral: bool
) -> None:
    """The disasters this prevents: nothing makes the claims, or the new volumes get data that the pool cannot use."""
    world = settled(managers(), hot(2)).edit(pools=[managers(ephemeral=ephemeral), hot(2)], bootstrap_again=True)
    observed = replace(world.observe(), database=o.Unknown("silent"))
    before = next(m for m in observed.members if m.name == "c-managers-0")
    assert before.pod is not None
    assert before.workload is not None
    pod = replace(before.pod, claims=True, running=False, ready=False, node="")
    target = observed.desired.pools[0].inputs
    other = {**target, "storage/holds": "TrueTrue"}

    def planned(workload: o.Workload | None, pod: o.Pod | None) -> list[str]:
        lost = {name: replace(before, name=name, claim=None, workload=workload, pod=pod) for name in MANAGERS}
        rest = tuple(lost.get(m.name, m) for m in observed.members)
        made = form_anew(derive(replace(observed, members=rest), world.now))
        return sorted({type(action).__name__ for action in made.actions})

    made = replace(before.workload, inputs=target)
    assert planned(replace(made, inputs=other), replace(pod, inputs=other)) == ["Stage"]
    assert planned(replace(made, inputs=other), None) == ["Stage"]
    assert planned(replace(made, observed=False), replace(pod, inputs=other)) == []
    assert planned(replace(made, observed=True), replace(pod, inputs=other)) == ["DeletePod"]
    assert planned(made, replace(pod, inputs=target)) == ([] if ephemeral else ["Create"])
    assert planned(made, None) == ([] if ephemeral else ["Create"])
    for kept in (replace(pod, inputs=other, terminating=True), replace(pod, inputs=other, node="node-0")):
        assert planned(made, kept) == ([] if ephemeral else ["Create"]), "it may hold the state of the cluster"


@pytest.mark.parametrize("voted", [True, False])
def test_a_member_that_has_given_its_vote_away_does_not_count_as_a_manager_that_is_left(*, voted: bool) -> None:
    """The disaster this prevents: two pools swap roles, the only manager is lost, and no one is asked."""
    world = settled(managers(1), hot(2), indices=((2,),))
    claim = world.bodies["c-hot-0"].claim
    assert claim is not None
    assert claim.data
    claim.made_for, claim.state = (claim.made_for or frozenset()) | {"voting"}, voted
    lose_volume(world, "c-managers-0")
    world.edit(identity="", voters=set()).ticks(20)
    assert ("ManagersLost" in reasons(world)) is not voted


def test_earlier_managers_that_a_setting_keeps_apart_ask_for_their_pool_in_a_cluster_created_again() -> None:
    """The disaster this prevents: their pool is renamed with the correction, and only a new cluster is offered."""
    bad = managers(config={"config/a": "bad"})
    world = made_again(settled(managers(), hot(2))).edit(hang={("config/a", "bad")}, pools=[bad, hot(2)]).ticks(5)
    world.edit(pools=[managers(name="masters"), hot(2)]).ticks(70)
    told = {w.subject: w.message for w in world.plan().waits if w.reason == "PoolNeeded"}
    assert told.keys() >= set(MANAGERS[1:])
    assert told["c-managers-1"].endswith("and can only be repaired with pool managers in the spec")
    before = world.identity
    world.edit(pools=[managers(), managers(name="masters"), hot(2)]).run()
    assert world.identity == before
