"""What was half done is taken back, and what differs each time is made once, with the shipped controller."""

import asyncio
from typing import Any

import pytest

from stateward.kube.client.client import DeleteOptions, Page, Preconditions
from stateward.kube.objects.metadata import Key
from stateward.operator.installations import status_writer
from stateward.operator.installations.objects.scaling import AUTOSCALERS
from stateward.packages.format.yamltext import to_yaml
from stateward.packages.restarts.restarts import ANNOTATION_DIGEST, ANNOTATION_RECORD
from tests.unit.operator.installations.execution.test_tasks import POD, SERVICE, package
from tests.unit.operator.installations.world import HOME, World
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


def exact(world: World) -> DeleteOptions:
    return DeleteOptions(Preconditions(world.there("Installation", "web")["metadata"]["uid"]))


@pytest.fixture
async def world() -> World:
    return World()


async def test_an_upgrade_that_failed_half_way_is_reverted_by_asking_for_the_version_of_before(
    world: World,
) -> None:
    config = {"name": "config", "kind": "Apply", "spec": {"resources": ["config.yaml"]}}
    bad = {"name": "bad", "kind": "Dummy", "spec": {"wantErr": True, "fatal": True}}
    world.package("other-1", package([config], {"deploy": ["config"]}, config=CONFIG % "one"))
    world.package("other-2", package([config, bad], {"deploy": ["config", "bad"]}, "2.0.0", config=CONFIG % "two"))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        world.install("other-2")
        await world.until(lambda: world.condition("Stalled").get("reason") == "PlanFailed")
        assert world.there("ConfigMap", "config")["data"] == {"of": "two"}
        world.install("other-1")
        await world.until(world.ready)
    assert world.there("ConfigMap", "config")["data"] == {"of": "one"}
    assert world.status()["installed"]["version"] == "1.0.0"


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


async def test_a_pipe_runs_once_for_a_run_however_long_its_step_waits_for_something_else(
    world: World,
) -> None:
    """Disaster prevented: a new password each few seconds, and pods that restart for each of them."""
    world.written = Fresh()
    world.package("other-1", piped("1.0.0"))
    world.package("other-2", piped("2.0.0"))
    world.install("other-1")
    async with world.operator():
        await world.until(lambda: world.get("Secret", "web-pipe-made"))
        before = world.there("Secret", "web-pipe-made")["data"]
        await asyncio.sleep(120)
        assert world.there("Secret", "web-pipe-made")["data"] == before
        assert world.store.all("/pods") == []
        world.install("other-2")
        await world.until(lambda: world.there("Secret", "web-pipe-made")["data"] != before)
        await asyncio.sleep(120)
    assert world.written.reads == 2


async def test_packages_that_install_each_other_are_reported_as_endless(world: World) -> None:
    def installs(name: str) -> dict[str, Any]:
        return {"name": "inner", "kind": "KudoOperator", "spec": {"package": name}}

    for name, inner in (("ping", "pong"), ("pong", "ping")):
        content = package([installs(inner)], {"deploy": ["inner"]})
        content["operator.yaml"] = content["operator.yaml"].replace(b"name: other", f"name: {name}".encode())
        world.package(f"{name}-1", content)
    world.install("ping-1")
    async with world.operator():
        await world.until(lambda: "ping in pong in ping" in str(world.statuses()))
        await asyncio.sleep(300)
    assert len(world.statuses()) == 2
    assert world.condition("Stalled", "web-pong")["reason"] == "PlanFailed"


async def test_a_record_that_a_user_removed_is_written_again_without_a_restart(world: World) -> None:
    world.package("shop-1.2.0")
    world.install("shop-1.2.0")
    async with world.operator():
        await world.until(world.ready)
        live = world.there("Deployment", "web")
        template = live["spec"]["template"]
        assert template["metadata"]["annotations"][ANNOTATION_DIGEST]
        notes = {name: text for name, text in live["metadata"]["annotations"].items() if name != ANNOTATION_RECORD}
        world.server.update(
            "apps/deployments", Key(HOME, "web"), {**live, "metadata": {**live["metadata"], "annotations": notes}}
        )
        await world.until(lambda: ANNOTATION_RECORD in world.there("Deployment", "web")["metadata"]["annotations"])
    assert world.there("Deployment", "web")["spec"]["template"] == template
    assert world.rollouts == {}


