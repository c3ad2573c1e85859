"""Safety of installations on a real API server: no foreign objects, no repeated work, complete removal."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.resources import CONFIG_MAPS, SECRETS, SERVICES
from stateward.operator.installations.objects.views import INSTALLATIONS, PACKAGES
from stateward.operator.restarts.digestkey import NAME
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from stateward.packages.plans.steps import LABEL_INSTALLATION
from tests.integration.api_server import JOBS, define, own_namespace
from tests.integration.packaged import DEPLOYMENTS, Place
from tests.support.background import at_work
from tests.unit.operator.installations.execution.test_tasks import JOB, SERVICE, package

pytestmark = pytest.mark.integration
CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {of: package}\n"
APP = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: app}
spec:
  selector: {matchLabels: {app: app}}
  template:
    metadata: {labels: {app: app}}
    spec: {containers: [{name: c, image: x, envFrom: [{configMapRef: {name: config}}]}]}
"""


@pytest.fixture
async def place(control_plane: Path) -> AsyncGenerator[Place]:
    async with own_namespace(control_plane, "care") as (api, namespace):
        await define(api, PACKAGES, INSTALLATIONS)
        yield Place(api, namespace)


def working(plans: dict[str, list[str]], version: str = "1.0.0", **texts: str) -> dict[str, bytes]:
    texts = {"config": CONFIG, "app": APP, "job": JOB, "shared": SERVICE.replace("NAME", "shared")} | texts
    tasks: list[Any] = [{"name": name, "kind": "Apply", "spec": {"resources": [f"{name}.yaml"]}} for name in texts]
    return package(tasks, plans, version, **texts)


async def remove(place: Place, name: str) -> None:
    uid = (await place.there(INSTALLATIONS, name))["metadata"]["uid"]
    await place.api.delete(INSTALLATIONS, place.key(name), DeleteOptions(Preconditions(uid)))


def says(*words: str) -> Callable[[dict[str, Any] | None], bool]:
    def holds(body: dict[str, Any] | None) -> bool:
        return body is not None and all(word in str(body.get("status")) for word in words)

    return holds


async def test_one_object_has_one_installation_and_the_second_waits_for_it(place: Place) -> None:
    await place.package("other-1", working({"deploy": ["shared"]}))
    await place.install("other-1", "first")
    async with place.operator():
        await place.ready("first")
        before = await place.there(SERVICES, "shared")
        await place.install("other-1", "second")
        await place.change("second", adopt=True)
        owner = f"belongs to installation {place.namespace}/first"
        await place.until(INSTALLATIONS, "second", says("Stalled", owner))
        await remove(place, "second")
        await place.until(INSTALLATIONS, "second", lambda body: body is None)
        assert await place.there(SERVICES, "shared") == before
        await place.install("other-1", "third")
        await place.until(INSTALLATIONS, "third", says("Stalled", owner))
        await remove(place, "first")
        await place.ready("third")
        live = await place.there(SERVICES, "shared")
        assert live["metadata"]["labels"][LABEL_INSTALLATION] == "third"
        assert live["metadata"]["uid"] != before["metadata"]["uid"]


async def test_two_that_begin_at_once_have_one_owner(place: Place) -> None:
    await place.package("other-1", working({"deploy": ["config", "shared"]}))
    names = [f"i{number}" for number in range(6)]
    for name in names:
        await place.install("other-1", name)
    async with place.operator():
        for name in names:
            await place.until(INSTALLATIONS, name, _settled)
        owners = {
            (await place.there(kind, found))["metadata"]["labels"][LABEL_INSTALLATION]
            for kind, found in ((CONFIG_MAPS, "config"), (SERVICES, "shared"))
        }
        assert len(owners) == 1
        others = [name for name in names if name not in owners]
        for name in others:
            await place.until(INSTALLATIONS, name, says(f"belongs to installation {place.namespace}/"))


