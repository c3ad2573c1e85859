"""A newer agent comes with a member's next pod; only the template is written, and no member restarts for it."""

from dataclasses import replace as changed

from msgspec.structs import replace

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from tests.unit.planning.world import World, hot, managers, settled


def observed(world: World, *, now: str, next_pods: str) -> o.Observation:
    """Return what is there, with agents of `now` in what the operator makes and of `next_pods` in what is there."""
    found = world.observe()
    members = tuple(
        replace(m, workload=replace(m.workload, agent=next_pods)) if m.workload is not None else m
        for m in found.members
    )
    return replace(found, desired=replace(found.desired, agent=now), members=members)


def test_templates_get_the_newer_agent_and_nothing_else_happens() -> None:
    world = settled(managers(3), hot(3))
    made = plan(observed(world, now="2.0", next_pods="1.0"), world.now)
    assert {type(action) for action in made.actions} == {a.Stage}
    assert len(made.actions) == 6
    assert {action.why for action in made.actions} == {"its next pod has the newer agent"}


def test_nothing_is_written_where_the_agent_is_the_same_or_is_none_or_unknown() -> None:
    world = settled(managers(3), hot(3))
    for now, next_pods in (("2.0", "2.0"), ("2.0", ""), ("", "1.0")):
        assert plan(observed(world, now=now, next_pods=next_pods), world.now).settled


def test_a_member_whose_pod_is_to_be_recreated_waits_for_its_turn() -> None:
    """Its template is written then, with everything new in it."""
    world = settled(managers(3), hot(3))
    world.pools = [changed(pool, config={"template/env": "y"}) if pool.name == "hot" else pool for pool in world.pools]
    made = plan(observed(world, now="2.0", next_pods="1.0"), world.now)
    early = [action.member for action in made.actions if isinstance(action, a.Stage) and "agent" in action.why]
    assert all("managers" in member for member in early)


def test_a_paused_cluster_is_left_alone() -> None:
    world = settled(managers(3), hot(3))
    found = observed(world, now="2.0", next_pods="1.0")
    assert plan(replace(found, desired=replace(found.desired, paused=True)), world.now).actions == ()
