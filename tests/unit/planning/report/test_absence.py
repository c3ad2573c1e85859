"""Planned and unplanned absence of members: the status tells them apart."""

import pytest

from stateward.planning.facts.facts import OVERDUE
from stateward.planning.model.intent import Absence
from tests.unit.planning.pools import PoolSpec
from tests.unit.planning.world import World, hot, managers, settled

BAD = {"config/a": "bad"}


def cluster(*, agents: bool = False) -> World:
    if not agents:
        return settled(managers(), hot(), indices=((2,),))
    world = World(managers(), hot())
    world.agents = True
    return world.run().index((2,)).run()


def absences(world: World) -> dict[str, str]:
    return {member.name: member.absence for member in world.status.member_states if member.absence}


def away(world: World) -> set[str]:
    return {member.name for member in world.status.member_states if member.not_serving_since_time}


def changed(world: World, *pools: PoolSpec) -> set[str]:
    """Change the pools, and return each kind of absence that the status names until the cluster is settled."""
    world.edit(pools=list(pools))
    found, gone = set[str](), set[str]()
    while not world.tick().settled:
        found |= set(absences(world).values())
        gone |= away(world)
        assert away(world) <= absences(world).keys()
    assert gone
    assert not absences(world)
    return found


@pytest.mark.parametrize("agents", [False, True])
def test_members_that_restart_for_a_change_are_absent_as_planned_until_they_serve(agents: bool) -> None:
    found = changed(cluster(agents=agents), managers(config={"config/a": "1"}), hot(config={"config/a": "1"}))
    assert found == {Absence.PLANNED}


def test_an_absence_is_recorded_as_planned_in_the_round_that_stops_the_member() -> None:
    world = cluster().edit(pools=[managers(), hot(config={"config/a": "1"})])
    world.until(lambda w: bool(absences(w)))
    (stopped,) = absences(world)
    assert absences(world) == {stopped: Absence.PLANNED}
    assert stopped not in away(world)


def test_members_that_are_created_or_let_go_are_absent_as_planned() -> None:
    assert changed(cluster(), managers(), hot(4)) == {Absence.PLANNED}
    assert changed(settled(managers(), hot(4), indices=((2,),)), managers(), hot(3)) <= {Absence.PLANNED}


def test_an_evicted_pod_is_an_unplanned_absence_until_it_serves_also_if_a_change_is_pending() -> None:
    for world in (cluster(), cluster().edit(pools=[managers(), hot(config={"config/a": "1"})])):
        world.kill("c-hot-1").tick()
        assert absences(world)["c-hot-1"] == Absence.UNPLANNED
        world.until(lambda w: "c-hot-1" not in away(w))
        assert absences(world).get("c-hot-1", Absence.NONE) in (Absence.NONE, Absence.PLANNED)


def test_a_member_whose_node_is_lost_during_its_restart_is_absent_without_a_plan() -> None:
    world = cluster().edit(pools=[managers(), hot(config={"config/a": "1"})])
    world.until(lambda w: bool(away(w)))
    (stopped,) = absences(world)
    world.until(lambda w: w.bodies[stopped].pod is not None)
    pod = world.bodies[stopped].pod
    assert pod is not None
    world.dead_nodes.add(pod.node)
    assert absences(world.ticks(1)) == {stopped: Absence.UNPLANNED}


def test_a_member_that_does_not_start_with_its_change_is_absent_without_a_plan() -> None:
    world = cluster().edit(crash={("config/a", "bad")}, pools=[managers(), hot(config=BAD)])
    world.until(lambda w: Absence.UNPLANNED in absences(w).values())
    assert any("does not start" in member.reason for member in world.status.member_states)


def test_a_restart_that_takes_longer_than_all_patience_is_no_planned_absence() -> None:
    world = cluster().edit(pools=[managers(), hot(config={"config/a": "1"})])
    world.until(lambda w: bool(away(w)))
    (stopped,) = absences(world)
    world.stuck.add(stopped)
    world.now += OVERDUE + 60
    world.tick()
    assert absences(world)[stopped] == Absence.UNPLANNED


def test_a_member_that_a_user_keeps_stopped_is_not_absent() -> None:
    world = cluster(agents=True).edit(kept_stopped=frozenset({"c-hot-1"}))
    for _ in range(8):
        world.tick()
        assert "c-hot-1" not in absences(world)
    assert world.status.ready == "5/6"
