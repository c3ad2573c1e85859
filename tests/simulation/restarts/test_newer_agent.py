"""A new version of Stateward brings a newer agent: it restarts nothing, and comes with each member's next change."""

import asyncio

import pytest

from stateward.api.values import names
from stateward.engines.pods import agent
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.simulation.campaign.run import AGENT_IMAGE
from tests.simulation.scenario import PODS, SETS, Scenario, hot, managers

pytestmark = pytest.mark.simulation
NEWER = "stateward:newer"


def agents(scenario: Scenario, kind: str) -> dict[str, str]:
    """Return the image of the agent in each pod, or in each template."""
    found: dict[str, str] = {}
    for stored in scenario.world.store.all(kind):
        if names.LABEL_CLUSTER in stored.labels:
            spec = stored.doc["spec"] if kind == PODS else stored.doc["spec"]["template"]["spec"]
            found[stored.labels[names.LABEL_MEMBER]] = next(
                c["image"] for c in spec["initContainers"] if c["name"] == agent.CONTAINER
            )
    return found


def processes(scenario: Scenario) -> dict[str, int]:
    return {node.name: id(node) for node in scenario.nodes()}


def outdated(scenario: Scenario) -> int:
    resource = scenario.world.resource()
    assert resource is not None
    return int(resource.doc["status"].get("outdatedPods", 0))


async def upgraded(scenario: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace the operator by one of a new version, as its Deployment does."""
    scenario.process.kill()
    monkeypatch.setattr(agent, "VERSION", "99.0.0")
    scenario.process.agent_image = NEWER
    scenario.process.start()


async def test_a_new_version_restarts_nothing_and_the_next_change_brings_its_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Scenario(managers(1), hot(2), agents=True).logged() as scenario:
        await scenario.begin()
        pods, running = scenario.uids(PODS), processes(scenario)
        await upgraded(scenario, monkeypatch)
        await scenario.settle()
        assert (scenario.uids(PODS), processes(scenario), scenario.disrupted()) == (pods, running, [])
        assert set(agents(scenario, PODS).values()) == {AGENT_IMAGE}
        assert set(agents(scenario, SETS).values()) == {AGENT_IMAGE}
        assert outdated(scenario) == 3
        scenario.edit(config={"indices.first": 1})
        await scenario.settle()
        assert scenario.uids(PODS) == pods
        assert all(processes(scenario)[name] != was for name, was in running.items())
        assert set(agents(scenario, PODS).values()) == {AGENT_IMAGE}
        assert set(agents(scenario, SETS).values()) == {NEWER}
        scenario.edit(version="2.18.0")
        await scenario.settle()
        assert set(agents(scenario, PODS).values()) == {NEWER}
        assert outdated(scenario) == 0


@pytest.mark.parametrize("when", [1.0, 40.0])
async def test_a_new_version_in_the_middle_of_a_restart_continues_with_it(
    when: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The running agents support the protocol of the earlier operator and that of the current one."""
    with Scenario(managers(1), hot(2), agents=True).logged() as scenario:
        await scenario.begin()
        pods = scenario.uids(PODS)
        scenario.edit(config={"indices.first": 1})
        await asyncio.sleep(when)
        await upgraded(scenario, monkeypatch)
        await scenario.settle()
        assert scenario.uids(PODS) == pods
        assert sorted(scenario.disrupted()) == ["logs-hot-0", "logs-hot-1", "logs-managers-0"]
        assert all(node.config["indices.first"] == 1 for node in scenario.nodes())


async def lose(scenario: Scenario, member: str) -> None:
    pod = scenario.object(PODS, names.pod(member))
    assert pod is not None
    scenario.world.server.delete(PODS, pod.key, DeleteOptions(Preconditions(pod.uid)))
    await scenario.settle()


async def test_a_pod_that_is_lost_comes_back_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    with Scenario(managers(1), hot(2), agents=True).logged() as scenario:
        await scenario.begin()
        await upgraded(scenario, monkeypatch)
        await scenario.settle()
        await lose(scenario, "logs-hot-1")
        assert agents(scenario, PODS)["logs-hot-1"] == AGENT_IMAGE


async def test_a_pod_that_is_lost_when_the_earlier_image_is_gone_comes_back_with_the_newer_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Scenario(managers(1), hot(2), agents=True).logged() as scenario:
        await scenario.begin()
        await upgraded(scenario, monkeypatch)
        await scenario.settle()
        scenario.world.kubelets.behavior.missing = frozenset({AGENT_IMAGE.partition(":")[2]})
        await lose(scenario, "logs-hot-1")
        assert agents(scenario, PODS)["logs-hot-1"] == NEWER
        assert agents(scenario, PODS)["logs-hot-0"] == AGENT_IMAGE


async def test_with_the_users_consent_all_pods_are_recreated_one_after_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Scenario(managers(3), hot(2), agents=True).logged() as scenario:
        await scenario.begin()
        await upgraded(scenario, monkeypatch)
        await scenario.settle()
        scenario.user.annotate({names.ANNOTATION_APPLY: "true"})
        await scenario.settle()
        assert set(agents(scenario, PODS).values()) == {NEWER}
        assert len(scenario.disrupted()) == 5
        assert outdated(scenario) == 0
