"""New members: those that have just joined count soon, and those whose machine is lost before that are replaced."""

from typing import Any

import msgspec
import pytest

from stateward.planning.model import actions as a
from stateward.planning.model import observation as o
from stateward.planning.plan import plan
from tests.unit.planning.pools import GIB, hot, managers
from tests.unit.planning.steps.membership.test_replacement import DUE, cluster, fail, missing
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
def test_the_first_manager_stays_until_new_managers_can_take_over(*, joined: bool) -> None:
    world = settled(managers(), hot())
    world.edit(pools=[managers(config=A), hot()])
    found = plan(seen(world, joined=joined), world.now)
    goes = [action for action in found.actions if isinstance(action, a.Stage) and action.member == world.leader]
    assert bool(goes) is not joined
    waits = [w.message for w in found.waits if w.subject == world.leader]
    assert any("is down, and managers stop one at a time" in text for text in waits) is joined, waits


@pytest.mark.parametrize("agents", [True, False])
def test_the_first_manager_gives_its_vote_to_one_that_serves_and_is_not_recorded_yet(*, agents: bool) -> None:
    world = World(managers(2), hot())
    world.agents = agents
    world.run()
    first = world.leader
    world.edit(pools=[managers(2, config=A), hot()])
    for _ in range(20):
        observed = world.observe()
        database = observed.database
        assert isinstance(database, o.Database)
        records = {name: record for name, record in observed.records.items() if name == first or "hot" in name}
        alone = msgspec.structs.replace(database, voters=frozenset({first}))
        found = plan(msgspec.structs.replace(observed, records=records, database=alone), world.now)
        assert not [t for t in found.actions if isinstance(t, a.StopProcess | a.DeletePod) and t.member == first]
        moved = [action for action in found.actions if isinstance(action, a.ExcludeVoters) and first in action.members]
        if moved:
            return
        world.tick()
    pytest.fail("the vote never moves")


@pytest.mark.parametrize("agents", [True, False])
def test_a_member_that_serves_for_the_first_time_is_written_down_before_it_is_taken_down(*, agents: bool) -> None:
    # Otherwise an operator that dies in between would not count missing members, and would stop the next one.
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
    assert "first records" in made.intents["c-hot-2"].sentence
    world.run()
    assert sorted(world.did(a.StopProcess if agents else a.DeletePod)) == ["c-hot-0", "c-hot-1", "c-hot-2"]


def test_a_member_that_never_joins_is_reported_after_ten_minutes_and_leaves_when_a_user_requests_it() -> None:
    world = settled(managers(), hot(), indices=((2,), (2,)))
    world.edit(hang={("config/a", "1")}, pools=[managers(), hot(), hot(1, "warm", config=A)]).ticks(50)
    assert "NeverJoined" not in {wait.reason for wait in world.plan().waits}
    world.ticks(20)
    (said,) = [wait for wait in world.plan().waits if wait.reason == "NeverJoined"]
    assert (said.subject, said.stalled) == ("c-warm-0", False)
    world.ticks(20)
    (said,) = [wait for wait in world.plan().waits if wait.reason == "NeverJoined"]
    assert (said.subject, said.stalled) == ("c-warm-0", True)
    listed = frozenset({"c-warm-0"})
    world.edit(hang=set(), policy={"replacement": o.Replacement(replace=listed, undrained=listed)}).run()
    assert [name for name in world.bodies if "warm" in name and world.bodies[name].workload is not None] == ["c-warm-1"]
    assert "NeverJoined" not in {wait.reason for wait in world.plan().waits}


@pytest.mark.parametrize("why", ["seen before", "in the database", "crashes", "no answer"])
def test_a_member_that_is_missing_or_broken_or_may_be_in_the_database_is_not_reported_as_never_joined(
    why: str,
) -> None:
    world = settled(managers(), hot(), indices=((2,), (2,)))
    bad = {("config/a", "1")}
    world.edit(hang=bad, pools=[managers(), hot(), hot(1, "warm", config=A)]).ticks(70)
    observed = world.observe()
    assert "NeverJoined" in {wait.reason for wait in plan(observed, world.now).waits}
    database = observed.database
    assert isinstance(database, o.Database)
    if why == "seen before":
        record = o.Record(version=world.version)
        observed = msgspec.structs.replace(observed, records={**observed.records, "c-warm-0": record})
    if why == "in the database":
        node = msgspec.structs.replace(database.nodes["c-hot-0"], name="c-warm-0")
        database = msgspec.structs.replace(database, nodes={**database.nodes, "c-warm-0": node})
        observed = msgspec.structs.replace(observed, database=database)
    if why == "crashes":
        members = tuple(
            msgspec.structs.replace(m, pod=msgspec.structs.replace(m.pod, trouble="CrashLoopBackOff: it ended"))
            if m.name == "c-warm-0" and m.pod is not None
            else m
            for m in observed.members
        )
        observed = msgspec.structs.replace(observed, members=members)
    if why == "no answer":
        observed = msgspec.structs.replace(observed, database=o.Unknown("no answer"))
    assert "NeverJoined" not in {wait.reason for wait in plan(observed, world.now).waits}


