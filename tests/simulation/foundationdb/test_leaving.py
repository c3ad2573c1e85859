"""Members of FoundationDB that leave in ways that once stopped the operator of their cluster."""

import asyncio
from itertools import pairwise

import pytest

from stateward.api.values.base import Json
from stateward.kube.client.client import PatchKind
from stateward.kube.objects.metadata import Key
from stateward.planning.model.times import parse_time
from stateward.simulation.apiserver.store import Event
from stateward.simulation.foundationdb import cluster
from stateward.simulation.world.foundationdb_pods import FoundationDBPod
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.foundationdb.scenario import KIND, NAME, SETS, Scenario, pool, pools

pytestmark = pytest.mark.simulation


def when(text: str) -> float:
    return parse_time(text) or 0.0


@pytest.mark.parametrize("dead", [False, True])
async def test_a_coordinator_is_given_up_without_draining_and_nothing_waits_for_it(*, dead: bool) -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        voter = min(scenario.coordinators())
        found = scenario.world.foundationdb.pods.values()
        machine = next(p.container.node for p in found if p.container.pod.name == f"{voter}-0")
        if dead:
            scenario.world.nodes.lose(machine, power=True)
            await asyncio.sleep(10.0)
        scenario.edit(members={"replaceWithoutDraining": [voter]})
        assert await scenario.until(lambda: voter not in scenario.coordinators(), 1200.0), scenario.doing
        assert len(scenario.coordinators()) == 3
        if dead:
            await asyncio.sleep(1800.0)
            scenario.world.nodes.restore(machine)
        scenario.edit(version="7.1.67")
        assert await scenario.settled(7200.0), scenario.doing
        assert voter not in scenario.members()
        assert {p["version"] for p in (await scenario.processes()).values()} == {"7.1.67"}
        assert await scenario.excluded() == []
        assert not scenario.world.databases.damage.losses


async def test_the_only_copy_on_a_lost_machine_is_given_up_only_by_a_user_who_accepts_that() -> None:
    """The database misses it only after a minute, and the user replaced its member before."""
    with Scenario(redundancy="single", volumes={"whenScaled": "Delete"}).logged() as scenario:
        await scenario.begin()
        victim = min(name for name in scenario.members() if "storage" in name and name not in scenario.coordinators())
        found = scenario.world.foundationdb.pods.values()
        machine = next(p.container.node for p in found if p.container.pod.name == f"{victim}-0")
        scenario.world.nodes.lose(machine, power=True)
        await asyncio.sleep(10.0)
        scenario.edit(members={"replaceWithoutDraining": [victim]})
        assert not await scenario.until(lambda: victim in scenario.scaled_to_zero(), 900.0)
        assert not scenario.world.databases.damage.losses
        scenario.world.nodes.restore(machine)
        scenario.edit(members={"replace": [victim], "replaceWithoutDraining": []})
        assert await scenario.settled(7200.0), scenario.doing
        assert victim not in scenario.members()
        assert not scenario.world.databases.damage.losses


async def test_a_new_member_without_a_node_lets_the_old_one_leave_first_where_the_user_prefers_that() -> None:
    with Scenario(capacity=1, update={"surge": "Preferred"}).logged() as scenario:
        await scenario.begin()
        victim = max(m for m in scenario.members() if "storage" in m)
        scenario.edit(members={"replace": [victim]})
        assert await scenario.until(lambda: victim not in scenario.members(), 7200.0), scenario.doing
        assert await scenario.settled(7200.0), scenario.doing
        assert len(scenario.members()) == 12
        assert await scenario.excluded() == []
        scenario.check()


async def test_more_processes_for_each_member_make_no_serving_member_missing() -> None:
    with Scenario(replacement={"enabled": True, "after": "10m"}).logged() as scenario:
        await scenario.begin()
        more = [pool("storage", 5, processesPerMember=2), *pools()[1:]]
        scenario.edit(pools=more)
        for _ in range(60):
            await asyncio.sleep(20.0)
            away = {m["name"]: m["missingSinceTime"] for m in scenario.status["memberStates"] if m.get("missingReason")}
            # A member recreated under its old name is missing until it has joined and the operator has read it.
            long = {
                name for name, since in away.items() if scenario.world.context.clock.timestamp() - when(since) > 60.0
            }
            assert not long & set(await scenario.processes()), scenario.doing
        assert await scenario.settled(14400.0), scenario.doing
        scenario.check()


