"""The number of objects that cannot be read now is reported: also of those that could not be read at the start."""

import asyncio
from contextlib import suppress

from prometheus_client import generate_latest

from stateward.kube.cache.reflector import Reflector, ReflectorOptions
from stateward.kube.cache.store import Store
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import PODS
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.runtime.metrics import Metrics
from tests.unit.kube.fake_server import bookmark, event, pod, serving, stream

BAD = {"spec": {"nodeName": 17}}


def count(metrics: Metrics) -> float | None:
    return metrics.registry.get_sample_value("stateward_unreadable_objects", {"store": "pods"})


async def test_objects_count_while_they_cannot_be_read() -> None:
    script = stream(
        event("ADDED", pod("a", 1) | BAD),
        event("ADDED", pod("b", 2) | BAD),
        bookmark(5, initial_end=True),
        hold=60,
    )
    better = stream(event("MODIFIED", pod("a", 7)), event("MODIFIED", pod("b", 8) | BAD), hold=100_000)
    metrics, store = Metrics(), Store[Pod]("pods")
    async with serving(script, better) as (_, api):
        options = ReflectorOptions(clock=VirtualClock(), observer=metrics)
        task = asyncio.create_task(Reflector(api, PODS, Selection(), store, options).run())
        await asyncio.sleep(30)
        assert count(metrics) == 2
        await asyncio.sleep(60)
        assert count(metrics) == 1
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        assert count(metrics) == 0


async def test_each_watch_counts_only_its_own() -> None:
    metrics, store = Metrics(), Store[Pod]("pods", namespaces=("ns", "other"))
    script = stream(event("ADDED", pod("a", 1) | BAD), bookmark(5, initial_end=True), hold=100_000)
    async with serving(script, stream(bookmark(5, initial_end=True), hold=100_000)) as (_, api):
        options = ReflectorOptions(clock=VirtualClock(), observer=metrics)
        async with asyncio.TaskGroup() as group:
            tasks: list[asyncio.Task[None]] = []
            for namespace in ("ns", "other"):
                tasks.append(group.create_task(Reflector(api, PODS, Selection(namespace), store, options).run()))
                await asyncio.sleep(5)
            assert count(metrics) == 1
            for task in tasks:
                task.cancel()
    assert 'stateward_unreadable_objects{store="pods"} 0.0' in generate_latest(metrics.registry).decode()
