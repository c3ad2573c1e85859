"""Restart control on a real API server: what restarts, what does not, and what an operator that starts again does."""

import asyncio
import os
import signal
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from stateward.kube.client.client import Api, DeleteOptions, PatchKind, Preconditions
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import EVENTS, SECRETS
from stateward.kube.timing.clock import SystemClock
from stateward.operator.process import run_operator
from stateward.operator.restarts.control import RestartControl, Setting
from stateward.operator.restarts.digestkey import NAME as KEY_NAME
from stateward.operator.restarts.views import ANNOTATION_CONTROL, SOURCES, WORKLOADS
from stateward.operator.runtime.options import OperatorOptions
from stateward.packages.restarts.guards import ANNOTATION_PAUSED
from stateward.packages.restarts.restarts import ANNOTATION_BECAUSE, ANNOTATION_DIGEST, ANNOTATION_RECORD
from tests.integration.api_server import PATIENCE, define, own_namespace

pytestmark = pytest.mark.integration
DEPLOYMENTS = WORKLOADS["Deployment"].raw()
CONFIG_MAPS = SOURCES["ConfigMap"].raw()


class Place:
    """A namespace of its own, with a Deployment that uses a ConfigMap and a Secret."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    async def config(self, name: str = "settings", **data: str) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
        await self.api.create(CONFIG_MAPS, body, namespace=self.namespace)

    async def change(self, **data: str | None) -> None:
        await self.api.patch(CONFIG_MAPS, self.key("settings"), {"data": data}, kind=PatchKind.MERGE)

    async def deploy(self) -> None:
        sources = [{"configMapRef": {"name": "settings"}}, {"secretRef": {"name": "password", "optional": True}}]
        pod = {"containers": [{"name": "c", "image": "none:1", "envFrom": sources}]}
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "app", "annotations": {ANNOTATION_CONTROL: "true"}},
            "spec": {
                "selector": {"matchLabels": {"app": "app"}},
                "template": {"metadata": {"labels": {"app": "app"}}, "spec": pod},
            },
        }
        await self.api.create(DEPLOYMENTS, body, namespace=self.namespace)

    async def annotate(self, name: str, value: str | None) -> None:
        patch = {"metadata": {"annotations": {name: value}}}
        await self.api.patch(DEPLOYMENTS, self.key("app"), patch, kind=PatchKind.MERGE)

    async def live(self) -> dict[str, Any]:
        return await self.api.get(DEPLOYMENTS, self.key("app"))

    async def note(self, name: str) -> str:
        return (await self.live())["metadata"].get("annotations", {}).get(name, "")

    async def digest(self) -> str:
        return (await self.live())["spec"]["template"]["metadata"].get("annotations", {}).get(ANNOTATION_DIGEST, "")

    async def digests(self, seconds: float) -> set[str]:
        """Return all digests that the template has within a time: one more would be one more restart."""
        deadline, seen = time.monotonic() + seconds, set[str]()
        while time.monotonic() < deadline:
            seen.add(await self.digest())
            await asyncio.sleep(0.05)
        return seen

    async def until(self, holds: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        deadline = time.monotonic() + PATIENCE
        while not holds(live := await self.live()):
            assert time.monotonic() < deadline, live["metadata"]
            await asyncio.sleep(0.05)
        return live

    async def recorded(self, *words: str) -> dict[str, Any]:
        """Wait until the record on the workload has these words."""
        return await self.until(
            lambda live: all(word in live["metadata"]["annotations"].get(ANNOTATION_RECORD, "") for word in words)
        )

    async def restarted(self, before: str) -> str:
        live = await self.until(
            lambda live: (
                live["spec"]["template"]["metadata"].get("annotations", {}).get(ANNOTATION_DIGEST, "") != before
            )
        )
        return live["metadata"]["annotations"][ANNOTATION_BECAUSE]

    @asynccontextmanager
    async def control(self, settle: float = 0.2) -> AsyncGenerator[RestartControl]:
        clock = SystemClock()
        recorder = EventRecorder(self.api, "stateward.dev/test", "test", clock=clock)
        setting = Setting(self.api, recorder, clock, self.namespace, (self.namespace,), settle=settle)
        control = RestartControl(setting)
        events = asyncio.create_task(recorder.run())
        running = asyncio.create_task(control.run())
        try:
            yield control
        finally:
            await control.stop(5.0)
            await asyncio.wait_for(running, 10)
            await recorder.close()
            with suppress(asyncio.CancelledError):
                await events


@pytest.fixture
async def place(control_plane: Path) -> AsyncGenerator[Place]:
    async with own_namespace(control_plane, "restarts") as (api, namespace):
        yield Place(api, namespace)


async def test_a_change_of_used_data_restarts_once_and_says_which_key(place: Place) -> None:
    await place.config(x="1", y="1")
    await place.deploy()
    async with place.control():
        await place.recorded("settings:x", "settings:y")
        assert await place.digest() == ""
        await place.change(x="2")
        assert await place.restarted("") == "ConfigMap/settings:x"
        assert await place.digests(1.0) == {await place.digest()}


async def test_several_changes_are_one_restart(place: Place) -> None:
    await place.config(x="0", y="0")
    await place.deploy()
    async with place.control(settle=1.0):
        await place.recorded("settings:x")
        for value in ("1", "2", "3"):
            await place.change(x=value)
            await place.change(y=value)
        assert await place.restarted("") == "ConfigMap/settings:x, ConfigMap/settings:y"
        assert await place.digests(2.0) == {await place.digest()}


async def test_what_comes_goes_and_comes_back_restarts_nothing(place: Place) -> None:
    await place.deploy()
    async with place.control():
        await place.recorded("digests")
        await place.config(x="1")
        await place.recorded("settings:x")
        found = await place.api.get(SOURCES["ConfigMap"], place.key("settings"))
        await place.api.delete(CONFIG_MAPS, place.key("settings"), DeleteOptions(Preconditions.of(found)))
        await place.config(x="1")
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "password"}, "stringData": {"p": "word"}}
        await place.api.create(SECRETS.raw(), secret, namespace=place.namespace)
        live = await place.recorded("Secret/password:p")
        assert await place.digest() == ""
        assert "word" not in str(live["metadata"]["annotations"]).replace("password", "")


async def test_an_operator_that_starts_again_restarts_nothing_and_has_missed_nothing(place: Place) -> None:
    await place.config(x="1")
    await place.deploy()
    async with place.control():
        await place.recorded("settings:x")
        await place.change(x="2")
        await place.restarted("")
    first = await place.digest()
    async with place.control():
        await place.config("other", z="1")
        await asyncio.sleep(1.0)
    assert await place.digest() == first
    await place.change(x="3")
    async with place.control():
        assert await place.restarted(first) == "ConfigMap/settings:x"


async def test_another_key_restarts_nothing(place: Place) -> None:
    await place.config(x="1")
    await place.deploy()
    async with place.control():
        record = (await place.recorded("settings:x"))["metadata"]["annotations"][ANNOTATION_RECORD]
    found = await place.api.get(SECRETS, place.key(KEY_NAME))
    await place.api.delete(SECRETS, place.key(KEY_NAME), DeleteOptions(Preconditions.of(found)))
    async with place.control():
        await place.until(lambda live: live["metadata"]["annotations"][ANNOTATION_RECORD] != record)
        assert await place.digest() == ""
        await place.change(x="2")
        assert await place.restarted("") == "ConfigMap/settings:x"


async def test_a_paused_workload_waits_with_an_event_and_continues(place: Place) -> None:
    await place.config(x="1")
    await place.deploy()
    async with place.control():
        await place.recorded("settings:x")
        await place.annotate(ANNOTATION_PAUSED, "true")
        await place.change(x="2")
        deadline = time.monotonic() + PATIENCE
        while not await _events(place, "RestartPaused"):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.05)
        assert await place.digest() == ""
        await place.annotate(ANNOTATION_PAUSED, None)
        assert await place.restarted("") == "ConfigMap/settings:x"


async def test_the_operator_brings_restart_control_with_it(place: Place, control_plane: Path) -> None:
    await define(place.api)
    await place.config(x="1")
    await place.deploy()
    options = OperatorOptions(
        kubeconfig=str(control_plane),
        namespaces=(place.namespace,),
        lease_namespace=place.namespace,
        health_host="127.0.0.1",
        health_port=0,
        metrics_host="127.0.0.1",
        metrics_port=0,
    )
    running = asyncio.create_task(run_operator(options))
    try:
        await place.recorded("settings:x")
        await place.change(x="2")
        assert await place.restarted("") == "ConfigMap/settings:x"
    finally:
        if not running.done():
            os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(running, PATIENCE)


async def _events(place: Place, reason: str) -> list[Any]:
    page = await place.api.list(EVENTS.raw(), Selection(place.namespace))
    return [event for event in page.items if event["reason"] == reason]


async def test_a_workload_that_asks_no_longer_is_left_alone(place: Place) -> None:
    await place.config(x="1")
    await place.deploy()
    async with place.control():
        await place.recorded("settings:x")
        await place.annotate(ANNOTATION_CONTROL, None)
        await place.change(x="2")
        await asyncio.sleep(1.0)
        assert await place.digest() == ""
