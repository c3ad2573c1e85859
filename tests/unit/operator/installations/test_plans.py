"""How installations come to be, and how plans go on, with the shipped controller on a server in memory."""

import asyncio
from typing import Any

import pytest

from tests.unit.operator.installations.town import Town


@pytest.fixture
async def town() -> Town:
    return Town()


async def test_an_installation_runs_its_deploy_plan_and_says_so(town: Town) -> None:
    town.package("shop-1.2.0")
    town.install("shop-1.2.0", COUNT=3)
    async with town.operator():
        await town.until(town.ready)
    assert town.there("Deployment", "web")["spec"]["replicas"] == 3
    assert town.there("ConfigMap", "web-config")["data"]["mode"] == "slow"
    assert town.get("Service", "web-extra") is None
    assert town.get("Job", "deploy-job") is None  # its last step deletes it
    status = town.status()
    assert status["installed"]["version"] == "1.2.0"
    assert [step["stage"] for step in status["run"]["steps"]] == ["Done", "Done", "Done"]
    assert [(run["plan"], run["stage"]) for run in status["history"]] == [("deploy", "Done")]


async def test_a_step_waits_for_health_and_says_for_what(town: Town) -> None:
    town.package("shop-1.2.0")
    town.healthy = False
    town.install("shop-1.2.0")
    async with town.operator():
        await town.until(lambda: "pods" in str(town.status().get("doing", "")) or town.status().get("doing"))
        await town.until(lambda: "Deployment" in town.status()["doing"])
        assert town.condition("Ready")["status"] == "False"
        assert town.condition("Reconciling")["status"] == "True"
        assert town.get("Job", "deploy-job") is None
        town.roll_out()
        await town.until(town.ready)


async def test_a_missing_package_is_said_and_ends_the_wait_when_it_comes(town: Town) -> None:
    town.install("shop-1.2.0")
    async with town.operator():
        await town.until(lambda: town.condition("Stalled").get("reason") == "PackageMissing")
        town.package("shop-1.2.0")
        await town.until(town.ready)


async def test_wrong_values_are_named_and_begin_nothing(town: Town) -> None:
    town.package("shop-1.2.0")
    town.install("shop-1.2.0", MODE="never", COUNT="many")
    async with town.operator():
        await town.until(lambda: town.condition("Stalled").get("reason") == "ParametersInvalid")
        said = town.condition("Stalled")["message"]
        assert "MODE" in said
        assert "slow, fast" in said
        assert "COUNT" in said
        assert town.get("Deployment", "web") is None
        town.install("shop-1.2.0", MODE="fast")
        await town.until(town.ready)


async def test_wrong_values_are_named_also_while_a_plan_runs_that_goes_on_without_them(town: Town) -> None:
    town.package("shop-1.2.0")
    town.healthy = False
    town.install("shop-1.2.0", COUNT=3)
    async with town.operator():
        await town.until(lambda: "Deployment" in town.status().get("doing", ""))
        town.install("shop-1.2.0", COUNT="many")
        await town.until(lambda: town.condition("Stalled").get("reason") == "ParametersInvalid")
        assert town.condition("Reconciling")["status"] == "False"
        assert "plan deploy" in town.status()["doing"]
        town.install("shop-1.2.0", COUNT=4)
        await town.until(lambda: town.condition("Stalled")["status"] == "False")
        town.roll_out()
        await town.until(town.ready)
    assert town.there("Deployment", "web")["spec"]["replicas"] == 4


async def test_what_is_somebody_elses_is_taken_over_only_on_request(town: Town) -> None:
    town.package("shop-1.2.0")
    other: dict[str, Any] = {"metadata": {"name": "web-config"}, "data": {"mode": "mine"}}
    town.server.create("/configmaps", "prod", other)
    town.install("shop-1.2.0")
    async with town.operator():
        await town.until(lambda: "spec.adopt" in town.condition("Stalled").get("message", ""))
        assert town.there("ConfigMap", "web-config")["data"] == {"mode": "mine"}
        town.install("shop-1.2.0", spec={"adopt": True})
        await town.until(town.ready)
        assert town.there("ConfigMap", "web-config")["data"]["mode"] == "slow"


async def test_what_a_plan_has_just_made_is_not_made_once_more_when_it_rests(town: Town) -> None:
    town.package("shop-1.2.0")
    town.install("shop-1.2.0", COUNT=3)
    applied: list[str] = []

    class Counting:
        """A client that counts what is applied."""

        def acting_as(self, _user: str) -> Any:
            return self

        def __getattr__(self, name: str) -> Any:
            return getattr(town.api, name)

        async def apply(self, resource: Any, key: Any, body: Any, options: Any) -> Any:
            applied.append(f"{resource.kind} {key.name}")
            return await town.api.apply(resource, key, body, options)

    async with town.operator(Counting()):
        await town.until(town.ready)
        made = len(applied)
        town.annotate("some/note", "1")  # Somebody has it looked at once more.
        await asyncio.sleep(30)
        assert applied[made:] == []