def never_started(world: World, **changes: Any) -> o.Observation:
    """Return the observation with the pod of c-warm-0 on its node, and none of its containers started."""
    observed = world.observe()
    pod = {"running": False, "ready": False, "node": "node-1", "created": 0.0, **changes}
    members = tuple(
        msgspec.structs.replace(m, pod=msgspec.structs.replace(m.pod, **pod)) if m.name == "c-warm-0" and m.pod else m
        for m in observed.members
    )
    return msgspec.structs.replace(observed, members=members)


@pytest.mark.parametrize("joined", [False, True])
def test_a_pod_whose_containers_do_not_start_is_reported_after_ten_minutes(*, joined: bool) -> None:
    # Found by a real volume that was lost before its new member had started: nothing was said, for ever.
    world = settled(managers(), hot(), indices=((2,), (2,)))
    world.edit(hang={("config/a", "1")}, pools=[managers(), hot(), hot(1, "warm", config=A)]).ticks(50)
    assert "PodNotStarting" not in {wait.reason for wait in plan(never_started(world), world.now).waits}
    world.ticks(20)
    observed = never_started(world)
    if joined:
        records = {**observed.records, "c-warm-0": o.Record(version=world.version)}
        observed = msgspec.structs.replace(observed, records=records)
    (said,) = [wait for wait in plan(observed, world.now).waits if wait.reason == "PodNotStarting"]
    assert said.subject == "c-warm-0"
    assert "on node-1" in said.message
    assert not said.stalled


@pytest.mark.parametrize(
    ("why", "changes"),
    [
        ("a new pod", {"created": 1e12}),
        ("no node yet", {"node": ""}),
        ("stops", {"terminating": True}),
        ("crashes", {"trouble": "CrashLoopBackOff: it ended"}),
        ("node lost", {"node_ready": False}),
        ("runs", {"running": True}),
    ],
)
def test_a_pod_that_is_new_or_has_another_reason_is_not_reported_as_not_starting(
    why: str, changes: dict[str, Any]
) -> None:
    world = settled(managers(), hot(), indices=((2,), (2,)))
    world.edit(hang={("config/a", "1")}, pools=[managers(), hot(), hot(1, "warm", config=A)]).ticks(70)
    waits = plan(never_started(world, **changes), world.now).waits
    assert "PodNotStarting" not in {wait.reason for wait in waits}, why


@pytest.mark.parametrize("enabled", [False, True])
def test_a_running_member_outside_of_the_database_is_reported_if_it_is_not_replaced(enabled: bool) -> None:
    world = settled(managers(), hot(), indices=((2,), (2,)))
    world.edit(policy={"replacement": o.Replacement(enabled=enabled)})
    observed = world.observe()
    database = observed.database
    assert isinstance(database, o.Database)
    without = {name: node for name, node in database.nodes.items() if name != "c-hot-0"}
    members = tuple(
        msgspec.structs.replace(m, pod=msgspec.structs.replace(m.pod, ready=False, created=0.0))
        if m.name == "c-hot-0" and m.pod
        else m
        for m in observed.members
    )
    database = msgspec.structs.replace(database, nodes=without)
    for seconds, told in ((599.0, False), (601.0, True)):
        away = {**observed.away, "c-hot-0": world.now - seconds}
        seen = msgspec.structs.replace(observed, members=members, database=database, away=away)
        said = {wait.subject for wait in plan(seen, world.now).waits if wait.reason == "NotInCluster"}
        assert said == ({"c-hot-0"} if told and not enabled else set())


@pytest.mark.parametrize("recorded", [False, True])
def test_a_person_is_asked_to_give_up_a_member_only_if_the_database_answers_and_it_does_not_join(
    *, recorded: bool
) -> None:
    """No member could join for a quarter of an hour, and each was to be given up in the second after that."""
    world = settled(managers(), hot(), indices=((2,), (2,)))
    observed = world.observe()
    assert isinstance(observed.database, o.Database)
    members = tuple(
        msgspec.structs.replace(m, pod=msgspec.structs.replace(m.pod, ready=False, created=0.0))
        if m.name == "c-hot-0" and m.pod
        else m
        for m in observed.members
    )
    nodes = {name: node for name, node in observed.database.nodes.items() if name != "c-hot-0"}
    records = {name: record for name, record in observed.records.items() if recorded or name != "c-hot-0"}
    reason = "NotInCluster" if recorded else "NeverJoined"
    for waited, asked in ((None, False), (120.0, False), (121.0, True)):
        seen = msgspec.structs.replace(
            observed,
            members=members,
            database=msgspec.structs.replace(observed.database, nodes=nodes),
            away={"c-hot-0": world.now - 900.0},
            records=records,
            waits={} if waited is None else {f"c-hot-0 {reason}": world.now - waited},
        )
        (said,) = (wait for wait in plan(seen, world.now).waits if wait.subject == "c-hot-0")
        assert (said.reason, said.stalled, "replaceWithoutDraining" in said.message) == (reason, asked, asked)


