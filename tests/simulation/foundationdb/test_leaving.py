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
from stateward.simulation.world.foundationdb_pods import FoundationPod
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.foundationdb.story import KIND, NAME, SETS, Story, pool, pools

pytestmark = pytest.mark.simulation


def when(text: str) -> float:
    return parse_time(text) or 0.0


@pytest.mark.parametrize("dead", [False, True])
async def test_a_coordinator_is_given_up_without_draining_and_nothing_waits_for_it(*, dead: bool) -> None:
    with Story().told() as story:
        await story.begin()
        voter = min(story.coordinators())
        found = story.world.foundations.pods.values()
        machine = next(p.container.node for p in found if p.container.pod.name == f"{voter}-0")
        if dead:
            story.world.nodes.lose(machine, power=True)
            await asyncio.sleep(10.0)
        story.edit(members={"replaceWithoutDraining": [voter]})
        assert await story.until(lambda: voter not in story.coordinators(), 1200.0), story.doing
        assert len(story.coordinators()) == 3
        if dead:
            await asyncio.sleep(1800.0)
            story.world.nodes.restore(machine)
        story.edit(version="7.1.67")
        assert await story.settled(7200.0), story.doing
        assert voter not in story.members()
        assert {p["version"] for p in (await story.processes()).values()} == {"7.1.67"}
        assert await story.excluded() == []
        assert not story.world.databases.damage.losses


async def test_a_new_member_without_a_node_lets_the_old_one_leave_first_where_the_user_prefers_that() -> None:
    with Story(capacity=1, update={"surge": "Preferred"}).told() as story:
        await story.begin()
        victim = max(m for m in story.members() if "storage" in m)
        story.edit(members={"replace": [victim]})
        assert await story.until(lambda: victim not in story.members(), 7200.0), story.doing
        assert await story.settled(7200.0), story.doing
        assert len(story.members()) == 12
        assert await story.excluded() == []
        story.check()


async def test_more_processes_for_each_member_make_nobody_missing_who_serves() -> None:
    with Story(replacement={"enabled": True, "after": "10m"}).told() as story:
        await story.begin()
        more = [pool("storage", 5, processesPerMember=2), *pools()[1:]]
        story.edit(pools=more)
        for _ in range(60):
            await asyncio.sleep(20.0)
            away = {m["name"]: m["missingSince"] for m in story.status["memberStates"] if m.get("missing")}
            # One that is made anew under its old name is away until it has joined, and the operator has looked again.
            long = {name for name, since in away.items() if story.world.ground.clock.timestamp() - when(since) > 60.0}
            assert not long & set(await story.processes()), story.doing
        assert await story.settled(14400.0), story.doing
        story.check()


@pytest.mark.parametrize("agents", [False, True])
@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2)])
async def test_a_restart_of_all_leaves_each_member_the_processes_that_it_was_made_with(
    before: int, after: int, *, agents: bool
) -> None:
    def asked(count: int) -> list[Json]:
        return [pool("storage", 5, processesPerMember=count), *pools()[1:]]

    with Story(agents=agents, pools=asked(before)).told() as story:
        await story.begin()
        old = {name for name in story.members() if "storage" in name}

        def heard(_: str, event: Event) -> None:
            """Forget who leaves: it may come back, empty, under its old name."""
            if event.new is not None and event.new.kind == SETS and not event.new.doc["spec"]["replicas"]:
                old.discard(event.new.key.name)

        story.world.store.subscribers.append(heard)
        story.edit(pools=asked(after), knobs={"drawn": "1"})

        def running() -> dict[str, FoundationPod]:
            """Return the pods of storage members that answer, by their members."""
            found = story.world.foundations.pods.values()
            named = {pod.container.environment["STATEWARD_MEMBER"]: pod for pod in found if pod.answers}
            return {name: pod for name, pod in named.items() if "storage" in name}

        def restarted() -> bool:
            pods = [pod for name, pod in running().items() if name in old]
            words = [worker.command_line for pod in pods for worker in pod.running.values()]
            return len(pods) == len(old) and all("--knob_drawn=1" in line for line in words)

        assert await story.until(restarted, 600.0), story.doing
        assert old
        assert {len(pod.running) for name, pod in running().items() if name in old} == {before}
        assert await story.settled(14400.0), story.doing
        assert not old
        assert {len(pod.running) for pod in running().values()} == {after}
        story.check()


async def test_a_member_that_the_database_will_not_let_go_holds_nothing_else_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Story().told() as story:
        await story.begin()
        monkeypatch.setattr(cluster, "FULL", 0.0)
        story.edit(members={"replace": ["logs-storage-1"]})
        assert await story.until(lambda: "StepRefused" in story.doing, 1200.0), story.doing
        assert "below 10%" in story.doing
        story.edit(pools=pools(log=5), version="7.1.67")
        assert await story.until(lambda: "logs-log-4" in story.members(), 600.0), story.doing
        assert await story.until(lambda: story.status.get("version") == "7.1.67", 7200.0), story.doing
        assert await story.excluded() == []
        assert "StepRefused" in story.doing
        monkeypatch.undo()
        assert await story.settled(7200.0), story.doing
        assert "logs-storage-1" not in story.members()
        assert await story.excluded() == []
        story.check()


