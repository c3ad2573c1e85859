"""The watchdog of the random runs sees what must not be, with either database; what it misses no run can find."""

import asyncio

import pytest

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.values import names
from stateward.engines.connection.base import Call
from stateward.engines.foundationdb.database.target import FoundationTarget
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.planning.model.observation import Allocation, Database, Unknown
from stateward.simulation.apiserver.audit import Write
from stateward.simulation.apiserver.documents import items
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.campaign.run import Plan, Run
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.http import Rates, Wire, WorldTransport
from stateward.simulation.opensearch.shards import State
from stateward.simulation.properties.invariants import Watchdog
from stateward.simulation.users.foundationdb_edits import VERSIONS
from stateward.simulation.users.foundationdb_pools import pool_of
from stateward.simulation.world.foundationdb_shell import ObservingEngine, WorldShell
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.scenario import PODS, SECRETS, SETS, Scenario, hot, managers

pytestmark = pytest.mark.simulation


def let_go(watchdog: Watchdog, clusters: str, member: Stored) -> list[str]:
    """Return the violations when a member is released right after a live read."""
    watchdog.read(clusters, Key(member.key.namespace, "logs"))
    owners = member.doc["metadata"]["ownerReferences"]
    watchdog.writing(
        Write("patch", SETS, member.key, {"metadata": {"ownerReferences": owners}, "spec": {"replicas": 0}})
    )
    return sorted({violation.property for violation in watchdog.violations})


async def test_a_member_that_holds_the_copies_of_shards_or_votes_is_not_released() -> None:
    with Scenario(managers(1), hot(3)).logged() as scenario:
        await scenario.begin()
        watchdog, held = scenario.run.watchdog, {copy.node for copy in scenario.database.shards[0].copies}
        holder = next(node.name for node in scenario.nodes() if node.id in held)
        for name, properties in ((holder, ["b", "d", "t"]), ("logs-managers-0", ["c", "d"])):
            member = scenario.object(SETS, name)
            assert member is not None
            assert let_go(watchdog, scenario.world.clusters, member) == properties
            watchdog.violations.clear()


async def test_a_copy_on_its_way_to_a_released_member_is_seen() -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin(indices=1)
        (shard,) = scenario.database.shards
        copy = next(copy for copy in shard.copies if copy.active)
        other = next(node for node in scenario.nodes() if node.data and node.id != copy.node)
        shard.copies, copy.target = [copy], other.id
        scenario.database.version += 1
        scenario.run.watchdog.cluster_observed(scenario.database)
        member = scenario.object(SETS, other.name)
        assert member is not None
        assert "b" in let_go(scenario.run.watchdog, scenario.world.clusters, member)


async def test_a_member_whose_volume_has_what_the_database_misses_is_not_released_though_no_node_is_listed() -> None:
    with Scenario(managers(1), hot(3)).logged() as scenario:
        await scenario.begin(indices=1)
        (shard,) = scenario.database.shards
        machine = {node.id: node.container.node for node in scenario.nodes()}
        leader = next(machine[node.id] for node in scenario.nodes() if node.name == "logs-managers-0")
        copy = next(copy for copy in shard.copies if copy.active and machine[copy.node] != leader)
        node = scenario.database.nodes[copy.node]
        copy.primary, shard.copies, shard.in_sync = True, [copy], {copy.allocation}
        scenario.world.databases.isolate(node.container.node, on=True)
        await asyncio.sleep(40.0)
        assert shard.primary.state is State.UNASSIGNED
        scenario.run.watchdog.cluster_observed(scenario.database)
        member = scenario.object(SETS, node.name)
        assert member is not None
        assert "b" in let_go(scenario.run.watchdog, scenario.world.clusters, member)


