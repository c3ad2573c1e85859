"""Failures of nodes, pods and whole clusters during a change. Numbers are those of docs/scenarios.md."""

import asyncio
from typing import Any

import pytest

from stateward.engines.search.database.driver import SearchEngine
from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects.errors import Forbidden
from stateward.kube.objects.metadata import Key
from stateward.operator.act.shared_objects import SharedObjects
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.planning.model.observation import Unknown
from stateward.planning.safety.disruption_budget import Budget
from stateward.simulation.apiserver.audit import Write
from stateward.simulation.apiserver.store import Event
from stateward.simulation.world.world import NAMESPACE
from tests.simulation.scenario import PODS, SETS, Scenario, hot, managers

pytestmark = pytest.mark.simulation

BUDGETS = "policy/poddisruptionbudgets"


@pytest.mark.parametrize("power", [True, False])
async def test_28_after_a_full_outage_all_members_start_at_once(power: bool) -> None:
    """Quorum is gone, and no member waits for another one to be ready first."""
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        names = list(scenario.world.nodes.names)
        if power:
            for name in names:
                scenario.world.nodes.lose(name, power=True)
            await asyncio.sleep(200.0)
            for name in names:
                scenario.world.nodes.restore(name)
        else:
            for run in list(scenario.world.kubelets.runs.values()):
                scenario.world.kubelets.crash(run, 137, "killed")
        whole = scenario.until(lambda: bool(scenario.database.leader) and scenario.database.health == "green", 240.0)
        assert await whole
        assert not scenario.disrupted()
        await scenario.settle()
        assert len(scenario.world.formed()) == 1


async def test_28_a_change_that_waits_disturbs_no_member_that_starts_after_an_outage() -> None:
    """The spec is edited while all are down; the change is applied once they are back, one after the other."""
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        scenario.world.databases.behavior.boot = (100.0, 110.0)
        for run in list(scenario.world.kubelets.runs.values()):
            scenario.world.kubelets.crash(run, 137, "killed")
        scenario.edit(config={"indices.first": 1})
        assert await scenario.until(lambda: bool(scenario.database.leader) and len(scenario.nodes()) == 6, 240.0)
        assert not scenario.disrupted()
        await scenario.settle()
        assert sorted(scenario.disrupted()) == sorted(scenario.uids(SETS))


async def test_28_a_change_that_is_made_in_the_first_back_off_of_all_members_waits_until_they_are_back() -> None:
    """The kubelet restarts an exited container: the operator does not use this restart for a new change."""
    # With this seed connections are refused fast enough for a whole round within the back-off.
    with Scenario(managers(), hot(3), seed=7).logged() as scenario:
        await scenario.begin()
        scenario.world.databases.behavior.boot = (100.0, 110.0)
        for run in list(scenario.world.kubelets.runs.values()):
            scenario.world.kubelets.crash(run, 137, "killed")
        await asyncio.sleep(3.0)
        scenario.edit(config={"indices.first": 1})
        assert await scenario.until(lambda: bool(scenario.database.leader) and len(scenario.nodes()) == 6, 240.0)
        assert not scenario.disrupted()


async def test_28_a_member_that_was_about_to_restart_when_its_node_failed_does_not_wait_for_it() -> None:
    """Its next template is written, so the configuration that its pod was made for is nowhere any more."""
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        scenario.crash_after("apply", SETS)
        scenario.edit(config={"indices.first": 1})
        assert await scenario.until(scenario.prepared)
        assert not scenario.disrupted()
        name = scenario.prepared()[0]
        pod = scenario.object(PODS, f"{name}-0")
        assert pod is not None
        node = pod.doc["spec"]["nodeName"]
        scenario.world.nodes.lose(node, power=True)
        await asyncio.sleep(30.0)
        scenario.world.nodes.restore(node)
        back = scenario.until(lambda: name in {n.name for n in scenario.nodes() if n.reachable}, 150.0)
        assert await back
        assert scenario.disrupted()[:1] == [name]


async def test_31_a_drain_is_not_mistaken_for_a_roll_out() -> None:
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        pods = scenario.uids(PODS)
        name = scenario.world.nodes.names[0]
        there = {pod.key.name for pod in scenario.world.nodes.pods(name)}
        assert there
        scenario.world.nodes.drain(name)
        assert await scenario.until(lambda: not scenario.world.nodes.pods(name))
        scenario.world.nodes.undrain(name)
        await scenario.settle()
        assert not scenario.disrupted()
        moved = {n for n, uid in scenario.uids(PODS).items() if pods[n] != uid}
        assert moved == there


