"""Tasks, failures, requests, drift and removal, with the shipped controller."""

import asyncio
from typing import Any

import pytest

from stateward.kube.client.exec import ExecError
from stateward.kube.objects.errors import Forbidden, UnknownResource
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.operator.installations.objects.kinds import Raw
from stateward.packages.format.yamltext import to_yaml
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from tests.unit.operator.installations import world as module
from tests.unit.operator.installations.world import HOME, KnownKinds, World
from tests.unit.packages.samples import files

POD = (
    "apiVersion: v1\nkind: Pod\nspec: {initContainers: [{name: i, image: x, volumeMounts: [{name: d, mountPath: /d}]}]}"
)
USER = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: user}
spec:
  selector: {matchLabels: {app: user}}
  template:
    metadata: {labels: {app: user}}
    spec: {containers: [{name: c, image: x, envFrom: [{configMapRef: {name: "{{ .Pipes.made }}"}}]}]}
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: NAME}\nspec: {ports: [{port: 80}]}\n"
JOB = (
    "apiVersion: batch/v1\nkind: Job\nmetadata: {name: job}\n"
    "spec: {template: {spec: {containers: [{name: c, image: x}], restartPolicy: Never}}}\n"
)


@pytest.fixture
async def world() -> World:
    return World()


def package(
    tasks: list[Any], plans: dict[str, list[str]], version: str = "1.0.0", **templates: str
) -> dict[str, bytes]:
    """Return a package with a step for each task of a plan."""
    made = {
        plan: {"phases": [{"name": "main", "steps": [{"name": name, "tasks": [name]} for name in names]}]}
        for plan, names in plans.items()
    }
    head = {"apiVersion": "kudo.dev/v1beta1", "name": "other", "operatorVersion": version, "tasks": tasks}
    found = {"operator.yaml": to_yaml(head | {"plans": made})}
    found |= {f"templates/{name}.yaml": text for name, text in templates.items()}
    return {path: text.encode() for path, text in found.items()}


async def test_a_pipe_reads_what_its_pod_has_made_and_later_steps_use_it(world: World) -> None:
    pipe = {"pod": "pod.yaml", "pipe": [{"file": "/d/index.html", "kind": "ConfigMap", "key": "made"}]}
    tasks = [
        {"name": "pipe", "kind": "Pipe", "spec": pipe},
        {"name": "user", "kind": "Apply", "spec": {"resources": ["user.yaml"]}},
    ]
    world.written["/d/index.html"] = b"hello"
    world.package("other-1", package(tasks, {"deploy": ["pipe", "user"]}, pod=POD, user=USER))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
    assert world.there("ConfigMap", "web-pipe-made")["data"] == {"index.html": "hello"}
    assert world.waiter["image"] == "r.example/stateward@sha256:ab"
    assert world.store.all("/pods") == []
    assert world.there("Deployment", "user")


async def test_a_package_installs_another_and_waits_for_it(world: World) -> None:
    spec = {"package": "shop", "operatorVersion": "1.2.0", "parameterFile": "values.yaml"}
    tasks = [{"name": "inner", "kind": "KudoOperator", "spec": spec}]
    world.package("other-1", package(tasks, {"deploy": ["inner"]}, values="COUNT: 3\n"))
    world.install("other-1", spec={"parameters": {}})
    async with world.operator():
        await world.until(lambda: "no Package of shop" in world.condition("Stalled").get("message", ""))
        world.package("shop-1.2.0", files())
        await world.until(world.ready)
        assert world.there("Deployment", "web-shop")["spec"]["replicas"] == 3
        assert world.ready("web-shop")
        world.server.delete("stateward.dev/swinstallations", _key("web"), _exact(world, "web"))
        await world.until(lambda: world.get("Installation", "web") is None)
        assert world.get("Installation", "web-shop") is None
        assert world.get("Deployment", "web-shop") is None


async def test_a_fatal_step_ends_the_plan_and_the_next_change_begins_another(world: World) -> None:
    tasks = [{"name": "bad", "kind": "Dummy", "spec": {"wantErr": True, "fatal": True}}]
    world.package("other-1", package(tasks, {"deploy": ["bad"]}))
    world.install("other-1")
    async with world.operator():
        await world.until(lambda: world.condition("Stalled").get("reason") == "PlanFailed")
        assert world.status()["run"]["stage"] == "Failed"
        good = [{"name": "bad", "kind": "Dummy", "spec": {"done": True}}]
        world.package("other-2", package(good, {"deploy": ["bad"]}, "2.0.0"))
        world.install("other-2")
        await world.until(world.ready)
    assert [run["stage"] for run in world.status()["history"]] == ["Done", "Failed"]


