"""Packages that are slow to open or to render block no other installation, with the shipped controller."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from stateward.operator.installations.execution.jobs import OpenPackage, RenderStep
from tests.unit.operator.installations.execution.test_tasks import SERVICE, package
from tests.unit.operator.installations.world import World


class Held:
    """Does work of one kind when it may, and all other work at once."""

    def __init__(self, holds: Callable[[Any], bool]) -> None:
        self._holds = holds
        self.begun = asyncio.Event()
        self.may = asyncio.Event()

    async def __call__(self, job: Any) -> Any:
        if self._holds(job):
            self.begun.set()
            await self.may.wait()
        return job.do()


def renders_slow(job: Any) -> bool:
    return isinstance(job, RenderStep) and job.use.name == "slow"


def opens_slow(job: Any) -> bool:
    return isinstance(job, OpenPackage) and job.body.metadata.name == "slow-1"


@pytest.mark.parametrize("holds", [renders_slow, opens_slow])
async def test_others_are_installed_changed_and_put_right_while_one_takes_long(holds: Callable[[Any], bool]) -> None:
    world, held = World(), Held(holds)
    tasks = [{"name": "one", "kind": "Apply", "spec": {"resources": ["one.yaml"]}}]
    world.package("slow-1", package(tasks, {"deploy": ["one"]}, one=SERVICE.replace("NAME", "one")))
    world.package("shop-1.2.0")
    world.install("slow-1", "slow")
    async with world.operator(background=held):
        await world.until(held.begun.is_set)
        world.install("shop-1.2.0", "web", COUNT=3)
        await world.until(world.ready)
        world.install("shop-1.2.0", "web", COUNT=4)
        await world.until(world.ready)
        assert world.there("Deployment", "web")["spec"]["replicas"] == 4
        assert world.get("Service", "one") is None
        held.may.set()
        await world.until(lambda: world.ready("slow"))
        assert world.there("Service", "one")
