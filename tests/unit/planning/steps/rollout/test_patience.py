"""Timeouts and their start: the status may still have the earlier state, in which a member served for days."""

from msgspec.structs import replace

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from tests.unit.planning.world import World, gateway, hot, managers, settled

A = {"config/a": "1"}


def days_later(world: World) -> World:
    """Let the status say that every member has been in its state for days."""
    states = [replace(m, last_transition_time="1970-01-01T00:00:00Z") for m in world.status.member_states]
    world.status = replace(world.status, member_states=states)
    return world


def test_an_evicted_member_comes_back_as_it_was_though_a_change_is_pending() -> None:
    world = days_later(settled(managers(), hot(), gateway(2), indices=((2,),)))
    world.edit(pools=[managers(), hot(), gateway(2, config=A)])
    world.bodies["c-gateway-0"].pod = None
    made = world.plan()
    assert not [x for x in made.actions if isinstance(x, a.Stage) and x.member == "c-gateway-0"]


def test_a_member_that_is_unready_for_a_moment_is_not_recreated_to_apply_a_change() -> None:
    world = days_later(settled(managers(), hot(), indices=((2,),)))
    world.edit(pools=[managers(), hot(config=A)]).tick()
    pod = days_later(world).bodies["c-hot-2"].pod
    assert pod is not None
    pod.ready = False
    observed = world.observe()
    assert "c-hot-2" in {m.name for m in observed.members if m.pod is not None and not m.pod.ready}
    assert not [x for x in plan(observed, world.now).actions if isinstance(x, a.DeletePod)]


def test_a_node_that_left_the_database_for_a_moment_is_not_recreated_to_apply_a_change() -> None:
    world = days_later(settled(managers(), hot(), indices=((2,),)))
    world.edit(pools=[managers(), hot(config=A)]).tick()
    pod = days_later(world).bodies["c-hot-2"].pod
    assert pod is not None
    pod.steps, pod.ready = 0, False
    assert not [x for x in world.plan().actions if isinstance(x, a.DeletePod)]


def test_the_user_may_give_a_pod_without_data_volume_a_claim_of_another_kind() -> None:
    """A claim for snapshots does not make the data of the pod stay: it is drained all the same."""
    world = settled(managers(), hot(ephemeral=True), indices=((2,), (2,)))
    world.edit(pools=[managers(), hot(ephemeral=True, config=A)]).tick()
    observed = world.observe()
    members = tuple(replace(m, pod=replace(m.pod, claims=True) if m.pod else None) for m in observed.members)
    made = plan(replace(observed, members=members), world.now)
    assert not [x for x in made.actions if isinstance(x, a.DeletePod)]
    assert [x for x in made.actions if isinstance(x, a.Drain)] or world.draining


def test_a_member_to_be_replaced_that_does_not_come_back_from_a_restart_is_given_up_once_and_for_all() -> None:
    """Its database has it again and its pod stays unready: it was drained and taken back every ten minutes."""
    world = World(managers(), hot(4))
    world.agents = True
    world.run().index((2,), (2,)).run()
    pod = world.bodies["c-hot-1"].pod
    assert pod is not None
    pod.phase = o.Phase.START_COORDINATED.value
    observe = world.observe

    def unready() -> o.Observation:
        seen = observe()
        own = (
            replace(m, pod=replace(m.pod, ready=False)) if m.name == "c-hot-1" and m.pod else m for m in seen.members
        )
        return replace(seen, members=tuple(own))

    world.observe = unready
    world.edit(policy={"replacement": o.Replacement(replace=frozenset({"c-hot-1"}))})
    world.log.clear()
    world.until(lambda w: "c-hot-1" not in w.bodies or w.bodies["c-hot-1"].workload is None, limit=100)
    drains = [action.members for _, action in world.log if isinstance(action, a.Drain)]
    assert drains == [frozenset({"c-hot-1"})], "it was taken back"