async def test_a_step_that_takes_too_long_fails_with_what_it_waited_for(world: World) -> None:
    world.package("shop-1.2.0")
    world.healthy = False
    world.install("shop-1.2.0", spec={"stepTimeoutSeconds": 60})
    async with world.operator():
        await world.until(lambda: world.condition("Stalled").get("reason") == "PlanFailed")
    assert "did not finish within 60 seconds" in world.status()["run"]["message"]


async def test_a_requested_plan_runs_once(world: World) -> None:
    world.package("shop-1.2.0")
    world.install("shop-1.2.0")
    async with world.operator():
        await world.until(world.ready)
        world.annotate(ANNOTATION_TRIGGER, "backup/1")
        await world.until(lambda: [run["plan"] for run in world.status()["history"]] == ["backup", "deploy"])
        assert world.there("Job", "backup-job")
        await world.until(world.ready)
        world.annotate(ANNOTATION_TRIGGER, "restore")
        await world.until(lambda: world.condition("Stalled").get("reason") == "PlanUnknown")
    assert "deploy, backup" in world.condition("Stalled")["message"]
    assert len(world.status()["history"]) == 2


async def test_what_others_change_or_remove_is_put_right_without_a_restart(world: World) -> None:
    world.package("shop-1.2.0")
    world.install("shop-1.2.0", EXTRA=True)
    async with world.operator():
        await world.until(world.ready)
        live = world.there("ConfigMap", "web-config")
        world.server.update("/configmaps", _key("web-config"), {**live, "data": {**live["data"], "mode": "mine"}})
        await world.until(lambda: world.there("ConfigMap", "web-config")["data"]["mode"] == "slow")
        found = world.store.get("/services", _key("web-extra"))
        assert found is not None
        world.store.remove(found)
        await world.until(lambda: world.get("Service", "web-extra"))
        assert world.rollouts == {}
        assert world.get("Job", "deploy-job") is None


async def test_what_is_rendered_no_more_goes_and_claims_stay(world: World) -> None:
    claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: data}\nspec: {}\n"
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec: {ports: [{port: 80}]}\n"
    both = [{"name": "a", "kind": "Apply", "spec": {"resources": ["service.yaml", "claim.yaml"]}}]
    less = [{"name": "a", "kind": "Apply", "spec": {"resources": ["service.yaml"]}}]
    world.package("other-1", package(both, {"deploy": ["a"]}, service=service % "one", claim=claim))
    world.package("other-2", package(less, {"deploy": ["a"]}, "2.0.0", service=service % "two"))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        world.install("other-2")
        await world.until(world.ready)
        assert world.get("Service", "one") is None
        assert world.there("Service", "two")
        assert world.there("PersistentVolumeClaim", "data")
        world.server.delete("stateward.dev/swinstallations", _key("web"), _exact(world, "web"))
        await world.until(lambda: world.get("Installation", "web") is None)
    assert world.get("Service", "two") is None
    assert world.there("PersistentVolumeClaim", "data")


async def test_a_namespace_that_goes_takes_its_installations_with_it_and_no_plan_is_begun(
    world: World,
) -> None:
    """Its role bindings may be deleted already: a required removal would keep it forever."""
    tasks: list[Any] = [
        {"name": name, "kind": "Apply", "spec": {"resources": [f"{name}.yaml"]}} for name in ("one", "job")
    ]
    plans = {"deploy": ["one"], "cleanup": ["job"]}
    world.package("other-1", package(tasks, plans, one=SERVICE.replace("NAME", "one"), job=JOB))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        world.forsake(HOME)
        world.server.delete("stateward.dev/swinstallations", _key("web"), _exact(world, "web"))
        await world.until(lambda: world.get("Installation", "web") is None)
    assert world.there("Service", "one")
    assert world.get("Job", "job") is None


async def test_what_cannot_be_removed_is_reported(world: World) -> None:
    tasks = [{"name": "one", "kind": "Apply", "spec": {"resources": ["one.yaml"]}}]
    world.package("other-1", package(tasks, {"deploy": ["one"]}, one=SERVICE.replace("NAME", "one")))
    world.install("other-1")

    class Powerless:
        """A client that may remove nothing any more."""

        def acting_as(self, _user: str) -> Any:
            return self

        def __getattr__(self, name: str) -> Any:
            return getattr(world.api, name)

        async def delete(self, *_: Any) -> None:
            raise Forbidden("services is forbidden")

    async with world.operator(Powerless()):
        await world.until(world.ready)
        world.server.delete("stateward.dev/swinstallations", _key("web"), _exact(world, "web"))
        await world.until(lambda: world.condition("Stalled").get("reason") == "NotRemoved")
        assert "services is forbidden" in world.condition("Stalled")["message"]
    async with world.operator():
        await world.until(lambda: world.get("Installation", "web") is None)


