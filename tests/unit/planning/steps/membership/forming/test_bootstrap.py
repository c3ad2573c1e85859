"""Bootstrap of the cluster: exactly once, with manual confirmation if a data loss is possible."""

from itertools import pairwise

from msgspec.structs import replace

from stateward.planning.facts.facts import derive
from stateward.planning.model import actions as a
from stateward.planning.plan import plan
from stateward.planning.steps.membership.bootstrap import new_volume
from stateward.planning.steps.membership.earlier_cluster import everything_lost
from tests.unit.planning.world import World, hot, managers, mixed, settled


def reasons(world: World) -> dict[str, str]:
    return {w.reason: w.message for w in world.plan().waits if w.stalled}


def lose_volume(world: World, name: str) -> None:
    """Lose a member's volume: it comes back with an empty one."""
    body = world.bodies[name]
    assert body.claim is not None
    body.claim.uid, body.claim.state, body.claim.data = f"{body.claim.uid}-again", False, False
    world.kill(name)
    world.wipe(body)


def test_the_grant_is_written_down_before_it_is_given() -> None:
    world = World(managers(), hot()).until(lambda w: bool(w.did(a.RecordBootstrap)))
    assert not world.did(a.GrantBootstrap)
    assert world.status.bootstrap is not None
    assert not world.status.bootstrap.formed
    world.run()
    assert world.status.bootstrap.formed


def test_a_crash_between_record_and_grant_gives_it_to_the_same_member() -> None:
    world = World(managers(), hot()).until(lambda w: bool(w.did(a.RecordBootstrap)))
    world.kill("c-managers-0").run()
    assert set(world.did(a.GrantBootstrap)) == {"c-managers-0"}
    assert world.did(a.RecordBootstrap) == ["c-managers-0"]


def test_a_volume_that_is_lost_after_the_grant_was_recorded_calls_for_a_user() -> None:
    world = World(managers(), hot()).until(lambda w: bool(w.did(a.RecordBootstrap)))
    lose_volume(world, "c-managers-0")
    world.ticks(10)
    assert "BootstrapInterrupted" in reasons(world)
    assert not world.did(a.GrantBootstrap)
    world.edit(bootstrap_again=True).run()
    assert not world.bootstrap_again, "the leave was for this loss, and not for the next one"


def test_a_claim_that_is_gone_after_the_grant_was_recorded_calls_for_a_user_too() -> None:
    """The disaster this prevents: nothing makes it again, and its pod, which has no node, is said to form a cluster."""
    world = World(managers(), hot()).until(lambda w: bool(w.did(a.RecordBootstrap)))
    members = [replace(m, claim=None) if m.name == "c-managers-0" else m for m in world.observe().members]
    made = plan(replace(world.observe(), members=tuple(members)), world.now)
    wait = next(w for w in made.waits if w.subject == "c-managers-0")
    assert (wait.reason, wait.stalled) == ("BootstrapInterrupted", True)
    allowed = plan(replace(world.observe(), members=tuple(members), bootstrap_again=True), world.now)
    assert "c-managers-0" in {x.member for x in allowed.actions if isinstance(x, a.Create)}


def test_a_formed_cluster_is_never_formed_again_however_long_it_does_not_answer() -> None:
    world = settled(managers(), hot())
    for name in world.bodies:
        world.kill(name)
    world.edit(answers=False).ticks(30)
    assert not world.log
    world.edit(answers=True).run()


def test_one_lost_manager_volume_forms_no_new_cluster() -> None:
    world = settled(managers(), hot(), indices=((2,),))
    lose_volume(world, "c-managers-0")
    world.run()
    assert not world.did(a.GrantBootstrap)


def test_when_all_managers_lost_their_volumes_a_user_is_asked_and_may_accept_the_loss() -> None:
    world = settled(managers(), hot(2))
    before = world.identity
    for name in ("c-managers-0", "c-managers-1", "c-managers-2"):
        lose_volume(world, name)
    world.edit(identity="", voters=set()).ticks(20)
    assert "ManagersLost" in reasons(world)
    assert "accept-data-loss" in reasons(world)["ManagersLost"]
    assert not world.did(a.GrantBootstrap)
    world.edit(bootstrap_again=True).until(lambda w: bool(w.did(a.RecordBootstrap)))
    assert not world.status.cluster_uuid, "whose answer is waited for is not the cluster that was given up"
    world.run()
    assert world.identity != before
    assert world.status.cluster_uuid == world.identity
    assert world.did(a.RecordBootstrap) == world.did(a.GrantBootstrap) == ["c-managers-0"]