async def test_31_an_evicted_member_of_a_pool_that_is_not_next_keeps_its_version() -> None:
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        scenario.edit(version="2.18.0")
        assert await scenario.until(lambda: len(scenario.disrupted()) == 1)
        pod = scenario.object(PODS, "logs-managers-0-0")
        assert pod is not None
        nodes = scenario.world.nodes
        for name in nodes.names:
            nodes.cordon(name, on=True)
        nodes.evict_failed(pod)
        # Long enough for the operator to see a pod that cannot start, and to repair it.
        await asyncio.sleep(60.0)
        for name in nodes.names:
            nodes.cordon(name, on=False)
        assert await scenario.until(lambda: "logs-managers-0" not in {n.name for n in scenario.database.nodes.values()})
        assert await scenario.until(lambda: "logs-managers-0" in {n.name for n in scenario.database.nodes.values()})
        back = next(n for n in scenario.database.nodes.values() if n.name == "logs-managers-0")
        assert back.version == "2.17.1"
        await scenario.settle()


async def test_34_two_members_fail_while_a_third_is_upgraded_and_no_other_member_is_taken() -> None:
    """The pods that failed cannot come back, for want of quota: the upgrade waits, and says for whom."""
    with Scenario(managers(), hot(5), update={"maxUnavailable": 2}).logged() as scenario:
        await scenario.begin()
        scenario.edit(version="2.18.0")
        assert await scenario.until(lambda: len(scenario.disrupted()) >= 1)
        scenario.world.server.admission.quota[NAMESPACE, PODS] = 4
        before = len(scenario.disrupted())
        for pod in scenario.world.store.all(PODS):
            if pod.key.name in {"logs-hot-0-0", "logs-hot-1-0"}:
                scenario.world.nodes.evict_failed(pod)
        await asyncio.sleep(1200.0)
        assert len(scenario.disrupted()) == before
        assert "logs-hot" in scenario.waits
        scenario.world.server.admission.quota.clear()
        await scenario.settle()


async def test_35_a_process_starts_on_the_configuration_its_pod_was_made_for() -> None:
    """The Secret reaches new pods two minutes late; no member runs with the old content."""
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()
        scenario.world.kubelets.behavior.config = 120.0
        scenario.edit(config={"indices.first": 7})
        await scenario.settle()
        assert all(n.config.get("indices.first") == 7 for n in scenario.database.nodes.values())


async def test_a_lost_node_with_processes_that_run_on_makes_no_second_cluster() -> None:
    """Pods hang in Terminating on an isolated node; it returns after ten minutes."""
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        name = next(
            pod.doc["spec"]["nodeName"] for pod in scenario.world.store.all(PODS) if "managers-0" in pod.key.name
        )
        scenario.world.databases.isolate(name, on=True)
        scenario.world.nodes.lose(name, power=False)
        scenario.edit(config={"indices.first": 1})
        await asyncio.sleep(600.0)
        scenario.world.databases.isolate(name, on=False)
        scenario.world.nodes.restore(name)
        await scenario.settle()
        assert len(scenario.world.formed()) == 1


async def test_two_operators_at_once_do_what_one_does() -> None:
    """A second process starts, the first is frozen; leases decide who acts."""
    with Scenario(managers(), hot(3), processes=2).logged() as scenario:
        await scenario.begin()
        second = scenario.run.processes[1]
        second.start()
        scenario.edit(config={"indices.first": 1})
        for _ in range(6):
            scenario.process.kill()
            await asyncio.sleep(45.0)
            second.kill()
            await asyncio.sleep(45.0)
        await scenario.settle()
        second.kill()
        assert sorted(scenario.disrupted()) == sorted(scenario.uids(SETS))
        assert scenario.most_down == 1


