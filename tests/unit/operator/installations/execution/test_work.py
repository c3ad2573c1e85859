"""Jobs are work: when it is done once more, and what the end of a plan waits for, with the shipped controller."""

import asyncio
from typing import Any

import pytest

from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from tests.unit.operator.installations.execution.test_tasks import JOB, SERVICE, package
from tests.unit.operator.installations.test_restarts import OWN, installed, made
from tests.unit.operator.installations.world import HOME, World

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
async def world() -> World:
    return World()


def working(plans: dict[str, list[str]], version: str = "1.0.0") -> dict[str, bytes]:
    """Return a package with a Service, a Job and a Deployment, each made by a task of its own."""
    names = ("one", "job", "app")
    tasks: list[Any] = [{"name": name, "kind": "Apply", "spec": {"resources": [f"{name}.yaml"]}} for name in names]
    return package(tasks, plans, version, one=SERVICE.replace("NAME", "one"), job=JOB, app=APP)


def ended(world: World, runs: int) -> bool:
    return len(world.status().get("history", [])) == runs and world.ready()


async def test_a_requested_cleanup_runs_again_when_the_installation_is_deleted(
    world: World,
) -> None:
    """The removed object was recreated since: this must not count as the end."""
    world.package("other-1", working({"deploy": ["one"], "cleanup": ["job"]}))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        world.annotate(ANNOTATION_TRIGGER, "cleanup/web/1")
        await world.until(lambda: ended(world, 2))
        assert world.jobs == {"job": 1}
        world.uninstall()
        await world.until(lambda: world.get("Installation", "web") is None)
    assert world.jobs == {"job": 2}


@pytest.mark.parametrize("wish", ["cleanup", "cleanup/1", "cleanup/other", "cleanup/1/web"])
async def test_a_cleanup_of_an_installation_that_lives_is_refused_unless_it_is_named(world: World, wish: str) -> None:
    world.package("other-1", working({"deploy": ["one"], "cleanup": ["job"]}))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        world.annotate(ANNOTATION_TRIGGER, wish)
        await world.until(lambda: world.condition("Stalled").get("reason") == "CleanupNotConfirmed")
        assert "cleanup/web" in world.condition("Stalled")["message"]
        await asyncio.sleep(60)
        assert not world.jobs
        world.annotate(ANNOTATION_TRIGGER, "cleanup/web")
        await world.until(lambda: ended(world, 2))
    assert world.jobs == {"job": 1}


async def test_a_cleanup_that_still_runs_when_the_installation_goes_is_the_one_for_its_end(
    world: World,
) -> None:
    world.package("other-1", working({"deploy": ["one"], "cleanup": ["job"]}))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        world.healthy = False
        world.annotate(ANNOTATION_TRIGGER, "cleanup/web/1")
        await world.until(lambda: world.get("Job", "job"))
        world.uninstall()
        await asyncio.sleep(60)
        assert world.there("Service", "one")
        world.roll_out()
        await world.until(lambda: world.get("Installation", "web") is None)
    assert world.jobs == {"job": 1}


async def test_a_cleanup_for_the_end_runs_once_also_when_the_operator_dies_in_it(world: World) -> None:
    world.package("other-1", working({"deploy": ["one"], "cleanup": ["job"]}))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        world.healthy = False
        world.uninstall()
        await world.until(lambda: world.get("Job", "job"))
    async with world.operator():
        await asyncio.sleep(60)
        world.roll_out()
        await world.until(lambda: world.get("Installation", "web") is None)
    assert world.jobs == {"job": 1}


