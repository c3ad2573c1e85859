"""A workload under restart control whose rounds fail unexpectedly: an event on it says so."""

import asyncio
from typing import Any

import pytest

from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.metadata import Key
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


async def test_a_workload_that_is_no_longer_under_control_is_not_restarted_though_the_watch_shows_that_it_is() -> None:
    world, clock = World(), VirtualClock()
    recorder = EventRecorder(world.api, "stateward.dev/test", "test", clock=clock)
    control = RestartControl(Setting(world.api, recorder, clock, "stateward"))
    tasks = [asyncio.create_task(recorder.run()), asyncio.create_task(control.run())]
    world.server.create("/configmaps", HOME, {"metadata": {"name": "words"}, "data": {"a": "1"}})
    container = {"name": "c", "image": "x", "envFrom": [{"configMapRef": {"name": "words"}}]}
    for name in ("obeys", "left"):
        meta = {"name": name, "annotations": {ANNOTATION_CONTROL: "true"}}
        template = {**POD, "spec": {"containers": [container]}}
        spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
        world.server.create("apps/deployments", HOME, {"metadata": meta, "spec": spec})
    await asyncio.sleep(120)
    world.rollouts.clear()
    world.network.lags["apps/deployments"] = 300.0
    live = world.store.get("apps/deployments", Key(HOME, "left"))
    assert live is not None
    notes = {name: text for name, text in live.meta["annotations"].items() if name != ANNOTATION_CONTROL}
    world.server.update(live.kind, live.key, {**live.doc, "metadata": {**live.meta, "annotations": notes}})
    words = world.there("ConfigMap", "words")
    world.server.update("/configmaps", Key(HOME, "words"), {**words, "data": {"a": "2"}})
    await asyncio.sleep(120)
    assert world.rollouts == {"obeys": 1}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