async def test_of_logs_that_are_given_up_the_second_goes_when_the_database_has_missed_the_first() -> None:
    with Story().told() as story:
        await story.begin()
        logs = {m for m in story.members() if "log-" in m.removeprefix("logs-")}
        story.edit(members={"replaceWithoutDraining": sorted(logs)})
        assert await story.until(lambda: not logs & story.members(), 1200.0), story.doing
        assert await story.settled(), story.doing
        assert len(story.members()) == 12
        assert story.unavailable < 60.0
        story.check()


async def test_who_was_out_of_reach_while_all_coordinators_changed_finds_the_database_again() -> None:
    with Story().told() as story:
        await story.begin()
        before = story.coordinators()
        pods = story.world.foundations.pods.values()
        alone = next(p.container for p in pods if "-log-" in p.container.pod.name)
        story.world.isolate(alone.node, on=True)
        story.world.nodes.cordon(alone.node, on=True)  # a successor that lands there would not join
        story.edit(members={"replace": sorted(before)})
        assert await story.until(lambda: not before & (story.coordinators() | story.members()), 7200.0), story.doing
        story.world.nodes.cordon(alone.node, on=False)
        story.world.isolate(alone.node, on=False)
        assert await story.settled(), story.doing
        assert alone.pod.name.removesuffix("-0") in await story.processes()
        assert story.world.ground.counts["cluster file of before replaced"]
        story.check()


async def test_a_pod_whose_processes_follow_each_change_of_coordinators_is_asked_by_nobody_in_vain() -> None:
    with Story().told() as story:
        await story.begin()
        for _ in range(2):
            await everybody_of(story, story.coordinators())
        files = {pod.file for pod in story.world.foundations.pods.values() if pod.alive}
        assert len(files) == 1
        assert await story.settled(), story.doing
        story.check()


async def everybody_of(story: Story, coordinators: set[str]) -> None:
    """Replace all coordinators."""
    story.edit(members={"replace": sorted(coordinators)})
    gone = await story.until(lambda: not coordinators & (story.coordinators() | story.members()), 7200.0)
    assert gone, story.doing


async def test_coordinators_change_once_when_all_members_of_their_pool_are_replaced() -> None:
    with Story().told() as story:
        await story.begin()
        assert {member.split("-")[1] for member in story.coordinators()} == {"storage"}
        seen: list[str] = []

        async def watch() -> None:
            while True:
                assert story.database.cluster is not None
                seen.append(story.database.cluster.state.generation)
                await asyncio.sleep(0.5)

        watching = asyncio.create_task(watch())
        before = {m for m in story.members() if "-storage-" in m}
        story.edit(pools=[pool("storage", 5, storage={"size": "512Mi"}), *pools()[1:]])
        assert await story.until(lambda: not before & story.members(), 14400.0), story.doing
        assert await story.settled(), story.doing
        watching.cancel()
        assert len(set(seen)) == 2, "they were changed once"
        story.check()


async def test_a_member_is_replaced_that_is_lost_with_its_volume_and_whose_address_nobody_knows() -> None:
    with Story(where="node").told() as story:
        await story.begin()
        victim = "logs-storage-4"
        pods = story.world.foundations.pods.values()
        machine = next(p.container.node for p in pods if p.container.pod.name == f"{victim}-0")
        story.world.nodes.lose(machine, power=True)
        story.world.nodes.remove(machine)
        # Its new pod never gets an address: its volume was on that machine.
        before = story.pods()[f"{victim}-0"]
        assert await story.until(lambda: story.pods().get(f"{victim}-0", before) != before, 1200.0), story.doing
        await asyncio.sleep(30.0)
        states = [{**m, "address": "" if m["name"] == victim else m.get("address", "")} for m in states_of(story)]
        key = Key(NAMESPACE, NAME)
        story.world.server.patch(KIND, key, {"status": {"memberStates": states}}, PatchKind.MERGE, "status")
        story.edit(members={"replace": [victim]})
        assert await story.until(lambda: "address of logs-storage-4 is not known" in story.doing, 3600.0), story.doing
        assert await story.until(lambda: victim not in story.members(), 7200.0), story.doing
        assert await story.settled(), story.doing
        assert await story.excluded() == []
        story.check()


def states_of(story: Story) -> list[Json]:
    return list(story.status["memberStates"])


@pytest.mark.parametrize("dies", [False, True])
async def test_a_minute_passes_between_members_that_leave_also_where_the_operator_dies(*, dies: bool) -> None:
    with Story().told() as story:
        await story.begin()
        gone: dict[str, float] = {}

        def heard(_: str, event: Event) -> None:
            stored = event.new
            if stored is not None and stored.kind == SETS and not stored.doc["spec"]["replicas"]:
                first = stored.key.name not in gone
                gone.setdefault(stored.key.name, story.world.now)
                if dies and first:
                    story.process.kill()
                    story.world.ground.later(2.0, story.process.start)

        story.world.store.subscribers.append(heard)
        victims = {"logs-storage-1", "logs-log-1", "logs-stateless-1"}
        story.edit(members={"replace": sorted(victims)})
        assert await story.until(lambda: "RemovalPaced" in story.doing, 3600.0), story.doing
        assert await story.until(lambda: not victims & story.members(), 7200.0), story.doing
        assert await story.settled(), story.doing
        times = sorted(gone[name] for name in victims)
        assert all(later - earlier >= 59.0 for earlier, later in pairwise(times)), times
        story.check()