async def test_an_installation_that_is_deleted_is_not_ready_between_its_cleanup_and_the_removal(world: World) -> None:
    """Tools that wait for Ready would take it for installed."""
    world.package("other-1", working({"deploy": ["one"], "cleanup": ["job"]}))
    world.install("other-1")
    said: list[dict[str, str]] = []
    async with world.operator():
        await world.until(world.ready)
        world.store.subscribers.append(
            lambda kind, event: said.append(world.condition("Reconciling")) if "swinst" in kind and event.new else None
        )
        world.uninstall()
        await world.until(lambda: world.get("Installation", "web") is None)
    assert said[-1]["status"] == "True"
    assert said[-1]["reason"] == "Removing"
    assert all(found["status"] == "True" for found in said[1:])  # the first is the deletion itself


async def test_the_end_comes_also_where_the_definition_of_installations_is_older_and_keeps_no_cause(
    world: World,
) -> None:
    class Older:
        """A client of a server that drops a field of the status which it does not know."""

        def acting_as(self, _user: str) -> Any:
            return self

        def __getattr__(self, name: str) -> Any:
            return getattr(world.api, name)

        async def patch(self, resource: Any, key: Any, body: Any, **options: Any) -> Any:
            for step in body if isinstance(body, list) else []:
                if step["path"] == "/status" and step["value"].get("run"):
                    step["value"]["run"].pop("cause", None)
            return await world.api.patch(resource, key, body, **options)

    world.package("other-1", working({"deploy": ["one"], "cleanup": ["job"]}))
    world.install("other-1")
    async with world.operator(Older()):
        await world.until(world.ready)
        world.annotate(ANNOTATION_TRIGGER, "cleanup/web/1")
        await world.until(lambda: ended(world, 2))
        assert "cause" not in world.status()["run"]
        world.uninstall()
        await world.until(lambda: world.get("Installation", "web") is None)
    assert world.get("Service", "one") is None


async def test_a_plan_that_is_requested_does_its_work_each_time(world: World) -> None:
    """Disaster prevented: a user requests a backup before a risky change, and gets last week's."""
    world.package("other-1", working({"deploy": ["one"], "backup": ["job"]}))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        for time in (1, 2, 3):
            world.annotate(ANNOTATION_TRIGGER, f"backup/{time}")
            await world.until(lambda time=time: ended(world, time + 1))
            assert world.jobs == {"job": time}


async def test_a_request_does_its_work_once_also_if_a_value_is_written_in_another_way_than_when_it_was_installed(
    world: World,
) -> None:
    world.package("shop-1.2.0")
    world.install("shop-1.2.0")
    async with world.operator():
        await world.until(world.ready)
        world.install("shop-1.2.0", COUNT="2")
        await asyncio.sleep(10)
        world.healthy = False
        world.annotate(ANNOTATION_TRIGGER, "backup/1")
        await asyncio.sleep(60)
        world.roll_out()
        await world.until(lambda: ended(world, 2))
    assert world.jobs["backup-job"] == 1


async def test_a_requested_plan_that_another_version_interrupts_runs_after_it(world: World) -> None:
    """Disaster prevented: a backup and an upgrade are asked for, and only the upgrade is done."""
    world.package("shop-1.2.0")
    world.package("shop-1.3.0", operator=("1.2.0", "1.3.0"))
    world.install("shop-1.2.0")
    async with world.operator():
        await world.until(world.ready)
        world.healthy = False
        world.annotate(ANNOTATION_TRIGGER, "backup/1")
        await world.until(lambda: world.jobs.get("backup-job"))
        world.install("shop-1.3.0")
        await asyncio.sleep(10)
        world.roll_out()
        await world.until(lambda: ended(world, 3))
    assert [(run["plan"], run["version"]) for run in world.status()["history"][:2]] == [
        ("backup", "1.3.0"),
        ("deploy", "1.3.0"),
    ]
    assert world.status()["lastRequest"] == "backup/1"


