"""A workload that left restart control and comes under control again: what has changed meanwhile restarts nothing."""

import asyncio
from typing import Any

import pytest

from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.restarts.control import RestartControl, Setting
from stateward.operator.restarts.views import ANNOTATION_CONTROL
from stateward.packages.plans.steps import LABEL_INSTALLATION
from stateward.packages.restarts.restarts import ANNOTATION_RECORD
from tests.unit.operator.installations.test_failing_restarts import POD
from tests.unit.operator.installations.test_restarts import put
from tests.unit.operator.installations.world import HOME, World


def annotate(world: World, value: str | None) -> None:
    """Request restart control of the workload, or no longer."""
    live = world.there("Deployment", "app")
    notes: dict[str, Any] = {**live["metadata"]["annotations"], ANNOTATION_CONTROL: value}
    kept = {name: text for name, text in notes.items() if text is not None}
    body = {**live, "metadata": {**live["metadata"], "annotations": kept}}
    world.server.update("apps/deployments", Key(HOME, "app"), body)


def record(world: World) -> str:
    return world.there("Deployment", "app")["metadata"]["annotations"].get(ANNOTATION_RECORD, "")


@pytest.mark.parametrize("installed", [False, True])
async def test_it_is_as_new_unless_the_record_is_that_of_an_installation(*, installed: bool) -> None:
    world, clock = World(), VirtualClock()
    put(world, "words", "1")
    container = {"name": "c", "image": "x", "envFrom": [{"configMapRef": {"name": "words"}}]}
    spec: Any = {"selector": {"matchLabels": {"a": "b"}}, "template": {**POD, "spec": {"containers": [container]}}}
    labels = {LABEL_INSTALLATION: "web"} if installed else {}
    meta = {"name": "app", "annotations": {ANNOTATION_CONTROL: "true"}, "labels": labels}
    world.server.create("apps/deployments", HOME, {"metadata": meta, "spec": spec})
    recorder = EventRecorder(world.api, "stateward.dev/test", "test", clock=clock)
    running = asyncio.create_task(RestartControl(Setting(world.api, recorder, clock, "stateward")).run())
    await asyncio.sleep(120)
    annotate(world, None)
    await asyncio.sleep(120)
    assert bool(record(world)) is installed
    put(world, "words", "2")
    await asyncio.sleep(120)
    if not installed:
        annotate(world, "true")
        await asyncio.sleep(120)
        assert (world.rollouts, bool(record(world))) == ({}, True)
        put(world, "words", "3")
        await asyncio.sleep(120)
        assert world.rollouts == {"app": 1}
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
