"""Jobs are work: when it is done once more, and what the end of a plan waits for, with the shipped controller."""

import asyncio
from typing import Any

import pytest

from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from tests.unit.operator.installations.test_restarts import OWN, installed, made
from tests.unit.operator.installations.test_tasks import JOB, SERVICE, package
from tests.unit.operator.installations.town import Town

FAILED = {"conditions": [{"type": "Failed", "status": "True", "message": "no disk"}]}


APP = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {app: app}}
  template: {metadata: {labels: {app: app}}, spec: {containers: [{name: c, image: x}]}}
"""


@pytest.fixture
async def town() -> Town:
    return Town()


def working(plans: dict[str, list[str]], version: str = "1.0.0") -> dict[str, bytes]:
    """Return a package with a Service, a Job and a Deployment, each made by a task of its own."""
    names = ("one", "job", "app")
    tasks: list[Any] = [{"name": name, "kind": "Apply", "spec": {"resources": [f"{name}.yaml"]}} for name in names]
    return package(tasks, plans, version, one=SERVICE.replace("NAME", "one"), job=JOB, app=APP)


def ended(town: Town, runs: int) -> bool:
    return len(town.status().get("history", [])) == runs and town.ready()


async def test_a_cleanup_that_somebody_asked_for_runs_again_when_the_installation_goes(town: Town) -> None:
    """What it has removed is there again since: nothing else may be taken for the end."""
    town.package("other-1", working({"deploy": ["one"], "cleanup": ["job"]}))
    town.install("other-1")
    async with town.operator():
        await town.until(town.ready)
        town.annotate(ANNOTATION_TRIGGER, "cleanup/web/1")
        await town.until(lambda: ended(town, 2))
        assert town.jobs == {"job": 1}
        town.uninstall()
        await town.until(lambda: town.get("Installation", "web") is None)
    assert town.jobs == {"job": 2}


@pytest.mark.parametrize("wish", ["cleanup", "cleanup/1", "cleanup/other", "cleanup/1/web"])
async def test_a_cleanup_of_an_installation_that_lives_is_refused_unless_it_is_named(town: Town, wish: str) -> None:
    town.package("other-1", working({"deploy": ["one"], "cleanup": ["job"]}))
    town.install("other-1")
    async with town.operator():
        await town.until(town.ready)
        town.annotate(ANNOTATION_TRIGGER, wish)
        await town.until(lambda: town.condition("Stalled").get("reason") == "CleanupNotConfirmed")
        assert "cleanup/web" in town.condition("Stalled")["message"]
        await asyncio.sleep(60)
        assert not town.jobs
        town.annotate(ANNOTATION_TRIGGER, "cleanup/web")
        await town.until(lambda: ended(town, 2))
    assert town.jobs == {"job": 1}


async def test_a_cleanup_that_still_runs_when_the_installation_goes_is_the_one_for_its_end(town: Town) -> None:
    town.package("other-1", working({"deploy": ["one"], "cleanup": ["job"]}))
    town.install("other-1")
    async with town.operator():
        await town.until(town.ready)
        town.healthy = False
        town.annotate(ANNOTATION_TRIGGER, "cleanup/web/1")
        await town.until(lambda: town.get("Job", "job"))
        town.uninstall()
        await asyncio.sleep(60)
        assert town.there("Service", "one")
        town.roll_out()
        await town.until(lambda: town.get("Installation", "web") is None)
    assert town.jobs == {"job": 1}


async def test_a_cleanup_for_the_end_runs_once_also_when_the_operator_dies_in_it(town: Town) -> None:
    town.package("other-1", working({"deploy": ["one"], "cleanup": ["job"]}))
    town.install("other-1")
    async with town.operator():
        await town.until(town.ready)
        town.healthy = False
        town.uninstall()
        await town.until(lambda: town.get("Job", "job"))
    async with town.operator():
        await asyncio.sleep(60)
        town.roll_out()
        await town.until(lambda: town.get("Installation", "web") is None)
    assert town.jobs == {"job": 1}


async def test_the_end_comes_also_where_the_definition_of_installations_is_older_and_keeps_no_cause(town: Town) -> None:
    class Older:
        """A client of a server that drops a field of the status which it does not know."""

        def acting_as(self, _user: str) -> Any:
            return self

        def __getattr__(self, name: str) -> Any:
            return getattr(town.api, name)

        async def patch(self, resource: Any, key: Any, body: Any, **options: Any) -> Any:
            for step in body if isinstance(body, list) else []:
                if step["path"] == "/status" and step["value"].get("run"):
                    step["value"]["run"].pop("cause", None)
            return await town.api.patch(resource, key, body, **options)

    town.package("other-1", working({"deploy": ["one"], "cleanup": ["job"]}))
    town.install("other-1")
    async with town.operator(Older()):
        await town.until(town.ready)
        town.annotate(ANNOTATION_TRIGGER, "cleanup/web/1")
        await town.until(lambda: ended(town, 2))
        assert "cause" not in town.status()["run"]
        town.uninstall()
        await town.until(lambda: town.get("Installation", "web") is None)
    assert town.get("Service", "one") is None


async def test_a_plan_that_is_asked_for_does_its_work_each_time(town: Town) -> None:
    """Disaster prevented: somebody has a backup made before they break something, and gets last week's."""
    town.package("other-1", working({"deploy": ["one"], "backup": ["job"]}))
    town.install("other-1")
    async with town.operator():
        await town.until(town.ready)
        for time in (1, 2, 3):
            town.annotate(ANNOTATION_TRIGGER, f"backup/{time}")
            await town.until(lambda time=time: ended(town, time + 1))
            assert town.jobs == {"job": time}