def test_a_member_whose_new_volume_never_existed_is_new_although_the_status_records_its_predecessor() -> None:
    world = settled(managers(), hot(2), indices=((2,), (2,)))
    larger = hot(2, size=20 * GIB)
    world.edit(expandable=False, pools=[managers(), larger])
    world.until(lambda w: bool(w.draining))
    successor = world.bodies["c-hot-2"]
    assert successor.workload is not None
    assert "c-hot-2" in world.observe().records
    # Its volume and its pod are gone, and its StatefulSet is left; it comes back with a volume that cannot be made.
    successor.workload.replicas, successor.pod, successor.claim = 0, None, None
    for index in world.indices:
        index.copies = [copy for copy in index.copies if "c-hot-2" not in (copy.member, copy.target)]
    world.edit(unprovided={"nowhere"}, pools=[managers(), hot(2, size=20 * GIB, storage_class="nowhere")])
    world.until(lambda w: w.bodies["c-hot-2"].claim is not None)
    assert "c-hot-2" in world.observe().records
    world.edit(pools=[managers(), larger]).run()
    hots = [world.bodies[name] for name in world.pods() if "hot" in name]
    assert [body.claim.capacity for body in hots if body.claim is not None] == [20 * GIB, 20 * GIB]


def test_members_of_a_removed_pool_that_a_setting_keeps_out_ask_for_their_pool_and_not_for_their_replacement() -> None:
    """The disaster this prevents: the pool is renamed with the correction, and the user gives up the only data."""
    world = settled(managers(), hot(1), indices=((1,),))
    pod = world.bodies["c-hot-0"].pod
    assert pod is not None
    pod.inputs["config/a"], pod.steps = "bad", 0
    world.edit(hang={("config/a", "bad")}, pools=[managers(), hot(1, "warm")]).ticks(100)
    waits = {w.reason: w for w in world.plan().waits if w.subject == "c-hot-0"}
    assert "NotInCluster" not in waits
    assert waits["PoolNeeded"].stalled
    assert waits["PoolNeeded"].message.endswith("and it can only be repaired with pool hot in the spec")
    world.edit(pools=[managers(), hot(1), hot(1, "warm")]).run()
    world.edit(pools=[managers(), hot(1, "warm")]).run()
    assert world.did(a.Release) == ["c-hot-0"]


def new_member_whose_machine_is_lost() -> World:
    """Return a world in which the node of the new member c-hot-3 dies when its pod has started there."""
    world = cluster(3).edit(pools=[managers(), hot(4)])
    while not (body := world.bodies.get("c-hot-3")) or body.pod is None or not body.pod.node:
        world.ticks(1)
    return fail(world, "c-hot-3")


def test_a_new_member_whose_machine_is_lost_before_it_has_joined_is_replaced_too() -> None:
    world = new_member_whose_machine_is_lost().ticks(DUE - 5)
    assert missing(world, "c-hot-3") == "NodeNotReady"
    assert not world.did(a.RecordRemoval)
    world.ticks(40)
    assert world.did(a.RecordRemoval) == ["c-hot-3"]
    assert "c-hot-4" in world.joined()


def test_the_volume_of_a_new_member_on_a_lost_machine_does_not_hold_its_place_forever() -> None:
    world = new_member_whose_machine_is_lost().ticks(5)
    world.bodies["c-hot-3"].pod = None  # It is deleted with its Kubernetes node.
    world.ticks(5)
    assert "Unschedulable" in [body.pod.trouble.split(":")[0] for body in world.bodies.values() if body.pod]
    world.ticks(DUE + 35)
    assert world.did(a.RecordRemoval) == ["c-hot-3"]
    assert "c-hot-4" in world.joined()


def test_a_new_member_that_only_finds_no_room_is_not_replaced() -> None:
    world = cluster(3)
    world.unschedulable.add("c-hot-3")
    world.edit(pools=[managers(), hot(4)]).ticks(DUE + 40)
    assert missing(world, "c-hot-3") == ""
    assert not world.did(a.RecordRemoval)


def test_a_new_member_whose_machine_comes_back_in_time_joins() -> None:
    world = new_member_whose_machine_is_lost().ticks(DUE - 5)
    world.dead_nodes.clear()
    world.run()
    assert not world.did(a.RecordRemoval)
    assert missing(world, "c-hot-3") == ""
