"""An upgrade of the operator restarts no member and writes no template; it is reported, and waits for the user."""

from dataclasses import replace as changed

import pytest
from msgspec.structs import replace

from stateward.api.kinds.status import ClusterStatus
from stateward.planning.facts.facts import derive
from stateward.planning.facts.outdated import OUTDATED, outdated_pods
from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from stateward.planning.report.status import status
from tests.unit.planning.world import World, hot, managers, settled

GONE = "ImagePullBackOff: stateward:1.0 not found"


def observed(
    world: World, *, now: str = "2.0", made: str = "1.0", revisions: tuple[int, int] = (1, 1)
) -> o.Observation:
    """Return a cluster under an operator of version `now`, whose objects one of version `made` has written.

    `revisions` are those of the pod templates: of the operator's own, and of what is there.
    """
    found = world.observe()

    def aged(member: o.Member) -> o.Member:
        assert member.workload is not None
        assert member.pod is not None
        workload = replace(member.workload, agent=made, revision=revisions[1])
        return replace(member, workload=workload, pod=replace(member.pod, agent_version=made, revision=revisions[1]))

    desired = replace(found.desired, agent=now, template_revision=revisions[0])
    return replace(found, desired=desired, members=tuple(aged(member) for member in found.members))


def with_trouble(found: o.Observation, name: str, trouble: str) -> o.Observation:
    def broken(member: o.Member) -> o.Member:
        assert member.pod is not None
        return replace(member, pod=replace(member.pod, trouble=trouble, ready=False, running=False))

    return replace(found, members=tuple(broken(m) if m.name == name else m for m in found.members))


@pytest.mark.parametrize("revisions", [(1, 1), (2, 1), (1, 0)])
def test_a_new_version_does_nothing_and_counts_the_pods_of_the_earlier_one(revisions: tuple[int, int]) -> None:
    world = settled(managers(3), hot(3))
    found = observed(world, revisions=revisions)
    made = plan(found, world.now)
    assert made.settled
    assert made.actions == ()
    assert status(found, made, ClusterStatus(), world.now).outdated_pods == 6


@pytest.mark.parametrize(
    ("now", "made", "revisions"), [("2.0", "2.0", (1, 1)), ("2.0", "", (1, 1)), ("", "1.0", (1, 1)), ("1", "1", (1, 2))]
)
def test_pods_are_not_outdated_with_the_same_agent_or_none_or_an_unknown_one_or_after_a_downgrade(
    now: str, made: str, revisions: tuple[int, int]
) -> None:
    world = settled(managers(3), hot(3))
    assert outdated_pods(derive(observed(world, now=now, made=made, revisions=revisions), world.now)) == 0


def test_with_the_users_consent_pods_are_recreated_as_for_a_change_of_the_spec() -> None:
    world = settled(managers(3), hot(3))
    found = replace(observed(world), apply_pending=True)
    made = plan(found, world.now)
    assert [type(action) for action in made.actions] == [a.Stage]
    assert OUTDATED in made.actions[0].why
    (stage,) = [action for action in made.actions if isinstance(action, a.Stage)]
    assert stage.member.startswith("c-hot"), "data members come before managers"


def test_a_member_whose_next_pod_is_written_is_recreated_alone() -> None:
    world = settled(managers(3), hot(3))
    found, first = replace(observed(world), apply_pending=True), "c-hot-0"

    def staged(member: o.Member) -> o.Member:
        assert member.workload is not None
        return replace(member, workload=replace(member.workload, agent="2.0")) if member.name == first else member

    found = replace(found, members=tuple(staged(member) for member in found.members))
    deleted = [each.member for each in plan(found, world.now).actions if isinstance(each, a.DeletePod)]
    assert deleted == [first]


def test_consent_changes_nothing_in_a_cluster_without_outdated_pods() -> None:
    world = settled(managers(3), hot(3))
    assert plan(replace(observed(world, made="2.0"), apply_pending=True), world.now).settled


def test_a_pod_whose_image_is_gone_gets_the_current_template() -> None:
    world = settled(managers(3), hot(3))
    found = observed(world)
    name = found.members[0].name
    made = plan(with_trouble(found, name, GONE), world.now)
    assert [action.member for action in made.actions if isinstance(action, a.Stage)] == [name]
    other = plan(with_trouble(found, name, "CrashLoopBackOff: it ended"), world.now)
    assert not [action for action in other.actions if isinstance(action, a.Stage)]


def test_a_member_that_changes_gets_everything_new_with_it_and_others_get_nothing() -> None:
    world = settled(managers(3), hot(3))
    world.pools = [changed(pool, config={"template/env": "y"}) if pool.name == "hot" else pool for pool in world.pools]
    made = plan(observed(world), world.now)
    staged = [action.member for action in made.actions if isinstance(action, a.Stage)]
    assert len(staged) == 1
    assert staged[0].startswith("c-hot")


def test_a_paused_cluster_is_left_alone() -> None:
    world = settled(managers(3), hot(3))
    found = replace(observed(world), apply_pending=True)
    assert plan(replace(found, desired=replace(found.desired, paused=True)), world.now).actions == ()
