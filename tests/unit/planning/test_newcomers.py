"""Members that have joined for the first time: nobody counts on them yet, and soon everybody does."""

import msgspec
import pytest

from stateward.planning import actions as a
from stateward.planning import observation as o
from stateward.planning.plan import plan
from tests.unit.planning.pools import hot, managers
from tests.unit.planning.world import World, settled

A = {"config/a": "1"}


def seen(world: World, *, joined: bool) -> o.Observation:
    """Return what is seen while only the elected manager serves; the others have joined and are not ready, or start."""
    observed, first = world.observe(), world.leader
    others = {m.name for m in observed.members if m.pool == "managers"} - {first}
    database = observed.database
    assert isinstance(database, o.Database)
    nodes = {name: node for name, node in database.nodes.items() if joined or name not in others}
    members = tuple(
        msgspec.structs.replace(m, pod=msgspec.structs.replace(m.pod, ready=False))
        if m.name in others and m.pod is not None
        else m
        for m in observed.members
    )
    records = {name: record for name, record in observed.records.items() if name not in others}
    found = msgspec.structs.replace(database, nodes=nodes, voters=frozenset({first}))
    return msgspec.structs.replace(observed, database=found, members=members, records=records)


@pytest.mark.parametrize("joined", [True, False])
def test_the_first_manager_stays_until_those_who_have_just_joined_can_take_over(*, joined: bool) -> None:
    world = settled(managers(), hot())
    world.edit(pools=[managers(config=A), hot()])
    found = plan(seen(world, joined=joined), world.now)
    goes = [action for action in found.actions if isinstance(action, a.Stage) and action.member == world.leader]
    assert bool(goes) is not joined
    waits = [w.message for w in found.waits if w.subject == world.leader]
    assert any("managers go one at a time" in text for text in waits) is joined, waits


@pytest.mark.parametrize("agents", [True, False])
def test_who_serves_for_the_first_time_is_written_down_before_it_is_taken_down(*, agents: bool) -> None:
    # Were it not, an operator that dies in between would count on nobody who is away, and take the next one down.
    world = World(managers(), hot())
    world.agents = agents
    world.run()
    world.log.clear()
    world.edit(pools=[managers(), hot(config=A)])
    made = world.plan()
    for _ in range(20):
        states = [state for state in world.status.member_states if not state.name.startswith("c-hot")]
        world.status = msgspec.structs.replace(world.status, member_states=states)
        made = world.tick()
    assert not world.did(a.StopProcess)
    assert not world.did(a.DeletePod)
    assert "written down" in made.intents["c-hot-2"].sentence
    world.run()
    assert sorted(world.did(a.StopProcess if agents else a.DeletePod)) == ["c-hot-0", "c-hot-1", "c-hot-2"]
