"""An installation whose rounds fail unexpectedly says so, and goes on when they succeed."""

import asyncio
from typing import Any

import pytest

from tests.unit.operator.installations.town import Town


@pytest.fixture
async def town() -> Town:
    return Town()


async def test_it_is_not_ready_while_its_rounds_fail_and_is_again_afterwards(
    town: Town, monkeypatch: pytest.MonkeyPatch
) -> None:
    town.package("shop-1")
    town.install("shop-1")
    async with town.operator():
        await town.until(town.ready)
        generation = town.status()["observedGeneration"]

        def broken(*_: Any) -> Any:
            raise KeyError("hunter2")

        with monkeypatch.context() as patched:
            patched.setattr("stateward.operator.installations.reconcile.decide", broken)
            town.install("shop-1", COUNT="3")
            await town.until(lambda: town.condition("Stalled").get("reason") == "RoundsFail")
            await asyncio.sleep(600)
            assert town.condition("Ready")["status"] == "False"
            assert town.condition("Stalled")["status"] == "True"
            assert "KeyError" in town.status()["doing"]
            assert town.status()["observedGeneration"] == generation
            assert "hunter2" not in str(town.status())
            events = [stored.doc for stored in town.store.all("events.k8s.io/events")]
            assert any(event["reason"] == "RoundsFail" for event in events)
            assert "hunter2" not in str(events)
        await town.until(town.ready, 900)
        assert town.condition("Stalled")["status"] == "False"