async def test_a_wish_stays_one_when_a_change_begins_its_plan_again(town: Town) -> None:
    content = working({"deploy": ["one"], "backup": ["app", "job"]})
    parameters = "apiVersion: kudo.dev/v1beta1\nparameters: [{name: FILE, default: a, trigger: backup}]\n"
    town.package("other-1", content | {"params.yaml": parameters.encode()})
    town.install("other-1")
    async with town.operator():
        await town.until(town.ready)
        town.annotate(ANNOTATION_TRIGGER, "backup/1")
        await town.until(lambda: ended(town, 2))
        town.healthy = False
        town.say("Deployment", "app", {**town.there("Deployment", "app")["status"], "availableReplicas": 0})
        town.annotate(ANNOTATION_TRIGGER, "backup/2")
        await town.until(lambda: "Deployment" in town.status().get("doing", ""))
        began = town.status()["run"]["started"]
        town.install("other-1", FILE="b")
        await town.until(lambda: town.status()["run"]["started"] != began)
        town.roll_out()
        await town.until(lambda: ended(town, 3))
    assert town.jobs == {"job": 2}


@pytest.mark.parametrize("asked", [False, True])
async def test_work_that_is_done_stays_done_when_a_change_runs_its_plan(town: Town, *, asked: bool) -> None:
    """The job that makes the first tables is not run once more by an upgrade, nor by who asks for `deploy`."""
    town.package("other-1", working({"deploy": ["job", "one"]}))
    town.package("other-2", working({"deploy": ["job", "one"]}, "2.0.0"))
    town.install("other-1")
    async with town.operator():
        await town.until(town.ready)
        if asked:
            town.annotate(ANNOTATION_TRIGGER, "deploy/1")
        else:
            town.install("other-2")
        await town.until(lambda: ended(town, 2))
    assert town.jobs == {"job": 1}


async def test_work_that_has_failed_is_done_once_more_by_the_next_run_and_by_that_alone(town: Town) -> None:
    town.package("other-1", working({"deploy": ["job", "one"]}))
    town.package("other-2", working({"deploy": ["job", "one"]}, "2.0.0"))
    town.healthy = False
    town.install("other-1")
    async with town.operator():
        await town.until(lambda: town.get("Job", "job"))
        town.say("Job", "job", FAILED)
        await town.until(lambda: town.condition("Stalled").get("reason") == "PlanFailed")
        await asyncio.sleep(600)
        assert town.jobs == {"job": 1}
        town.healthy = True
        town.install("other-2")
        await town.until(town.ready)
    assert town.jobs == {"job": 2}


async def test_a_plan_does_not_wait_for_the_health_of_what_it_has_not_touched(town: Town) -> None:
    """Disaster prevented: what is ill cannot be saved, and what would put it right waits for the end of that."""
    town.package("other-1", working({"deploy": ["app"], "save": ["one"]}))
    town.install("other-1")
    async with town.operator():
        await town.until(town.ready)
    live = town.there("Deployment", "app")
    town.healthy = False
    town.say("Deployment", "app", {**live["status"], "readyReplicas": 0, "availableReplicas": 0})
    async with town.operator():
        town.annotate(ANNOTATION_TRIGGER, "save/1")
        await town.until(lambda: ended(town, 2))
    assert town.there("Service", "one")


async def test_a_plan_waits_for_the_health_of_what_it_has_restarted_at_its_end(town: Town) -> None:
    async with town.operator():
        await installed(town, made("after", web=(OWN,)))
        town.healthy = False
        town.install("made-1", one_a="1")
        await town.until(lambda: town.rollouts == {"web": 1})
        await town.until(lambda: "Deployment prod/web" in town.status()["run"].get("message", ""))
    async with town.operator():
        await asyncio.sleep(60)
        assert not town.ready()
        town.roll_out()
        await town.until(town.ready)
    assert town.rollouts == {"web": 1}