async def test_an_installation_that_is_being_removed_says_what_that_waits_for(world: World) -> None:
    tasks = [{"name": "one", "kind": "Apply", "spec": {"resources": ["one.yaml"]}}]
    world.package("other-1", package(tasks, {"deploy": ["one"]}, one=SERVICE.replace("NAME", "one")))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        live = world.there("Service", "one")
        held = {**live, "metadata": {**live["metadata"], "finalizers": ["example.dev/held"]}}
        world.server.update("/services", Key(HOME, "one"), held)
        world.server.delete("stateward.dev/swinstallations", Key(HOME, "web"), exact(world))
        await world.until(lambda: "Service prod/one is being deleted" in world.status().get("activity", ""))
        assert world.condition("Reconciling")["reason"] == "Removing"
        live = world.there("Service", "one")
        free = {**live, "metadata": {**live["metadata"], "finalizers": []}}
        world.server.update("/services", Key(HOME, "one"), free)
        await world.until(lambda: world.get("Installation", "web") is None)


async def test_an_immutable_value_outlives_a_version_with_another_default(world: World) -> None:
    world.package("shop-1")
    later = ("default: 1Gi, immutable: true", "default: 9Gi, immutable: true")
    content = files(None, params=later)
    content["operator.yaml"] = content["operator.yaml"].replace(b'"1.2.0"', b'"1.3.0"')
    world.package("shop-2", content)
    world.install("shop-1")
    async with world.operator():
        await world.until(world.ready)
        world.install("shop-2")
        await world.until(lambda: world.ready() and world.status()["installed"]["version"] == "1.3.0")
    assert world.status()["installed"]["parameters"] == {"STORAGE": "1Gi"}


async def test_the_same_content_under_another_name_is_enough_to_keep_things_as_they_are(
    world: World,
) -> None:
    world.package("shop-1.2.0")
    world.package("shop")
    world.install("shop-1.2.0")
    async with world.operator():
        await world.until(world.ready)
        world.install("shop")
        await world.until(world.ready)
        old = world.store.get("stateward.dev/swpackages", Key(HOME, "shop-1.2.0"))
        assert old is not None
        world.store.remove(old)
        found = world.store.get("/configmaps", Key(HOME, "web-config"))
        assert found is not None
        world.store.remove(found)
        await world.until(lambda: world.get("ConfigMap", "web-config"))
        assert world.condition("Stalled")["status"] == "False"


@pytest.mark.parametrize("target", ["web", "other"])
async def test_replicas_stay_as_an_autoscaler_sets_them_and_else_as_the_package_says(world: World, target: str) -> None:
    """Disaster prevented: the autoscaler adds pods, the operator takes them away, all day long."""
    world.package("shop-1.2.0")
    world.install("shop-1.2.0", COUNT=3)
    scaler = {"spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target}}}

    class Scaling:
        """A client of a server that has an autoscaler."""

        def acting_as(self, _user: str) -> Any:
            return self

        def __getattr__(self, name: str) -> Any:
            return getattr(world.api, name)

        async def list(self, resource: Any, selection: Any, options: Any = None) -> Any:
            if resource is AUTOSCALERS:
                return Page((scaler,), "1")
            return await world.api.list(resource, selection, options)

    def replicas() -> int:
        return world.there("Deployment", "web")["spec"]["replicas"]

    async with world.operator(Scaling()):
        await world.until(world.ready)
        live = world.there("Deployment", "web")
        scaled = {**live, "spec": {**live["spec"], "replicas": 7}}
        world.server.update("apps/deployments", Key(HOME, "web"), scaled)
        await asyncio.sleep(60)
        assert replicas() == (7 if target == "web" else 3)
        world.install("shop-1.2.0", COUNT=5)
        await world.until(world.ready)
        assert replicas() == (7 if target == "web" else 5)


SECRET = "apiVersion: v1\nkind: Secret\nmetadata: {name: login}\nstringData: %s\n"


async def test_a_key_of_a_secret_that_a_package_no_longer_writes_as_text_goes(world: World) -> None:
    tasks = [{"name": "one", "kind": "Apply", "spec": {"resources": ["one.yaml"]}}]
    for version, data in (("1.0.0", "{user: me, old: word}"), ("2.0.0", "{user: me}")):
        world.package(f"other-{version}", package(tasks, {"deploy": ["one"]}, version, one=SECRET % data))
    world.install("other-1.0.0")
    async with world.operator():
        await world.until(world.ready)
        assert world.there("Secret", "login")["data"] == {"user": "bWU=", "old": "d29yZA=="}
        world.install("other-2.0.0")
        await world.until(world.ready)
    assert world.there("Secret", "login")["data"] == {"user": "bWU="}


async def test_a_package_with_objects_of_too_many_kinds_says_so(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_writer, "MOST_KINDS", 1)
    world.package("shop-1")
    world.install("shop-1")
    async with world.operator():
        await world.until(lambda: "more than 1 kinds" in world.condition("Stalled").get("message", ""))