async def test_a_request_stays_one_when_a_change_begins_its_plan_again(world: World) -> None:
    content = working({"deploy": ["one"], "backup": ["app", "job"]})
    parameters = "apiVersion: kudo.dev/v1beta1\nparameters: [{name: FILE, default: a, trigger: backup}]\n"
    world.package("other-1", content | {"params.yaml": parameters.encode()})
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        world.annotate(ANNOTATION_TRIGGER, "backup/1")
        await world.until(lambda: ended(world, 2))
        world.healthy = False
        world.say("Deployment", "app", {**world.there("Deployment", "app")["status"], "availableReplicas": 0})
        world.annotate(ANNOTATION_TRIGGER, "backup/2")
        await world.until(lambda: "Deployment" in world.status().get("activity", ""))
        began = world.status()["run"]["startTime"]
        world.install("other-1", FILE="b")
        await world.until(lambda: world.status()["run"]["startTime"] != began)
        world.roll_out()
        await world.until(lambda: ended(world, 3))
    assert world.jobs == {"job": 2}


@pytest.mark.parametrize("asked", [False, True])
async def test_work_that_is_done_stays_done_when_a_change_runs_its_plan(world: World, *, asked: bool) -> None:
    """The job that makes the first tables is not run once more by an upgrade, nor by who asks for `deploy`."""
    world.package("other-1", working({"deploy": ["job", "one"]}))
    world.package("other-2", working({"deploy": ["job", "one"]}, "2.0.0"))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        if asked:
            world.annotate(ANNOTATION_TRIGGER, "deploy/1")
        else:
            world.install("other-2")
        await world.until(lambda: ended(world, 2))
    assert world.jobs == {"job": 1}


async def test_work_that_has_failed_is_done_once_more_by_the_next_run_and_by_that_alone(
    world: World,
) -> None:
    world.package("other-1", working({"deploy": ["job", "one"]}))
    world.package("other-2", working({"deploy": ["job", "one"]}, "2.0.0"))
    world.healthy = False
    world.install("other-1")
    async with world.operator():
        await world.until(lambda: world.get("Job", "job"))
        world.say("Job", "job", FAILED)
        await world.until(lambda: world.condition("Stalled").get("reason") == "PlanFailed")
        await asyncio.sleep(600)
        assert world.jobs == {"job": 1}
        world.healthy = True
        world.install("other-2")
        await world.until(world.ready)
    assert world.jobs == {"job": 2}


async def test_a_plan_does_not_wait_for_the_health_of_what_it_has_not_touched(world: World) -> None:
    """Disaster prevented: what is ill cannot be saved, and what would put it right waits for the end of that."""
    world.package("other-1", working({"deploy": ["app"], "save": ["one"]}))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
    live = world.there("Deployment", "app")
    world.healthy = False
    world.say("Deployment", "app", {**live["status"], "readyReplicas": 0, "availableReplicas": 0})
    async with world.operator():
        world.annotate(ANNOTATION_TRIGGER, "save/1")
        await world.until(lambda: ended(world, 2))
    assert world.there("Service", "one")


async def test_a_plan_waits_for_the_health_of_what_it_has_restarted_at_its_end(world: World) -> None:
    async with world.operator():
        await installed(world, made("after", web=(OWN,)))
        world.healthy = False
        world.install("made-1", one_a="1")
        await world.until(lambda: world.rollouts == {"web": 1})
        await world.until(lambda: "Deployment prod/web" in world.status()["run"].get("message", ""))
    async with world.operator():
        await asyncio.sleep(60)
        assert not world.ready()
        world.roll_out()
        await world.until(world.ready)
    assert world.rollouts == {"web": 1}


EXPIRING = JOB.replace("spec: {template", "spec: {ttlSecondsAfterFinished: TTL, template")


def expired(world: World) -> None:
    """Remove the job, as Kubernetes does after its time to live."""
    stored = world.store.get("batch/jobs", Key(HOME, "job"))
    assert stored is not None
    world.store.remove(stored)


def together(ttl: str) -> dict[str, bytes]:
    """Return a package with a step of a Job and a Deployment."""
    tasks = [{"name": "both", "kind": "Apply", "spec": {"resources": ["job.yaml", "app.yaml"]}}]
    job = EXPIRING.replace("TTL", ttl) if ttl else JOB
    return package(tasks, {"deploy": ["both"]}, job=job, app=APP)