async def test_the_loss_of_the_key_restarts_nothing_runs_no_job_and_forgets_nothing(place: Place) -> None:
    plans = {"deploy": ["config", "app", "job"]}
    await place.package("other-1", working(plans))
    await place.install("other-1", "web")
    async with place.operator():
        await place.ready()
    app, job = await place.there(DEPLOYMENTS, "app"), await place.there(JOBS, "job")
    secret = await place.there(SECRETS, NAME)
    exact = DeleteOptions(Preconditions(secret["metadata"]["uid"]))
    await place.api.delete(SECRETS, place.key(NAME), exact)
    await place.package("other-2", working(plans, "2.0.0"))
    await place.change(package="other-2")
    async with place.operator():
        body = await place.ready()
        assert body["status"]["installed"]["version"] == "2.0.0"
        assert (await place.there(SECRETS, NAME))["data"] != secret["data"]
        assert (await place.there(DEPLOYMENTS, "app"))["spec"] == app["spec"]
        assert (await place.there(JOBS, "job"))["metadata"]["uid"] == job["metadata"]["uid"]
    found = await place.there(SECRETS, NAME)
    await place.api.delete(SECRETS, place.key(NAME), DeleteOptions(Preconditions(found["metadata"]["uid"])))
    other = {"job": JOB.replace("image: x", "image: z"), "config": CONFIG.replace("of: package", "of: another")}
    await place.package("other-3", working(plans, "3.0.0", **other))
    await place.change(package="other-3")
    async with place.operator():
        await place.ready()
        # What is certain to be another is another, whatever became of the key.
        assert (await place.there(JOBS, "job"))["metadata"]["uid"] != job["metadata"]["uid"]
        assert (await place.there(DEPLOYMENTS, "app"))["spec"]["template"] != app["spec"]["template"]


async def test_a_plan_that_is_requested_works_each_time_and_cleanup_also_at_the_end(place: Place) -> None:
    await place.package("other-1", working({"deploy": ["config"], "cleanup": ["job"]}))
    await place.install("other-1", "web")
    seen: set[str] = set()
    async with place.operator(), at_work(_watched(place, seen)):
        await place.ready()
        for time in (1, 2):
            await place.annotate(ANNOTATION_TRIGGER, f"cleanup/web/{time}")
            await place.until(INSTALLATIONS, "web", lambda body, time=time: _ran(body, time))
            assert len(seen) == time
        await remove(place, "web")
        await place.until(INSTALLATIONS, "web", lambda body: body is None)
        assert len(seen) == 3
        assert await place.get(CONFIG_MAPS, "config") is None


async def _watched(place: Place, seen: set[str]) -> None:
    """Note each job that there ever is, by its UID; one lives until its pod has ended."""
    while True:
        body = await place.get(JOBS, "job")
        seen |= {body["metadata"]["uid"]} if body else set()
        await asyncio.sleep(0.05)


def _ran(body: dict[str, Any] | None, times: int) -> bool:
    history = (body or {}).get("status", {}).get("history", [])
    return [run["plan"] for run in history].count("cleanup") == times


def _settled(body: dict[str, Any] | None) -> bool:
    conditions = (body or {}).get("status", {}).get("conditions", [])
    return any(c["type"] in {"Ready", "Stalled"} and c["status"] == "True" for c in conditions)


async def test_what_a_requested_plan_deletes_stays_deleted_until_a_plan_applies_it_again(place: Place) -> None:
    content = working({"deploy": ["shared", "config"], "stop": ["gone"]})
    gone = "- {name: gone, kind: Delete, spec: {resources: [shared.yaml]}}\n"
    content["operator.yaml"] = content["operator.yaml"].replace(b"\ntasks:\n", b"\ntasks:\n" + gone.encode())
    await place.package("other-1", content)
    await place.install("other-1")
    async with place.operator():
        await place.ready()
        await place.annotate(ANNOTATION_TRIGGER, "stop/1")
        await place.until(INSTALLATIONS, "web", says("stop/1", "removed", "shared"))
        await place.ready()
        live = await place.there(CONFIG_MAPS, "config")
        await place.api.delete(CONFIG_MAPS, place.key("config"), DeleteOptions(Preconditions(live["metadata"]["uid"])))
        await place.until(CONFIG_MAPS, "config", lambda body: body is not None)
        await place.until(SERVICES, "shared", lambda body: body is None)
        await place.annotate(ANNOTATION_TRIGGER, "deploy/1")
        await place.until(SERVICES, "shared", lambda body: body is not None)
        await place.until(INSTALLATIONS, "web", lambda body: body is not None and not body["status"].get("removed"))
