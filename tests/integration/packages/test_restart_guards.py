"""Restart control on a real API server: every way in which pods use data, and everything that holds a restart back."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from stateward.kube.client.client import Api, ApplyOptions, DeleteOptions, PatchKind, Preconditions
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import BUDGETS, EVENTS, SECRETS
from stateward.kube.timing.clock import SystemClock
from stateward.operator.restarts.control import RestartControl, Setting
from stateward.operator.restarts.views import ANNOTATION_CONTROL, PROVIDER_CLASSES, SOURCES, WORKLOADS
from stateward.packages.restarts.digests import ANNOTATION_SKIP
from stateward.packages.restarts.guards import ANNOTATION_WINDOW
from stateward.packages.restarts.restarts import ANNOTATION_BECAUSE, ANNOTATION_DIGEST, ANNOTATION_RECORD
from tests.integration.api_server import DEFINITIONS, PATIENCE, own_namespace, run_pods
from tests.support.background import at_work

pytestmark = pytest.mark.integration
CONFIG_MAPS = SOURCES["ConfigMap"].raw()
CLASSES: dict[str, Any] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "secretproviderclasses.secrets-store.csi.x-k8s.io"},
    "spec": {
        "group": "secrets-store.csi.x-k8s.io",
        "scope": "Namespaced",
        "names": {"kind": "SecretProviderClass", "plural": "secretproviderclasses", "singular": "secretproviderclass"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


class Place:
    """A namespace of its own, with workloads that use what a test says."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    async def put(self, kind: str, name: str, skip: str = "", **data: str) -> None:
        """Make a ConfigMap or Secret, or give the one there is other data."""
        field = "stringData" if kind == "Secret" else "data"
        notes = {"annotations": {ANNOTATION_SKIP: skip}} if skip else {}
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, **notes}, field: data}
        await self.api.apply(SOURCES[kind].raw(), self.key(name), body, ApplyOptions("test", force=True))

    async def workload(self, kind: str, name: str, replicas: int = 1, volumes: Any = (), **container: Any) -> None:
        mounts = [{"name": volume["name"], "mountPath": f"/{volume['name']}"} for volume in volumes]
        inside = {"name": "app", "image": "app", "volumeMounts": mounts, **container}
        pod = {"containers": [inside], "volumes": list(volumes)}
        spec: dict[str, Any] = {
            "selector": {"matchLabels": {"app": name}},
            "template": {"metadata": {"labels": {"app": name, "group": "all"}}, "spec": pod},
        }
        spec |= {} if kind == "DaemonSet" else {"replicas": replicas}
        spec |= {"serviceName": name} if kind == "StatefulSet" else {}
        meta = {"name": name, "annotations": {ANNOTATION_CONTROL: "true"}}
        body = {"apiVersion": "apps/v1", "kind": kind, "metadata": meta, "spec": spec}
        await self.api.create(WORKLOADS[kind].raw(), body, namespace=self.namespace)

    async def live(self, kind: str, name: str) -> dict[str, Any]:
        return await self.api.get(WORKLOADS[kind].raw(), self.key(name))

    async def digest(self, kind: str, name: str) -> str:
        template = (await self.live(kind, name))["spec"]["template"]["metadata"]
        return template.get("annotations", {}).get(ANNOTATION_DIGEST, "")

    async def recorded(self, kind: str, name: str, *words: str) -> None:
        """Wait until the record on a workload has these words."""
        deadline = time.monotonic() + PATIENCE
        while True:
            said = (await self.live(kind, name))["metadata"]["annotations"].get(ANNOTATION_RECORD, "")
            if said and all(word in said for word in words):
                return
            assert time.monotonic() < deadline, said
            await asyncio.sleep(0.05)

    async def restarted(self, kind: str, name: str, before: str = "") -> str:
        """Wait until a workload's digest is another one; return what that is owed to."""
        deadline = time.monotonic() + PATIENCE
        while await self.digest(kind, name) == before:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        return (await self.live(kind, name))["metadata"]["annotations"][ANNOTATION_BECAUSE]

    async def told(self, reason: str) -> str:
        """Wait for an event with a reason; return what it says."""
        deadline = time.monotonic() + PATIENCE
        while True:
            page = await self.api.list(EVENTS.raw(), Selection(self.namespace))
            if found := [event["note"] for event in page.items if event["reason"] == reason]:
                return found[0]
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)

    @asynccontextmanager
    async def control(self) -> AsyncGenerator[None]:
        clock = SystemClock()
        recorder = EventRecorder(self.api, "stateward.dev/test", "test", clock=clock)
        setting = Setting(self.api, recorder, clock, self.namespace, (self.namespace,), settle=0.2, classes=0.5)
        control = RestartControl(setting)
        async with at_work(recorder.run(), control.run(), run_pods(self.api, self.namespace)):
            yield


@pytest.fixture
async def place(control_plane: Path) -> AsyncGenerator[Place]:
    async with own_namespace(control_plane, "guards") as (api, namespace):
        yield Place(api, namespace)


PROJECTED = {
    "name": "all",
    "projected": {
        "sources": [
            {"configMap": {"name": "a", "items": [{"key": "x", "path": "x"}]}},
            {"secret": {"name": "b"}},
        ]
    },
}