def test_a_new_and_empty_pool_of_managers_does_not_keep_the_pool_before_it_from_forming_the_cluster_anew() -> None:
    """A user renames the managers while everything is lost, and then adds the pool of before again."""
    world = settled(managers(), hot(2))
    for name in ("c-managers-0", "c-managers-1", "c-managers-2"):
        lose_volume(world, name)
    world.edit(identity="", voters=set(), pools=[managers(name="masters"), managers(), hot(2)]).ticks(20)
    world.edit(bootstrap_again=True).run()
    assert world.did(a.RecordBootstrap) == world.did(a.GrantBootstrap) == ["c-managers-0"]
    assert len(world.pods()) == 8


def test_the_same_for_managers_that_keep_their_state_in_their_pods() -> None:
    world = settled(managers(ephemeral=True), hot(2))
    for name in ("c-managers-0", "c-managers-1", "c-managers-2"):
        world.kill(name)
    world.edit(identity="", voters=set()).ticks(20)
    assert "ManagersLost" in reasons(world)
    assert not world.did(a.GrantBootstrap)
    world.edit(bootstrap_again=True).run()


def test_a_bad_config_at_creation_is_corrected_and_the_cluster_forms() -> None:
    world = World(mixed(3, config={"config/a": "bad"})).edit(crash={("config/a", "bad")}).ticks(10)
    assert not world.identity
    world.edit(pools=[mixed(3)]).run()
    assert len(world.pods()) == 3


def test_a_config_that_hangs_at_creation_is_corrected_and_the_cluster_forms() -> None:
    world = World(managers(), hot(config={"config/a": "bad"})).edit(crash={("config/a", "bad")}).ticks(10)
    world.edit(pools=[managers(), hot()]).run()
    assert len(world.pods()) == 6


def test_the_manager_pool_is_renamed_before_the_cluster_was_formed() -> None:
    world = World(managers(), hot()).until(lambda w: bool(w.did(a.RecordBootstrap)))
    world.edit(pools=[managers(name="masters"), hot()]).run()
    assert world.voters == {"c-masters-0", "c-masters-1", "c-masters-2"}
    assert len(set(world.did(a.GrantBootstrap))) == 1


def test_a_leave_that_was_given_while_nothing_is_lost_does_not_stay_for_the_next_loss() -> None:
    world = settled(managers(), hot()).edit(bootstrap_again=True).run()
    assert world.did(a.ClearConsent)
    assert not world.bootstrap_again


def test_a_manager_that_has_permission_and_forms_no_cluster_is_recreated_ever_more_rarely_and_it_is_reported() -> None:
    world = World(managers(1), hot(2)).edit(may_form=False).until(lambda w: bool(w.did(a.GrantBootstrap)))
    assert "Bootstrapping" not in reasons(world), "it has only begun"
    world.log.clear()
    began = world.now
    world.ticks(700)
    made = [when - began for when, action in world.log if isinstance(action, a.DeletePod)]
    assert len(made) == 4
    assert all(later > 1.8 * earlier for earlier, later in pairwise(made))
    assert "has not formed the cluster for more than 10 minutes" in reasons(world)["Bootstrapping"]
    world.may_form = True
    world.run()
    assert "Bootstrapping" not in reasons(world)


def test_when_the_member_with_the_grant_leaves_and_all_volumes_are_lost_another_manager_forms_the_cluster() -> None:
    world = settled(managers(), hot(2)).edit(pools=[managers(storage_class="other"), hot(2)])
    world.until(lambda w: bool(w.did(a.Release)))
    assert world.did(a.Release) == ["c-managers-0"]
    for name in ("c-managers-0", "c-managers-1", "c-managers-2", "c-managers-3"):
        lose_volume(world, name)
    world.log.clear()
    world.edit(identity="", voters=set(), bootstrap_again=True).until(lambda w: bool(w.did(a.GrantBootstrap)))
    assert world.did(a.GrantBootstrap) == ["c-managers-1"]