@pytest.mark.parametrize("restarted", [True, False])
async def test_a_manager_that_was_restarted_lists_only_nodes_that_have_joined_it(
    monkeypatch: pytest.MonkeyPatch, *, restarted: bool
) -> None:
    """The list of nodes is not stored; a manager that goes on lists a lost node until its checks have failed."""
    listed: list[set[str]] = []
    elect = Cluster._elect

    def elected(cluster: Cluster) -> None:
        elect(cluster)
        if cluster.leader:
            listed.append({node.name for node in cluster.nodes.values()})

    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin(indices=0)
        monkeypatch.setattr(Cluster, "_elect", elected)
        found = {node.name: node for node in scenario.nodes()}
        run = next(run for run in scenario.world.kubelets.runs.values() if "managers" in run.pod.name)
        scenario.world.databases.isolate(found["logs-hot-1"].container.node, on=True)
        if restarted:
            scenario.world.kubelets.crash(run, 137, "OOMKilled")
        else:
            scenario.database.leader = ""
            scenario.database.evaluate()
        assert await scenario.until(lambda: bool(listed))
        assert ("logs-hot-1" in listed[0]) is not restarted


async def foundationdb() -> Run:
    """Return a run with a cluster of FoundationDB that is as it should be."""
    pools = [pool_of("storage", "storage", 4), pool_of("log", "log", 4), pool_of("stateless", "stateless", 2)]
    spec = {"version": VERSIONS[0], "pools": pools}
    run = Run(1, Plan(engine="foundationdb", only=frozenset(), quiet_start=True, spec=spec), asyncio.get_running_loop())
    run.processes[0].start()
    run.user.create()
    await asyncio.sleep(600.0)
    assert not run.unmet()
    return run


async def test_a_member_of_foundationdb_is_not_released_before_another_one_is_there() -> None:
    run = await foundationdb()
    member = storage_members(run)[0]
    assert let_go(run.watchdog, run.world.clusters, member) == ["d"]
    run.processes[0].kill()


async def test_before_foundationdb_has_a_database_no_member_serves_so_one_may_leave_first() -> None:
    run = await foundationdb()
    run.processes[0].kill()
    (database,) = run.world.foundationdb.databases.values()
    assert database.cluster is not None
    database.cluster.state.configuration.clear()
    assert let_go(run.watchdog, run.world.clusters, storage_members(run)[0]) == []


def storage_members(run: Run) -> list[Stored]:
    """Return the StatefulSets of storage members without a coordinator."""
    (database,) = run.world.foundationdb.databases.values()
    assert database.cluster is not None
    hosts = {host.partition(".")[0].removesuffix("-0") for host in database.cluster.state.coordinators}
    sets = [stored for stored in run.world.store.all(SETS) if "storage" in stored.key.name]
    return [stored for stored in sets if stored.key.name not in hosts]


async def test_a_member_that_the_database_does_not_list_does_not_serve_though_its_pod_is_ready() -> None:
    run = await foundationdb()
    run.processes[0].kill()
    store, context, processes = run.world.store, run.world.context, run.world.foundationdb
    member = storage_members(run)[0]
    other = next(s for s in store.all(SETS) if "storage" in s.key.name and s.key != member.key)
    pods = [store.get(PODS, Key(s.key.namespace, names.pod(s.key.name))) for s in (member, other)]
    assert pods[0] is not None
    assert pods[1] is not None
    # The spec has one member fewer, and one of the remaining members has joined but is not Ready yet.
    resource = store.get(run.world.clusters, Key(member.key.namespace, "logs"))
    assert resource is not None
    pools = resource.doc["spec"]["pools"]
    fewer = [p | {"replicas": p["replicas"] - ("storage" in p["name"])} for p in pools]
    context.change(resource, ("spec", "pools"), fewer)
    conditions = pods[1].doc["status"]["conditions"]
    context.change(pods[1], ("status", "conditions"), [c | {"status": "False"} for c in conditions])
    await asyncio.sleep(30.0)
    assert let_go(run.watchdog, run.world.clusters, member) == ["d"]
    run.watchdog.violations.clear()
    processes.pods[pods[0].key].cut()
    await asyncio.sleep(30.0)
    (database,) = processes.databases.values()
    run.watchdog.ensemble_observed(database, True)
    assert let_go(run.watchdog, run.world.clusters, member) == []