@pytest.mark.parametrize("kind", ["Deployment", "StatefulSet", "DaemonSet"])
async def test_projected_volumes_count_by_the_keys_that_they_have(place: Place, kind: str) -> None:
    await place.put("ConfigMap", "a", x="1", y="1")
    await place.put("Secret", "b", p="1")
    await place.workload(kind, "app", volumes=[PROJECTED])
    async with place.control():
        await place.recorded(kind, "app", "ConfigMap/a:x", "Secret/b:p")
        await place.put("ConfigMap", "a", x="1", y="2")
        await asyncio.sleep(1.0)
        assert await place.digest(kind, "app") == ""
        await place.put("Secret", "b", p="2")
        assert await place.restarted(kind, "app") == "Secret/b:p"


async def test_keys_that_are_taken_out_by_name_restart_nothing(place: Place) -> None:
    await place.put("ConfigMap", "a", "level, size", level="1", port="1")
    await place.workload("Deployment", "app", envFrom=[{"configMapRef": {"name": "a"}}])
    async with place.control():
        await place.recorded("Deployment", "app", "ConfigMap/a:port")
        await place.put("ConfigMap", "a", "level, size", level="2", size="9", port="1")
        await place.recorded("Deployment", "app", "ConfigMap/a:size")
        assert await place.digest("Deployment", "app") == ""
        await place.put("ConfigMap", "a", "level, size", level="3", size="9", port="2")
        assert await place.restarted("Deployment", "app") == "ConfigMap/a:port"


async def test_an_object_that_is_recreated_as_it_was_restarts_nothing(place: Place) -> None:
    await place.put("Secret", "b", p="1")
    await place.workload("StatefulSet", "app", envFrom=[{"secretRef": {"name": "b"}}])
    async with place.control():
        await place.recorded("StatefulSet", "app", "Secret/b:p")
        for value in ("1", "2"):
            found = await place.api.get(SECRETS, place.key("b"))
            await place.api.delete(SECRETS, place.key("b"), DeleteOptions(Preconditions.of(found)))
            await asyncio.sleep(0.5)
            await place.put("Secret", "b", p=value)
            await asyncio.sleep(1.0)
            assert bool(await place.digest("StatefulSet", "app")) is (value == "2")


async def test_a_provider_class_of_the_secrets_store_counts(place: Place) -> None:
    await place.api.apply(DEFINITIONS, Key("", CLASSES["metadata"]["name"]), CLASSES, ApplyOptions("test", force=True))
    await put_class(place, "first")
    attributes = {"secretProviderClass": "vault"}
    volume = {"name": "v", "csi": {"driver": "secrets-store.csi.k8s.io", "volumeAttributes": attributes}}
    await place.workload("Deployment", "app", volumes=[volume])
    async with place.control():
        await place.recorded("Deployment", "app", "SecretProviderClass/vault")
        await put_class(place, "second")
        assert await place.restarted("Deployment", "app") == "SecretProviderClass/vault:spec"


async def put_class(place: Place, path: str) -> None:
    """Make the provider class, as soon as the server serves its kind, or change it."""
    api_version = PROVIDER_CLASSES.api_version
    spec = {"provider": "vault", "parameters": {"objects": path}}
    body = {"apiVersion": api_version, "kind": "SecretProviderClass", "metadata": {"name": "vault"}, "spec": spec}
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            await place.api.apply(PROVIDER_CLASSES.raw(), place.key("vault"), body, ApplyOptions("test", force=True))
        except ApiError:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.2)
        else:
            return


async def test_a_restart_waits_for_its_window_and_says_when_it_opens(place: Place) -> None:
    await place.put("ConfigMap", "a", x="1")
    await place.workload("Deployment", "app", envFrom=[{"configMapRef": {"name": "a"}}])
    async with place.control():
        await place.recorded("Deployment", "app", "ConfigMap/a:x")
        start = datetime.now(UTC) + timedelta(hours=2)
        await _window(place, f"{start:%H:%M}-{start + timedelta(hours=1):%H:%M}")
        await place.put("ConfigMap", "a", x="2")
        assert f"opens at {start:%Y-%m-%d %H:%M} UTC" in await place.told("RestartOutsideWindow")
        assert await place.digest("Deployment", "app") == ""
        now = datetime.now(UTC)
        await _window(place, f"{now - timedelta(hours=1):%H:%M}-{now + timedelta(hours=1):%H:%M}")
        assert await place.restarted("Deployment", "app") == "ConfigMap/a:x"


async def _window(place: Place, window: str) -> None:
    patch = {"metadata": {"annotations": {ANNOTATION_WINDOW: window}}}
    await place.api.patch(WORKLOADS["Deployment"], place.key("app"), patch, kind=PatchKind.MERGE)


async def test_a_budget_that_allows_nothing_holds_a_healthy_workload(place: Place) -> None:
    await place.put("ConfigMap", "a", x="1")
    await place.workload("Deployment", "app", envFrom=[{"configMapRef": {"name": "a"}}])
    spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"group": "all"}}}
    head = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "tight"}}
    await place.api.create(BUDGETS.raw(), head | {"spec": spec}, namespace=place.namespace)
    async with place.control():
        await place.recorded("Deployment", "app", "ConfigMap/a:x")
        deadline = time.monotonic() + PATIENCE
        while (await place.live("Deployment", "app")).get("status", {}).get("availableReplicas") != 1:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)
        await place.put("ConfigMap", "a", x="2")
        assert "PodDisruptionBudget tight allows a disruption" in await place.told("RestartOverBudget")
        assert await place.digest("Deployment", "app") == ""
        loose = {"spec": {"maxUnavailable": 1}}
        await place.api.patch(BUDGETS, place.key("tight"), loose, kind=PatchKind.MERGE)
        assert await place.restarted("Deployment", "app") == "ConfigMap/a:x"
