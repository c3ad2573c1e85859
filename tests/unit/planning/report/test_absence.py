"""Planned and unplanned absence of members: the status tells them apart."""

import pytest

from stateward.api.kinds.status import MemberStatus
from stateward.planning.facts.facts import OVERDUE
from stateward.planning.model.intent import Absence, State
from stateward.planning.model.observation import Replacement
from stateward.planning.report.comes_back import comes_back
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


AWAY = "2026-11-21T11:30:00Z"


@pytest.mark.parametrize(
    ("state", "absence", "away", "back"),
    [
        (State.DOWN, Absence.PLANNED, AWAY, True),
        (State.STARTING, Absence.PLANNED, AWAY, True),
        (State.RESTARTING, Absence.PLANNED, AWAY, True),
        (State.RESTARTING, Absence.PLANNED, "", False),
        (State.RESTARTING, Absence.UNPLANNED, AWAY, False),
        (State.DOWN, Absence.UNPLANNED, AWAY, False),
        (State.LEAVING, Absence.PLANNED, AWAY, False),
        (State.READY, Absence.NONE, "", False),
    ],
)
def test_a_member_comes_back_if_a_step_has_stopped_it_and_nothing_has_gone_wrong(
    state: State, absence: Absence, away: str, back: bool
) -> None:
    assert comes_back(MemberStatus(name="c-hot-1", state=state, absence=absence, not_serving_since_time=away)) is back


def replaced_if_missing(*, agents: bool = False) -> World:
    """Return a cluster that restarts its data members, and replaces members that stay missing."""
    world = cluster(agents=agents).edit(pools=[managers(), hot(config={"config/a": "1"})])
    return world.edit(policy={"replacement": Replacement(enabled=True, after=2 * OVERDUE, taints={"drain": OVERDUE})})


def announced(world: World) -> set[str]:
    """Return the members of which the status says when they are replaced."""
    return {wait.subject for wait in world.status.waiting if wait.reason == "Missing"}


@pytest.mark.parametrize("agents", [False, True])
def test_the_replacement_of_a_member_that_a_step_has_stopped_is_not_announced(*, agents: bool) -> None:
    world = replaced_if_missing(agents=agents)
    planned = set[str]()
    while not world.tick().settled:
        planned |= {wait.subject for wait in world.plan().waits if wait.reason == "Missing"}
        assert not announced(world)
    assert len(planned) == 3, "the plan knows when it would replace them"


@pytest.mark.parametrize("agents", [False, True])
def test_the_replacement_of_a_member_that_does_not_come_back_from_its_step_is_announced(*, agents: bool) -> None:
    lost, late = replaced_if_missing(agents=agents), replaced_if_missing(agents=agents)
    for world in (lost, late):
        world.until(lambda w: bool(away(w)))
        (stopped,) = absences(world)
        assert not announced(world)
        if world is lost:
            world.until(lambda w, name=stopped: (pod := w.bodies[name].pod) is not None and bool(pod.node))
            world.dead_nodes.add(f"node-{stopped.removeprefix('c-')}")
        else:
            world.stuck.add(stopped)
            world.now += OVERDUE + 60
        assert announced(world.ticks(1)) == {stopped}


def test_the_replacement_of_a_member_on_a_tainted_node_is_announced_until_its_restart_stops_it() -> None:
    world = replaced_if_missing()
    world.taints = {f"node-hot-{number}": ["drain"] for number in range(3)}
    world.until(lambda w: bool(away(w)))
    (stopped,) = absences(world)
    assert announced(world) == {"c-hot-0", "c-hot-1", "c-hot-2"} - {stopped}


def test_the_replacement_of_an_evicted_member_is_announced_at_once() -> None:
    assert announced(replaced_if_missing().kill("c-hot-1").ticks(1)) == {"c-hot-1"}