@pytest.mark.parametrize("process", ["log", "stateless"])
async def test_a_process_of_foundationdb_without_data_may_leave_though_no_more_may_be_lost(*, process: str) -> None:
    run = await foundationdb()
    run.processes[0].kill()
    store, resource = run.world.store, run.world.resource()
    (database,) = run.world.foundationdb.databases.values()
    assert resource is not None
    assert database.cluster is not None
    # Data distribution is off, so the status still says that one more may fail; but a storage server is lost.
    database.cluster.state.distribution = False
    run.world.foundationdb.pods[Key(NAMESPACE, names.pod(storage_members(run)[0].key.name))].cut()
    await asyncio.sleep(30.0)
    run.watchdog.ensemble_observed(database, True)
    member = next(s for s in store.all(SETS) if process in s.key.name)
    spec = {**resource.doc["spec"], "members": {"replaceWithoutDraining": [member.key.name]}}
    run.world.context.change(resource, ("spec",), spec)
    let_go(run.watchdog, run.world.clusters, member)
    told = [v.message for v in run.watchdog.violations if "cannot lose" in v.message]
    assert bool(told) is (process == "log")


async def test_a_member_that_has_joined_is_recorded_before_another_one_stops_if_the_database_is_available() -> None:
    run = await foundationdb()
    run.processes[0].kill()
    store, clusters, watchdog = run.world.store, run.world.clusters, run.watchdog
    first, other = [stored for stored in store.all(PODS) if "storage" in stored.key.name][:2]
    key = Key(first.key.namespace, "logs")
    resource = store.get(clusters, key)
    assert resource is not None
    unrecorded = first.labels[names.LABEL_MEMBER]
    states = items(resource.doc, "status", "memberStates")
    kept = [{**state, "version": ""} if state["name"] == unrecorded else state for state in states]
    run.world.context.change(resource, ("status", "memberStates"), kept)
    (database,) = run.world.foundationdb.databases.values()
    options = DeleteOptions(preconditions=Preconditions(other.uid, other.meta["resourceVersion"]))
    recorded = [f"is stopped before it is recorded that {unrecorded} joined"]
    # If the status says that the database does not serve, nothing tells the operator its members.
    for says, told in ((True, recorded), (False, [])):
        watchdog.violations.clear()
        watchdog.read(clusters, key)
        watchdog.ensemble_observed(database, says)
        watchdog.writing(Write("delete", PODS, other.key, {}, options=options))
        messages = [violation.message for violation in watchdog.violations]
        assert [text.partition(" ")[2] for text in messages if "recorded" in text] == told


async def test_a_requested_stop_waits_for_no_record_if_the_last_observation_was_not_complete() -> None:
    """The nodes were listed, and the time for all answers ended during a later one: the operator knows nothing."""
    with Scenario(managers(1), hot(2), agents=True).logged() as scenario:
        await scenario.begin()
        scenario.process.kill()
        world, watchdog, key = scenario.world, scenario.run.watchdog, Key(NAMESPACE, "logs")
        scenario.user.annotate({names.ANNOTATION_STOPPED: "logs-hot-0"})
        resource = world.resource()
        assert resource is not None
        states = [
            {**s, "version": ""} if s["name"] == "logs-hot-1" else s
            for s in items(resource.doc, "status", "memberStates")
        ]
        world.context.change(resource, ("status", "memberStates"), states)
        (node,) = [node for node in scenario.nodes() if node.name == "logs-hot-0"]
        agent = world.agents.at(node.container.address)
        assert agent is not None
        transport = WorldTransport(
            world.databases, Wire(world.context.stream("test"), world.context.count), answer_lost=watchdog.answer_lost
        )
        for lost in (False, True):
            watchdog.violations.clear()
            await asyncio.sleep(1.0)
            watchdog.read(world.clusters, key)
            watchdog.cluster_observed(scenario.database)
            if lost:
                transport.wire.rates = Rates(slow=1.0)
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(1.0):
                        await transport.send(Call(f"http://{node.container.address}:9200", "GET", "/_nodes/stats"))
            watchdog.stopping(agent)
            said = [v.message for v in watchdog.violations if "recorded" in v.message]
            assert bool(said) is not lost