async def test_a_job_that_kubernetes_removes_is_not_repeated_while_its_step_waits(world: World) -> None:
    world.package("other-1", together("600"))
    world.healthy = False
    world.install("other-1")
    async with world.operator():
        await world.until(lambda: world.get("Deployment", "app"))
        world.say("Job", "job", {"conditions": [{"type": "Complete", "status": "True"}]})
        await world.until(lambda: world.status()["run"]["steps"][0].get("finished") == ["Job job"])
        expired(world)
        await asyncio.sleep(60)
    async with world.operator():  # The next process knows it too.
        await asyncio.sleep(60)
        assert world.get("Job", "job") is None
        world.roll_out()
        await world.until(world.ready)
    assert world.jobs == {"job": 1}


async def test_a_job_that_is_gone_before_its_outcome_was_seen_fails_the_plan_and_is_not_repeated(world: World) -> None:
    world.package("other-1", together("0"))
    world.healthy = False
    world.install("other-1")
    async with world.operator():
        await world.until(lambda: world.status().get("run", {}).get("steps", [{}])[0].get("stage") == "Waiting")
        expired(world)
        await world.until(lambda: world.condition("Stalled").get("reason") == "PlanFailed")
        assert "Job job is gone, and it is not known whether it was done" in world.status()["activity"]
    assert world.jobs == {"job": 1}


async def test_a_job_without_a_time_to_live_that_a_user_removes_is_done_again(world: World) -> None:
    world.package("other-1", together(""))
    world.healthy = False
    world.install("other-1")
    async with world.operator():
        await world.until(lambda: world.status().get("run", {}).get("steps", [{}])[0].get("stage") == "Waiting")
        expired(world)
        await world.until(lambda: world.get("Job", "job"))
        world.roll_out()
        await world.until(world.ready)
    assert world.jobs == {"job": 2}


@pytest.mark.parametrize("finalizers", [[], ["example.com/last"]])
async def test_a_changed_job_with_a_time_to_live_that_is_still_there_runs_again(
    world: World, finalizers: list[str]
) -> None:
    """The operator itself removes the old one, and must not take it for one that Kubernetes has removed."""
    world.package("other-1", together("600"))
    world.package("other-2", together("700"))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        stored = world.store.get("batch/jobs", Key(HOME, "job"))
        assert stored is not None
        world.context.change(stored, ("metadata", "finalizers"), finalizers)
        world.install("other-2")
        if finalizers:
            await world.until(lambda: world.status()["run"]["steps"][0]["stage"] == "Running")
            await asyncio.sleep(20)
            expired(world)
        await world.until(lambda: ended(world, 2))
    assert world.jobs == {"job": 2}
    assert world.there("Job", "job")["spec"]["ttlSecondsAfterFinished"] == 700


async def test_a_job_that_kubernetes_is_removing_before_its_outcome_was_seen_is_not_repeated(world: World) -> None:
    """It is removed in the foreground: first it is being deleted, with its pods, and then it is gone."""
    world.package("other-1", together("0"))
    world.healthy = False
    world.install("other-1")
    async with world.operator():
        await world.until(lambda: world.status().get("run", {}).get("steps", [{}])[0].get("stage") == "Waiting")
        stored = world.store.get("batch/jobs", Key(HOME, "job"))
        assert stored is not None
        going = world.context.change(stored, ("metadata", "finalizers"), ["foregroundDeletion"])
        world.server.delete(stored.kind, stored.key, DeleteOptions(Preconditions(going.uid)))
        await world.until(lambda: "is being deleted" in world.status()["activity"])
        expired(world)
        await world.until(lambda: world.condition("Stalled").get("reason") == "PlanFailed")
    assert world.jobs == {"job": 1}