@pytest.mark.parametrize("agents", [False, True])
@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2)])
async def test_a_restart_of_all_leaves_each_member_the_processes_that_it_was_made_with(
    before: int, after: int, *, agents: bool
) -> None:
    def asked(count: int) -> list[Json]:
        return [pool("storage", 5, processesPerMember=count), *pools()[1:]]

    with Scenario(agents=agents, pools=asked(before)).logged() as scenario:
        await scenario.begin()
        old = {name for name in scenario.members() if "storage" in name}

        def heard(_: str, event: Event) -> None:
            """Forget who leaves: it may come back, empty, under its old name."""
            if event.new is not None and event.new.kind == SETS and not event.new.doc["spec"]["replicas"]:
                old.discard(event.new.key.name)

        scenario.world.store.subscribers.append(heard)
        scenario.edit(pools=asked(after), knobs={"drawn": "1"})

        def running() -> dict[str, FoundationDBPod]:
            """Return the pods of storage members that answer, by their members."""
            found = scenario.world.foundationdb.pods.values()
            named = {pod.container.environment["STATEWARD_MEMBER"]: pod for pod in found if pod.answers}
            return {name: pod for name, pod in named.items() if "storage" in name}

        def restarted() -> bool:
            pods = [pod for name, pod in running().items() if name in old]
            words = [worker.command_line for pod in pods for worker in pod.running.values()]
            return len(pods) == len(old) and all("--knob_drawn=1" in line for line in words)

        assert await scenario.until(restarted, 600.0), scenario.doing
        assert old
        assert {len(pod.running) for name, pod in running().items() if name in old} == {before}
        assert await scenario.settled(14400.0), scenario.doing
        assert not old
        assert {len(pod.running) for pod in running().values()} == {after}
        scenario.check()


async def test_a_member_that_the_database_does_not_release_blocks_no_other_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        monkeypatch.setattr(cluster, "FULL", 0.0)
        scenario.edit(members={"replace": ["logs-storage-1"]})
        assert await scenario.until(lambda: "StepRefused" in scenario.doing, 1200.0), scenario.doing
        assert "below 10%" in scenario.doing
        scenario.edit(pools=pools(log=5), version="7.1.67")
        assert await scenario.until(lambda: "logs-log-4" in scenario.members(), 600.0), scenario.doing
        assert await scenario.until(lambda: scenario.status.get("version") == "7.1.67", 7200.0), scenario.doing
        assert await scenario.excluded() == []
        assert "StepRefused" in scenario.doing
        monkeypatch.undo()
        assert await scenario.settled(7200.0), scenario.doing
        assert "logs-storage-1" not in scenario.members()
        assert await scenario.excluded() == []
        scenario.check()


async def test_of_logs_that_are_given_up_the_second_goes_when_the_database_has_missed_the_first() -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        logs = {m for m in scenario.members() if "log-" in m.removeprefix("logs-")}
        scenario.edit(members={"replaceWithoutDraining": sorted(logs)})
        assert await scenario.until(lambda: not logs & scenario.members(), 1200.0), scenario.doing
        assert await scenario.settled(), scenario.doing
        assert len(scenario.members()) == 12
        assert scenario.unavailable < 60.0
        scenario.check()


async def test_a_member_that_was_out_of_reach_while_all_coordinators_changed_finds_the_database_again() -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        before = scenario.coordinators()
        pods = scenario.world.foundationdb.pods.values()
        alone = next(p.container for p in pods if p.container.pod.name == "logs-log-1-0")
        scenario.world.isolate(alone.node, on=True)
        scenario.world.nodes.cordon(alone.node, on=True)  # a successor that lands there would not join
        scenario.edit(members={"replace": sorted(before)})
        assert await scenario.until(lambda: not before & (scenario.coordinators() | scenario.members()), 7200.0), (
            scenario.doing
        )
        scenario.world.nodes.cordon(alone.node, on=False)
        scenario.world.isolate(alone.node, on=False)
        assert await scenario.settled(), scenario.doing
        assert alone.pod.name.removesuffix("-0") in await scenario.processes()
        assert scenario.world.context.counts["cluster file of before replaced"]
        scenario.check()