@pytest.mark.parametrize("again", [True, False])
async def test_a_member_counts_as_the_operator_saw_its_pod_when_it_read_the_pods_last(*, again: bool) -> None:
    with Scenario(managers(1), hot(3)).logged() as scenario:
        await scenario.begin()
        scenario.process.kill()
        world, watchdog, key = scenario.world, scenario.run.watchdog, Key(NAMESPACE, "logs")
        first, other = [stored for stored in world.store.all(PODS) if "hot" in stored.key.name][:2]
        conditions = other.doc["status"]["conditions"]
        world.context.change(other, ("status", "conditions"), [c | {"status": "False"} for c in conditions])
        await asyncio.sleep(1.0)
        watchdog.read(world.clusters, key)
        await asyncio.sleep(1.0)
        stored = world.store.get(PODS, other.key)
        assert stored is not None
        world.context.change(stored, ("status", "conditions"), conditions)
        await asyncio.sleep(1.0)
        if again:
            watchdog.listed(PODS, Selection(NAMESPACE, f"{names.LABEL_CLUSTER}=logs,{names.LABEL_ENGINE}=opensearch"))
        watchdog.cluster_observed(scenario.database)
        options = DeleteOptions(preconditions=Preconditions(first.uid, first.meta["resourceVersion"]))
        watchdog.violations.clear()
        watchdog.writing(Write("delete", PODS, first.key, {}, options=options))
        assert any("are down" in violation.message for violation in watchdog.violations) is not again


@pytest.mark.parametrize("joined", [True, False])
async def test_a_member_that_served_only_in_a_lost_cluster_is_not_missing_in_the_one_in_its_place(
    *, joined: bool
) -> None:
    with Scenario(managers(1), hot(3)).logged() as scenario:
        await scenario.begin()
        scenario.process.kill()
        world, watchdog, database = scenario.world, scenario.run.watchdog, scenario.database
        first, other = [stored for stored in world.store.all(PODS) if "hot" in stored.key.name][:2]
        conditions = [c | {"status": "False"} for c in other.doc["status"]["conditions"]]
        world.context.change(other, ("status", "conditions"), conditions)
        if not joined:
            database.seen.discard(first.labels[names.LABEL_MEMBER])
            database.version += 1
        await asyncio.sleep(1.0)
        watchdog.read(world.clusters, Key(NAMESPACE, "logs"))
        watchdog.cluster_observed(database)
        options = DeleteOptions(preconditions=Preconditions(first.uid, first.meta["resourceVersion"]))
        watchdog.violations.clear()
        watchdog.writing(Write("delete", PODS, first.key, {}, options=options))
        assert any("are down" in violation.message for violation in watchdog.violations) is joined
        assert any("admitted the eviction" in violation.message for violation in watchdog.violations) is joined


@pytest.mark.parametrize("recorded", [True, False])
async def test_a_member_that_was_there_while_no_answer_could_be_read_is_not_missing(*, recorded: bool) -> None:
    with Scenario(managers(1), hot(3)).logged() as scenario:
        await scenario.begin()
        scenario.process.kill()
        run = Watchdog(scenario.world, [])
        first, other = [stored for stored in scenario.world.store.all(PODS) if "hot" in stored.key.name][:2]
        member = other.labels[names.LABEL_MEMBER]
        resource = scenario.world.resource()
        assert resource is not None
        states = [s for s in resource.doc["status"]["memberStates"] if recorded or s["name"] != member]
        for stored in (first, other):
            scenario.world.context.change(stored, ("metadata", "labels", "seen"), "yes")
        scenario.world.context.change(resource, ("status", "memberStates"), [*states, {"name": "logs-hot-9"}])
        (node,) = [node for node in scenario.nodes() if node.name == member]
        del scenario.database.nodes[node.id]
        scenario.database.version += 1
        await asyncio.sleep(1.0)
        run.read(scenario.world.clusters, Key(NAMESPACE, "logs"))
        run.cluster_observed(scenario.database)
        pod = scenario.world.store.get(PODS, first.key)
        assert pod is not None
        options = DeleteOptions(preconditions=Preconditions(pod.uid, pod.meta["resourceVersion"]))
        run.writing(Write("delete", PODS, pod.key, {}, options=options))
        assert any("are down" in violation.message for violation in run.violations) is recorded