@pytest.mark.parametrize("version", ["v1", "v2"])
async def test_what_is_switched_off_needs_no_kind_that_the_server_does_not_have(
    world: World, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """Served in another version, the object may exist."""

    class Kinds(KnownKinds):
        async def find(self, api_version: str, kind: str) -> Raw:
            if kind != "Monitor":
                return await super().find(api_version, kind)
            if api_version != f"x.dev/{version}" or version == "v1":
                raise UnknownResource("the API server has no Monitor")
            return Resource("x.dev", version, "monitors", kind, dict[str, Any])

        async def preferred(self, group: str, kind: str) -> Raw:
            return await (self.find("x.dev/v2", kind) if kind == "Monitor" else super().preferred(group, kind))

    monkeypatch.setattr(module, "KnownKinds", Kinds)
    monitor = "apiVersion: x.dev/v1\nkind: Monitor\nmetadata: {name: m}\n"
    tasks = [{"name": "off", "kind": "Delete", "spec": {"resources": ["monitor.yaml"]}}]
    world.package("other-1", package(tasks, {"deploy": ["off"]}, monitor=monitor))
    world.install("other-1")
    async with world.operator():
        if version == "v1":
            await world.until(world.ready)
        else:
            await world.until(lambda: "no Monitor" in world.condition("Stalled").get("message", ""))


async def test_a_pod_that_has_ended_before_its_files_were_read_is_recreated(world: World) -> None:
    """Its container waits for a day. The disaster this prevents: a right comes later, and the plan never ends."""
    pipe = {"pod": "pod.yaml", "pipe": [{"file": "/d/f", "kind": "ConfigMap", "key": "made"}]}
    world.package("other-1", package([{"name": "p", "kind": "Pipe", "spec": pipe}], {"deploy": ["p"]}, pod=POD))
    world.install("other-1")
    ended = list[str]()

    async def execute(pod: Key, *_: Any) -> bytes:
        uid = _uid(world, pod.name)
        ended[:] = ended or [uid]
        if uid in ended:
            raise ExecError("the container does not run")
        return b"hello"

    async with world.operator(execute=lambda _user: execute):
        await world.until(lambda: ended)
        world.healthy = False
        await asyncio.sleep(1)
        world.say("Pod", "web-pipe-p", {"phase": "Succeeded", "conditions": []})
        await world.until(lambda: world.get("Pod", "web-pipe-p") and _uid(world, "web-pipe-p") not in ended)
        world.say("Pod", "web-pipe-p", {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]})
        await world.until(world.ready)
    assert world.there("ConfigMap", "web-pipe-made")["data"] == {"f": "hello"}


async def test_a_workload_that_names_too_many_objects_ends_the_plan_before_any_of_them_is_read(world: World) -> None:
    source = "{{ range until 501 }}{envFrom: [{secretRef: {name: 's{{ . }}'}}], name: 'c{{ . }}', image: x}, {{ end }}"
    app = USER.replace('{name: c, image: x, envFrom: [{configMapRef: {name: "{{ .Pipes.made }}"}}]}', source)
    tasks = [{"name": "user", "kind": "Apply", "spec": {"resources": ["user.yaml"]}}]
    world.package("other-1", package(tasks, {"deploy": ["user"]}, user=app))
    world.install("other-1")
    async with world.operator():
        await world.until(lambda: world.condition("Stalled").get("reason") == "PlanFailed")
    assert "its pods use 501 ConfigMaps and Secrets, and may use 500" in world.status()["run"]["message"]


async def test_objects_of_other_namespaces_are_refused(world: World) -> None:
    service = "apiVersion: v1\nkind: Service\nmetadata: {name: a, namespace: stateward}\nspec: {ports: [{port: 80}]}\n"
    tasks = [{"name": "a", "kind": "Apply", "spec": {"resources": ["service.yaml"]}}]
    world.package("other-1", package(tasks, {"deploy": ["a"]}, service=service))
    world.install("other-1")
    async with world.operator():
        await world.until(lambda: world.condition("Stalled").get("reason") == "PlanFailed")
    assert "in its own namespace prod only" in world.status()["run"]["message"]


def _uid(world: World, pod: str) -> str:
    return world.there("Pod", pod)["metadata"]["uid"]


def _key(name: str) -> Any:
    from stateward.kube.objects.metadata import Key

    return Key(HOME, name)


def _exact(world: World, name: str) -> Any:
    from stateward.kube.client.client import DeleteOptions, Preconditions

    return DeleteOptions(Preconditions(world.there("Installation", name)["metadata"]["uid"]))
