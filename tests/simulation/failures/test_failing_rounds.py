"""Rounds that fail for a reason that nobody has thought of: people read it, and the operator goes on trying."""

import asyncio
from typing import Any

import pytest

from tests.simulation.story import PODS, Story, hot, managers

pytestmark = pytest.mark.simulation


def condition(story: Story, kind: str) -> dict[str, Any]:
    return next(c for c in story.status["conditions"] if c["type"] == kind)


async def test_a_cluster_whose_rounds_fail_says_so_and_is_itself_again_after_the_first_that_succeeds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with Story(managers(1), hot(2)).told() as story:
        await story.begin()
        pods, observed = story.uids(PODS), story.status["observedGeneration"]

        def broken(*_: Any, **__: Any) -> Any:
            raise ValueError("hunter2 is no number")

        with monkeypatch.context() as patched:
            patched.setattr("stateward.operator.clusters.reconcile.observation", broken)
            story.edit(config={"indices.first": 1})
            assert await story.until(lambda: condition(story, "Stalled")["reason"] == "RoundsFail", 60.0)
            await asyncio.sleep(600.0)
            ready = condition(story, "Ready")
            assert (ready["status"], ready["reason"]) == ("False", "RoundsFail")
            assert condition(story, "Stalled")["status"] == "True"
            assert story.status["observedGeneration"] == observed
            assert "ValueError" in story.waits
            assert "hunter2" not in str(story.status)
            events = [s.doc for s in story.world.store.all("events.k8s.io/events")]
            assert any(event["reason"] == "RoundsFail" for event in events)
            assert "hunter2" not in str(events)
            assert story.uids(PODS) == pods
        assert {violation.property for violation in story.run.violations} == {"crash"}
        story.run.violations.clear()
        await story.settle()
        assert "RoundsFail" not in str(story.status)
        assert all(n.config.get("indices.first") == 1 for n in story.nodes())