@pytest.mark.parametrize("agents", [False, True])
async def test_a_shared_object_that_cannot_be_written_keeps_nothing_set_and_no_member_down(
    agents: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A policy refuses a PodDisruptionBudget, say, from the moment on at which the allocation was limited."""
    refusing = [False]
    apply = SharedObjects.apply

    async def refused(
        self: SharedObjects, existing: ClusterObjects, budgets: tuple[Budget, ...], *, settled: bool
    ) -> None:
        if refusing[0]:
            raise Forbidden("a policy refuses PodDisruptionBudgets")
        await apply(self, existing, budgets, settled=settled)

    def told(what: str) -> None:
        refusing[0] = refusing[0] or what == "POST /_flush"

    monkeypatch.setattr(SharedObjects, "apply", refused)
    with Scenario(managers(), hot(3), agents=agents).logged() as scenario:
        await scenario.begin()
        scenario.process.command_done = told
        scenario.edit(config={"indices.first": 1})
        assert await scenario.until(lambda: refusing[0], 1200)
        assert await scenario.until(
            lambda: not scenario.database.settings.persistent and len(scenario.nodes()) == 6, 1200
        )
        assert "StepFailed" in scenario.waits
        scenario.process.command_done = lambda _: None
        refusing[0] = False
        await scenario.settle()


async def test_members_do_not_stop_while_another_client_opens_the_budgets_and_the_status_says_so() -> None:
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        opening = [True]

        def opened(kind: str, event: Event) -> None:
            new = event.new
            if opening[0] and kind == BUDGETS and new is not None and new.doc["spec"]["minAvailable"]:
                asyncio.get_running_loop().call_soon(patched, new.key)

        def patched(key: Key) -> None:
            body = {"spec": {"minAvailable": 0}}
            scenario.world.server.patch(BUDGETS, key, body, PatchKind.MERGE, manager="another")

        scenario.world.store.subscribers.append(opened)
        scenario.edit(config={"indices.first": 1})
        assert await scenario.until(lambda: "BudgetNotKept" in scenario.waits, 120)
        await asyncio.sleep(300.0)
        assert len(scenario.nodes()) == 6
        assert not scenario.run.watchdog.disruptions
        opening[0] = False
        await scenario.settle()


async def test_a_budget_that_is_closed_while_the_database_is_silent_was_open_for_the_reads_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Seed 1610083: a template is written, one round gets no answer and closes the budgets, and the member restarts."""
    silent = [False]
    observe = SearchEngine.observe

    async def asked(self: SearchEngine, *given: Any, **more: Any) -> Any:
        if silent[0]:
            silent[0] = False
            return Unknown("the connection broke before the answer came")
        return await observe(self, *given, **more)

    monkeypatch.setattr(SearchEngine, "observe", asked)
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin()
        staged: list[str] = []

        def written(kind: str, event: Event) -> None:
            new, old = event.new, event.old
            if kind == SETS and new is not None and old is not None and new.doc["spec"] != old.doc["spec"]:
                silent[0] = not staged
                staged.append(new.key.name)

        scenario.world.store.subscribers.append(written)
        scenario.edit(config={"indices.first": 1})
        await scenario.settle()
        assert len(staged) == 6
        assert not silent[0]


async def test_31_while_a_member_is_evicted_as_a_rollout_begins_no_other_one_stops() -> None:
    """The eviction is allowed after the plan was made and before the budget is tightened."""
    with Scenario(managers(), hot(3)).logged() as scenario:
        await scenario.begin(indices=3)
        evicted: list[str] = []
        checked = scenario.run.watchdog.writing

        def writing(write: Write) -> None:
            checked(write)
            pod = scenario.object(PODS, "logs-hot-0-0")
            if write.kind == BUDGETS and not evicted and pod is not None:
                evicted.append(pod.uid)
                exact = Preconditions(pod.uid, pod.meta["resourceVersion"])
                scenario.world.server.evict(pod.key, DeleteOptions(exact))

        scenario.run.watchdog.writing = writing
        scenario.edit(config={"indices.first": 1})
        await scenario.settle()
        assert evicted
        assert scenario.most_down == 1


async def test_no_pod_is_scheduled_on_a_node_that_is_not_ready() -> None:
    """Of the model: Kubernetes taints such a node."""
    with Scenario(managers(), hot(2)).logged() as scenario:
        await scenario.begin()
        names = list(scenario.world.nodes.names)
        for name in names:
            scenario.world.nodes.lose(name, power=True)
        await asyncio.sleep(60.0)
        scenario.pools(managers(), hot(3))
        assert await scenario.until(lambda: scenario.object(PODS, "logs-hot-2-0") is not None, 300.0)
        await asyncio.sleep(30.0)
        pod = scenario.object(PODS, "logs-hot-2-0")
        assert pod is not None
        assert not pod.doc["spec"].get("nodeName")
