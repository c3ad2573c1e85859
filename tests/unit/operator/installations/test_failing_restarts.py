"""A workload under restart control whose rounds fail unexpectedly: an event on it says so."""

import asyncio
from typing import Any

import pytest

from stateward.kube.events.events import EventRecorder
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.restarts.control import RestartControl, Setting
from stateward.operator.restarts.views import ANNOTATION_CONTROL
from stateward.operator.runtime.metrics import Metrics
from tests.unit.operator.installations.world import HOME, World

POD = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "x"}]}}


async def test_an_event_on_it_reports_it_and_the_metric_goes_when_it_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    world, clock, metrics = World(), VirtualClock(), Metrics()
    recorder = EventRecorder(world.api, "stateward.dev/test", "test", clock=clock)
    control = RestartControl(Setting(world.api, recorder, clock, "stateward", gauge=metrics))
    tasks = [asyncio.create_task(recorder.run()), asyncio.create_task(control.run())]

    def broken(*_: Any) -> Any:
        raise KeyError("hunter2")

    def failing() -> list[Any]:
        return [sample for metric in metrics.failures.collect() for sample in metric.samples]

    with monkeypatch.context() as patched:
        patched.setattr("stateward.operator.restarts.control.dependencies", broken)
        meta = {"name": "app", "annotations": {ANNOTATION_CONTROL: "true"}}
        body = {"metadata": meta, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": POD}}
        world.server.create("apps/deployments", HOME, body)
        await asyncio.sleep(300)
        events = [stored.doc for stored in world.store.all("events.k8s.io/events")]
        assert [event["regarding"]["name"] for event in events if event["reason"] == "ReconciliationFailing"] == ["app"]
        assert "hunter2" not in str(events)
        assert failing()[0].value >= 2
    await asyncio.sleep(200)
    assert not failing()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