async def test_a_command_that_reads_the_status_of_foundationdb_is_not_an_observation() -> None:
    run = await foundationdb()
    run.processes[0].kill()
    stored = run.world.store.get(run.world.clusters, Key(NAMESPACE, "logs"))
    assert stored is not None
    pods = tuple(f"{pod.key.namespace}/{pod.key.name}" for pod in run.world.store.all(PODS))
    target = FoundationTarget(pods, "logs", cluster=stored.view(FoundationDBCluster))
    observed: list[bool] = []
    wire = Wire(run.world.context.stream("test"), run.world.context.count)
    engine = ObservingEngine(WorldShell(run.world.foundationdb, wire, lambda _, serves: observed.append(serves)))
    await engine.limit_allocation(target, Allocation.NONE, frozenset({"logs-storage-0"}))
    assert observed == []
    assert isinstance(await engine.observe(target), Database)
    assert observed == [True]
    await engine.restore_allocation(target)
    assert observed == [True]
    for pod in run.world.foundationdb.pods.values():
        pod.file = pod.file.replace("logs-", "gone-")
    assert isinstance(await engine.observe(target), Unknown)
    assert set(observed[1:]) == {False}


async def test_members_of_a_renamed_pool_count_for_their_role_until_the_new_pool_serves() -> None:
    with Scenario(managers(1), hot(2), hot(1) | {"name": "extra"}).logged() as scenario:
        await scenario.begin()
        scenario.run.processes[0].kill()
        store, watchdog = scenario.world.store, scenario.run.watchdog
        member = scenario.object(SETS, "logs-extra-0")
        assert member is not None
        for replicas, properties in ((2, set[str]()), (3, {"d"})):
            resource = store.get(scenario.world.clusters, Key(member.key.namespace, "logs"))
            assert resource is not None
            pools = [managers(1), hot(replicas) | {"name": "cold"}]
            scenario.world.context.change(resource, ("spec", "pools"), pools)
            assert set(let_go(watchdog, scenario.world.clusters, member)) & {"d"} == properties
            watchdog.violations.clear()


async def test_the_secret_of_a_living_cluster_is_not_deleted_and_one_that_is_there_no_more_cannot_be() -> None:
    with Scenario(managers(1), hot(2), security={"enabled": True}).logged() as scenario:
        await scenario.begin()
        watchdog, secret = scenario.run.watchdog, scenario.object(SECRETS, "logs-admin")
        assert secret is not None
        for uid, properties in (("of an earlier one", []), (secret.uid, ["f"])):
            wanted = DeleteOptions(Preconditions(uid, secret.meta["resourceVersion"]))
            watchdog.writing(Write("delete", SECRETS, secret.key, {}, options=wanted))
            assert [violation.property for violation in watchdog.violations] == properties
        watchdog.violations.clear()


@pytest.mark.parametrize(("looked", "properties"), [(False, []), (True, ["f"])])
async def test_a_round_that_read_its_cluster_before_the_deletion_may_end_its_writes(
    looked: bool, properties: list[str]
) -> None:
    """What it writes to is garbage by then; one that has looked again knows that."""
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()
        watchdog, clusters = scenario.run.watchdog, scenario.world.clusters
        member, key = scenario.object(SETS, "logs-hot-1"), Key(NAMESPACE, "logs")
        cluster = scenario.world.store.get(clusters, key)
        assert member is not None
        assert cluster is not None
        watchdog.read(clusters, key)
        scenario.world.store.remove(cluster)
        if looked:
            watchdog.read(clusters, key)
        watchdog.writing(Write("patch", SETS, member.key, {"spec": {"replicas": 1}}))
        assert [violation.property for violation in watchdog.violations] == properties
        watchdog.violations.clear()
