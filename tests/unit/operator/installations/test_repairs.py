"""What was half done is taken back, and what differs each time is made once, with the shipped controller."""

import asyncio
from typing import Any

import pytest

from stateward.kube.client.client import DeleteOptions, Page, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.operator.installations.objects.scaling import AUTOSCALERS
from stateward.packages.format.yamltext import to_yaml
from stateward.packages.restarts.restarts import ANNOTATION_DIGEST, ANNOTATION_RECORD
from tests.unit.operator.installations.test_tasks import POD, SERVICE, package
from tests.unit.operator.installations.town import HOME, Town
from tests.unit.packages.samples import files

CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: config}\ndata: {of: %s}\n"


class Fresh(dict[str, bytes]):
    """Files that are another one each time they are read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    def __getitem__(self, path: str) -> bytes:
        self.reads += 1
        return f"{path} {self.reads}".encode()


def exact(town: Town) -> DeleteOptions:
    return DeleteOptions(Preconditions(town.there("Installation", "web")["metadata"]["uid"]))


@pytest.fixture
async def town() -> Town:
    return Town()


async def test_an_upgrade_that_failed_half_way_is_taken_back_by_asking_for_the_version_of_before(town: Town) -> None:
    config = {"name": "config", "kind": "Apply", "spec": {"resources": ["config.yaml"]}}
    bad = {"name": "bad", "kind": "Dummy", "spec": {"wantErr": True, "fatal": True}}
    town.package("other-1", package([config], {"deploy": ["config"]}, config=CONFIG % "one"))
    town.package("other-2", package([config, bad], {"deploy": ["config", "bad"]}, "2.0.0", config=CONFIG % "two"))
    town.install("other-1")
    async with town.operator():
        await town.until(town.ready)
        town.install("other-2")
        await town.until(lambda: town.condition("Stalled").get("reason") == "PlanFailed")
        assert town.there("ConfigMap", "config")["data"] == {"of": "two"}
        town.install("other-1")
        await town.until(town.ready)
    assert town.there("ConfigMap", "config")["data"] == {"of": "one"}
    assert town.status()["installed"]["version"] == "1.0.0"


def piped(version: str) -> dict[str, bytes]:
    """Return a package whose only step pipes a file, and waits for something else."""
    pipe = {"pod": "pod.yaml", "pipe": [{"file": "/d/password", "kind": "Secret", "key": "made"}]}
    tasks: list[Any] = [
        {"name": "pipe", "kind": "Pipe", "spec": pipe},
        {"name": "slow", "kind": "Dummy", "spec": {"done": False}},
    ]
    plans = {"deploy": {"phases": [{"name": "main", "steps": [{"name": "both", "tasks": ["pipe", "slow"]}]}]}}
    head = {"apiVersion": "kudo.dev/v1beta1", "name": "other", "operatorVersion": version, "tasks": tasks}
    return {"operator.yaml": to_yaml(head | {"plans": plans}).encode(), "templates/pod.yaml": POD.encode()}


async def test_a_pipe_runs_once_for_a_run_however_long_its_step_waits_for_something_else(town: Town) -> None:
    """Disaster prevented: a new password each few seconds, and pods that restart for each of them."""
    town.written = Fresh()
    town.package("other-1", piped("1.0.0"))
    town.package("other-2", piped("2.0.0"))
    town.install("other-1")
    async with town.operator():
        await town.until(lambda: town.get("Secret", "web-pipe-made"))
        before = town.there("Secret", "web-pipe-made")["data"]
        await asyncio.sleep(120)
        assert town.there("Secret", "web-pipe-made")["data"] == before
        assert town.store.all("/pods") == []
        town.install("other-2")
        await town.until(lambda: town.there("Secret", "web-pipe-made")["data"] != before)
        await asyncio.sleep(120)
    assert town.written.reads == 2


async def test_packages_that_install_each_other_are_said_to_have_no_end(town: Town) -> None:
    def installs(name: str) -> dict[str, Any]:
        return {"name": "inner", "kind": "KudoOperator", "spec": {"package": name}}

    for name, inner in (("ping", "pong"), ("pong", "ping")):
        content = package([installs(inner)], {"deploy": ["inner"]})
        content["operator.yaml"] = content["operator.yaml"].replace(b"name: other", f"name: {name}".encode())
        town.package(f"{name}-1", content)
    town.install("ping-1")
    async with town.operator():
        await town.until(lambda: "ping in pong in ping" in str(town.statuses()))
        await asyncio.sleep(300)
    assert len(town.statuses()) == 2
    assert town.condition("Stalled", "web-pong")["reason"] == "PlanFailed"


async def test_a_record_that_somebody_took_off_is_written_anew_and_restarts_nobody(town: Town) -> None:
    town.package("shop-1.2.0")
    town.install("shop-1.2.0")
    async with town.operator():
        await town.until(town.ready)
        live = town.there("Deployment", "web")
        template = live["spec"]["template"]
        assert template["metadata"]["annotations"][ANNOTATION_DIGEST]
        notes = {name: text for name, text in live["metadata"]["annotations"].items() if name != ANNOTATION_RECORD}
        town.server.update(
            "apps/deployments", Key(HOME, "web"), {**live, "metadata": {**live["metadata"], "annotations": notes}}
        )
        await town.until(lambda: ANNOTATION_RECORD in town.there("Deployment", "web")["metadata"]["annotations"])
    assert town.there("Deployment", "web")["spec"]["template"] == template
    assert town.rollouts == {}


async def test_an_installation_that_is_being_removed_says_what_that_waits_for(town: Town) -> None:
    tasks = [{"name": "one", "kind": "Apply", "spec": {"resources": ["one.yaml"]}}]
    town.package("other-1", package(tasks, {"deploy": ["one"]}, one=SERVICE.replace("NAME", "one")))
    town.install("other-1")
    async with town.operator():
        await town.until(town.ready)
        live = town.there("Service", "one")
        held = {**live, "metadata": {**live["metadata"], "finalizers": ["example.dev/held"]}}
        town.server.update("/services", Key(HOME, "one"), held)
        town.server.delete("stateward.dev/installations", Key(HOME, "web"), exact(town))
        await town.until(lambda: "Service prod/one is being deleted" in town.status().get("doing", ""))
        assert town.condition("Reconciling")["reason"] == "Removing"
        live = town.there("Service", "one")
        free = {**live, "metadata": {**live["metadata"], "finalizers": []}}
        town.server.update("/services", Key(HOME, "one"), free)
        await town.until(lambda: town.get("Installation", "web") is None)


async def test_an_immutable_value_outlives_a_version_with_another_default(town: Town) -> None:
    town.package("shop-1")
    later = ("default: 1Gi, immutable: true", "default: 9Gi, immutable: true")
    content = files(None, params=later)
    content["operator.yaml"] = content["operator.yaml"].replace(b'"1.2.0"', b'"1.3.0"')
    town.package("shop-2", content)
    town.install("shop-1")
    async with town.operator():
        await town.until(town.ready)
        town.install("shop-2")
        await town.until(lambda: town.ready() and town.status()["installed"]["version"] == "1.3.0")
    assert town.status()["installed"]["parameters"] == {"STORAGE": "1Gi"}


async def test_the_same_content_under_another_name_is_enough_to_keep_things_as_they_are(town: Town) -> None:
    town.package("shop-1.2.0")
    town.package("shop")
    town.install("shop-1.2.0")
    async with town.operator():
        await town.until(town.ready)
        town.install("shop")
        await town.until(town.ready)
        old = town.store.get("stateward.dev/packages", Key(HOME, "shop-1.2.0"))
        assert old is not None
        town.store.remove(old)
        found = town.store.get("/configmaps", Key(HOME, "web-config"))
        assert found is not None
        town.store.remove(found)
        await town.until(lambda: town.get("ConfigMap", "web-config"))
        assert town.condition("Stalled")["status"] == "False"


@pytest.mark.parametrize("target", ["web", "other"])
async def test_replicas_stay_as_an_autoscaler_sets_them_and_else_as_the_package_says(town: Town, target: str) -> None:
    """Disaster prevented: the autoscaler adds pods, the operator takes them away, all day long."""
    town.package("shop-1.2.0")
    town.install("shop-1.2.0", COUNT=3)
    scaler = {"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}}}

    class Scaling:
        """A client of a server that has an autoscaler."""

        def acting_as(self, _user: str) -> Any:
            return self

        def __getattr__(self, name: str) -> Any:
            return getattr(town.api, name)

        async def list(self, resource: Any, selection: Any, options: Any = None) -> Any:
            if resource is AUTOSCALERS:
                return Page((scaler,), "1")
            return await town.api.list(resource, selection, options)

    def replicas() -> int:
        return town.there("Deployment", "web")["spec"]["replicas"]

    async with town.operator(Scaling()):
        await town.until(town.ready)
        live = town.there("Deployment", "web")
        scaled = {**live, "spec": {**live["spec"], "replicas": 7}}
        town.server.update("apps/deployments", Key(HOME, "web"), scaled)
        await asyncio.sleep(60)
        assert replicas() == (7 if target == "web" else 3)
        town.install("shop-1.2.0", COUNT=5)
        await town.until(town.ready)
        assert replicas() == (7 if target == "web" else 5)
