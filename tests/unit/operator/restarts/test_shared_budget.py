"""Workloads that share a disruption budget and data restart one after the other: never as many at once as there are."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.restarts.control import RestartControl, Setting
from stateward.operator.restarts.views import ANNOTATION_CONTROL
from tests.unit.operator.installations.world import HOME, World

NAMES = ("one", "two", "three")


@asynccontextmanager
async def controlled() -> AsyncGenerator[World]:
    """Give a world with three workloads of one budget that use the same data, and with restart control."""
    world, clock = World(), VirtualClock()
    recorder = EventRecorder(world.api, "stateward.dev/test", "test", clock=clock)
    control = RestartControl(Setting(world.api, recorder, clock, "stateward"))
    world.server.create("/configmaps", HOME, {"metadata": {"name": "words"}, "data": {"a": "1"}})
    container = {"name": "c", "image": "x", "envFrom": [{"configMapRef": {"name": "words"}}]}
    for name in NAMES:
        labels = {"app": name, "group": "all"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        meta = {"name": name, "annotations": {ANNOTATION_CONTROL: "true"}}
        spec = {"selector": {"matchLabels": {"app": name}}, "template": template}
        world.server.create("apps/deployments", HOME, {"metadata": meta, "spec": spec})
    budget = {"maxUnavailable": 1, "selector": {"matchLabels": {"group": "all"}}}
    world.server.create("policy/poddisruptionbudgets", HOME, {"metadata": {"name": "shared"}, "spec": budget})
    tasks = [asyncio.create_task(recorder.run()), asyncio.create_task(control.run())]
    await asyncio.sleep(120)
    allow(world, 1)
    world.rollouts.clear()
    try:
        yield world
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def allow(world: World, disruptions: int) -> None:
    """Write what the disruption controller has counted; it counts later than pods go."""
    seen = world.there("PodDisruptionBudget", "shared")["metadata"]["generation"]
    world.say("PodDisruptionBudget", "shared", {"observedGeneration": seen, "disruptionsAllowed": disruptions})


def change(world: World, text: str) -> None:
    words: Any = world.there("ConfigMap", "words")
    world.server.update("/configmaps", Key(HOME, "words"), {**words, "data": {"a": text}})


async def test_the_next_workload_restarts_when_the_pods_of_the_one_before_are_there() -> None:
    async with controlled() as world:
        world.healthy = False
        for done in (1, 2, 3):
            if done == 1:
                change(world, "2")
            await asyncio.sleep(60)
            assert len(world.rollouts) == done
            world.roll_out()
            world.healthy = False
            await asyncio.sleep(0.1)
        await asyncio.sleep(60)
        assert world.rollouts == dict.fromkeys(NAMES, 1)


async def test_a_restart_that_never_completes_holds_the_others_for_ten_minutes_at_most() -> None:
    async with controlled() as world:
        world.healthy = False
        change(world, "2")
        await asyncio.sleep(500)
        assert len(world.rollouts) == 1
        await asyncio.sleep(200)
        assert len(world.rollouts) == 2


@pytest.mark.parametrize("allowed", [0, 1])
async def test_a_budget_holds_what_it_did_before(allowed: int) -> None:
    async with controlled() as world:
        allow(world, allowed)
        change(world, "2")
        await asyncio.sleep(300)
        assert world.rollouts == (dict.fromkeys(NAMES, 1) if allowed else {})
