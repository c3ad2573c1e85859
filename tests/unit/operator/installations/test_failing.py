"""An installation whose rounds fail unexpectedly says so, and goes on when they succeed."""

import asyncio
from typing import Any

import pytest

from tests.unit.operator.installations.world import World


@pytest.fixture
async def world() -> World:
    return World()


async def test_it_is_not_ready_while_its_rounds_fail_and_is_again_afterwards(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.package("shop-1")
    world.install("shop-1")
    async with world.operator():
        await world.until(world.ready)
        generation = world.status()["observedGeneration"]

        def broken(*_: Any) -> Any:
            raise KeyError("hunter2")

        with monkeypatch.context() as patched:
            patched.setattr("stateward.operator.installations.reconcile.decide", broken)
            world.install("shop-1", COUNT="3")
            await world.until(lambda: world.condition("Stalled").get("reason") == "ReconciliationFailing")
            await asyncio.sleep(600)
            assert world.condition("Ready")["status"] == "False"
            assert world.condition("Stalled")["status"] == "True"
            assert "KeyError" in world.status()["activity"]
            assert world.status()["observedGeneration"] == generation
            assert "hunter2" not in str(world.status())
            events = [stored.doc for stored in world.store.all("events.k8s.io/events")]
            assert any(event["reason"] == "ReconciliationFailing" for event in events)
            assert "hunter2" not in str(events)
        await world.until(world.ready, 900)
        assert world.condition("Stalled")["status"] == "False"