async def test_the_operator_never_asks_a_pod_with_an_outdated_cluster_file_in_vain() -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        for _ in range(2):
            await everybody_of(scenario, scenario.coordinators())
        files = {pod.file for pod in scenario.world.foundationdb.pods.values() if pod.alive}
        assert len(files) == 1
        assert await scenario.settled(), scenario.doing
        scenario.check()


async def everybody_of(scenario: Scenario, coordinators: set[str]) -> None:
    """Replace all coordinators."""
    scenario.edit(members={"replace": sorted(coordinators)})
    gone = await scenario.until(lambda: not coordinators & (scenario.coordinators() | scenario.members()), 7200.0)
    assert gone, scenario.doing


async def test_coordinators_change_once_when_all_members_of_their_pool_are_replaced() -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        assert {member.split("-")[1] for member in scenario.coordinators()} == {"storage"}
        seen: list[str] = []

        async def watch() -> None:
            while True:
                assert scenario.database.cluster is not None
                seen.append(scenario.database.cluster.state.generation)
                await asyncio.sleep(0.5)

        watching = asyncio.create_task(watch())
        before = {m for m in scenario.members() if "-storage-" in m}
        scenario.edit(pools=[pool("storage", 5, storage={"size": "512Mi"}), *pools()[1:]])
        assert await scenario.until(lambda: not before & scenario.members(), 14400.0), scenario.doing
        assert await scenario.settled(), scenario.doing
        watching.cancel()
        assert len(set(seen)) == 2, "they were changed once"
        scenario.check()


async def test_a_member_with_a_lost_volume_and_an_unknown_address_is_replaced() -> None:
    with Scenario(where="node").logged() as scenario:
        await scenario.begin()
        victim = "logs-storage-4"
        pods = scenario.world.foundationdb.pods.values()
        machine = next(p.container.node for p in pods if p.container.pod.name == f"{victim}-0")
        scenario.world.nodes.lose(machine, power=True)
        scenario.world.nodes.remove(machine)
        # Its new pod never gets an address: its volume was on that machine.
        before = scenario.pods()[f"{victim}-0"]
        assert await scenario.until(lambda: scenario.pods().get(f"{victim}-0", before) != before, 1200.0), (
            scenario.doing
        )
        await asyncio.sleep(30.0)
        states = [{**m, "address": "" if m["name"] == victim else m.get("address", "")} for m in states_of(scenario)]
        key = Key(NAMESPACE, NAME)
        scenario.world.server.patch(KIND, key, {"status": {"memberStates": states}}, PatchKind.MERGE, "status")
        scenario.edit(members={"replace": [victim]})
        assert await scenario.until(lambda: "address of logs-storage-4 is not known" in scenario.doing, 3600.0), (
            scenario.doing
        )
        assert await scenario.until(lambda: victim not in scenario.members(), 7200.0), scenario.doing
        assert await scenario.settled(), scenario.doing
        assert await scenario.excluded() == []
        scenario.check()


def states_of(scenario: Scenario) -> list[Json]:
    return list(scenario.status["memberStates"])


@pytest.mark.parametrize("dies", [False, True])
async def test_a_minute_passes_between_members_that_leave_also_where_the_operator_dies(*, dies: bool) -> None:
    with Scenario().logged() as scenario:
        await scenario.begin()
        gone: dict[str, float] = {}

        def heard(_: str, event: Event) -> None:
            stored = event.new
            if stored is not None and stored.kind == SETS and not stored.doc["spec"]["replicas"]:
                first = stored.key.name not in gone
                gone.setdefault(stored.key.name, scenario.world.now)
                if dies and first:
                    scenario.process.kill()
                    scenario.world.context.later(2.0, scenario.process.start)

        scenario.world.store.subscribers.append(heard)
        victims = {"logs-storage-1", "logs-log-1", "logs-stateless-1"}
        scenario.edit(members={"replace": sorted(victims)})
        assert await scenario.until(lambda: "RemovalPaced" in scenario.doing, 3600.0), scenario.doing
        assert await scenario.until(lambda: not victims & scenario.members(), 7200.0), scenario.doing
        assert await scenario.settled(), scenario.doing
        times = sorted(gone[name] for name in victims)
        assert all(later - earlier >= 59.0 for earlier, later in pairwise(times)), times
        scenario.check()
