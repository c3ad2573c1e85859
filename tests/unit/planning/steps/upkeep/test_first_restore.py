"""The restore with which a new cluster begins: once, when all members serve, and never again."""

import pytest

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from tests.unit.planning.world import World, hot, managers, settled

ORIGIN = "nightly-* of backups"
HALF = o.Restore("c-bootstrap", message="3 of 8 primaries are not restored yet", snapshot="nightly-1")
WHOLE = o.Restore("c-bootstrap", done=True, snapshot="nightly-1", documents=12)


def beginning() -> World:
    return World(managers(), hot(), from_snapshot=ORIGIN)


def restored(world: World) -> list[str]:
    return [action.why for _, action in world.log if isinstance(action, a.RestoreSnapshot)]


def test_it_begins_once_all_members_serve_and_the_cluster_is_ready_after_it() -> None:
    world = beginning().until(lambda w: bool(restored(w)))
    assert len(world.joined()) == 6, "not before all members serve"
    world.edit(first_restore=HALF).ticks(20)
    assert not world.plan().settled
    assert world.status.forecast is None, "how much there is to restore is not known"
    assert [w.message for w in world.plan().waits] == [
        "the cluster begins with nightly-* of backups: 3 of 8 primaries are not restored yet"
    ]
    world.edit(first_restore=WHOLE).run()
    grant = world.status.bootstrap
    assert grant is not None
    assert (grant.restored_snapshot, grant.restored_documents) == ("nightly-1", 12)
    assert len(restored(world)) == 1


def test_a_member_that_does_not_serve_holds_the_restore_and_nothing_else() -> None:
    world = beginning()
    world.edit(unschedulable={"c-hot-2"}).ticks(40)
    assert not restored(world)
    (wait,) = (w for w in world.plan().waits if w.subject == "spec.bootstrap")
    assert wait.reason == "MembersFirst"
    assert "c-hot-2" in wait.message
    world.edit(unschedulable=set()).until(lambda w: bool(restored(w)))


def test_it_is_never_restored_again_whatever_becomes_of_the_object() -> None:
    world = beginning().until(lambda w: bool(restored(w)))
    world.edit(first_restore=WHOLE).run()
    world.edit(first_restore=None).ticks(20)
    world.edit(first_restore=o.Unknown("forbidden")).ticks(20)
    assert len(restored(world)) == 1
    assert world.plan().settled


def test_an_object_that_was_deleted_before_its_end_is_created_again() -> None:
    world = beginning().until(lambda w: bool(restored(w)))
    world.edit(first_restore=HALF).ticks(3)
    world.edit(first_restore=None).ticks(3)
    assert len(restored(world)) > 1


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (o.Unknown("forbidden"), "RestoreUnknown"),
        (o.Restore("c-bootstrap", ours=False, done=True, snapshot="x"), "RestoreTaken"),
        (o.Restore("c-bootstrap", stalled=True, message="no repository"), "RestoreStalled"),
    ],
    ids=str,
)
def test_what_is_unknown_foreign_or_stalled_waits_and_is_not_recorded(
    found: o.Restore | o.Unknown, reason: str
) -> None:
    world = beginning().edit(first_restore=found).ticks(60)
    assert not restored(world)
    (wait,) = (w for w in world.plan().waits if w.subject == "spec.bootstrap")
    assert wait.reason == reason
    assert wait.stalled is (reason != "RestoreUnknown")
    assert world.status.bootstrap is not None
    assert not world.status.bootstrap.restored_snapshot


def test_a_repository_that_comes_a_moment_later_is_no_stall_yet() -> None:
    world = beginning().edit(first_restore=o.Restore("c-bootstrap", stalled=True, message="no repository"))
    world.until(lambda w: any(wait.reason == "RestoreStalled" for wait in w.status.waiting))
    assert not any(w.stalled for w in world.plan().waits)


def test_members_are_changed_and_repaired_while_the_restore_goes_on() -> None:
    world = beginning().until(lambda w: bool(restored(w)))
    world.edit(first_restore=HALF, version="2.18.0").ticks(200)
    assert {m.version for m in world.status.member_states} == {"2.18.0"}


def test_a_cluster_that_was_formed_without_one_needs_none() -> None:
    world = settled(managers(), hot())
    assert not restored(world)


def test_a_kept_volume_of_a_member_that_is_no_longer_wanted_does_not_hold_the_restore() -> None:
    """The disaster this prevents: a pool shrinks while the cluster forms, and the restore waits for its last member."""
    world = beginning().edit(unschedulable={"c-hot-2"}).ticks(20)
    world.edit(pools=[managers(), hot(2)]).until(lambda w: bool(restored(w)))
    assert world.bodies["c-hot-2"].claim is not None