def test_where_no_manager_was_ever_recorded_none_is_lost() -> None:
    world = settled(managers(), hot(2))
    facts = derive(replace(world.observe(), records={}), world.now)
    assert not everything_lost(facts)


def lost_with_a_class_that_does_not_exist() -> World:
    """Return a cluster that has lost all managers' volumes, and whose new claims are never bound."""
    world = settled(managers(), hot(2))
    absent = managers(storage_class="absent")
    for name in ("c-managers-0", "c-managers-1", "c-managers-2"):
        lose_volume(world, name)
        claim = world.bodies[name].claim
        assert claim is not None
        claim.capacity, claim.storage_class = 0, "absent"
    return world.edit(pools=[absent, hot(2)], unprovided={"absent"}, identity="", voters=set()).ticks(20)


def test_claims_of_a_class_that_does_not_exist_are_made_again_once_a_user_accepts_the_loss_and_corrects_it() -> None:
    world = lost_with_a_class_that_does_not_exist()
    assert "ManagersLost" in reasons(world)
    world.edit(bootstrap_again=True).ticks(20)
    assert not world.did(a.DeleteVolume), "the spec still asks for them"
    world.edit(pools=[managers(), hot(2)]).run()
    assert set(world.did(a.DeleteVolume)) == {"c-managers-0", "c-managers-1", "c-managers-2"}
    assert world.did(a.GrantBootstrap) == ["c-managers-0"]


def test_a_claim_whose_pod_has_a_node_is_not_made_again_whatever_its_status_says() -> None:
    world = lost_with_a_class_that_does_not_exist().edit(pools=[managers(), hot(2)])
    facts = derive(world.observe(), world.now)
    member = facts.members["c-managers-0"]
    assert member.pod is not None
    assert new_volume(facts, member, facts.pools["managers"]).actions
    placed = replace(member, pod=replace(member.pod, node="node-1"))
    assert not new_volume(facts, placed, facts.pools["managers"]).actions


def test_a_correction_alone_deletes_no_claim_before_a_user_accepts_the_loss() -> None:
    world = lost_with_a_class_that_does_not_exist().edit(pools=[managers(), hot(2)]).ticks(20)
    assert not world.did(a.DeleteVolume)
    world.edit(bootstrap_again=True).run()


def test_a_manager_that_cannot_run_does_not_form_the_new_cluster() -> None:
    world = settled(managers(), hot(2))
    for name in ("c-managers-0", "c-managers-1", "c-managers-2"):
        lose_volume(world, name)
    world.edit(identity="", voters=set(), unschedulable={"c-managers-0"}).ticks(20)
    world.edit(bootstrap_again=True).until(lambda w: bool(w.did(a.GrantBootstrap)))
    assert world.did(a.GrantBootstrap) == ["c-managers-1"]
    assert set(world.did(a.RecordBootstrap)) == {"c-managers-1"}


def test_a_claim_that_is_bound_is_never_made_again() -> None:
    world = settled(managers(), hot(2))
    for name in ("c-managers-0", "c-managers-1", "c-managers-2"):
        lose_volume(world, name)
    world.edit(pools=[managers(storage_class="other"), hot(2)], identity="", voters=set(), bootstrap_again=True)
    world.until(lambda w: bool(w.did(a.GrantBootstrap)))
    assert not world.did(a.DeleteVolume)


def test_managers_that_joined_before_the_database_answered_give_up_their_volumes_before_another_cluster_is_formed() -> (
    None
):
    world = World(managers(), hot()).until(lambda w: bool(w.did(a.GrantBootstrap)))
    world.edit(answers=False).ticks(10)
    joined = ("c-managers-1", "c-managers-2")
    assert all(pod is not None and pod.ready for pod in (world.bodies[name].pod for name in joined))
    assert not any(claim is None or claim.state for claim in (world.bodies[name].claim for name in joined))
    lose_volume(world, "c-managers-0")
    world.log.clear()
    world.edit(bootstrap_again=True, unschedulable={"c-managers-0"}, voters=set(joined)).ticks(10)
    assert "c-managers-1, c-managers-2 may hold the state" in reasons(world)["EarlierVolumes"]
    assert not world.did(a.RecordBootstrap)
    for name in joined:
        lose_volume(world, name)
    world.edit(answers=True, unschedulable=set(), identity="", voters=set()).run()
    assert world.did(a.GrantBootstrap) == ["c-managers-0"]
