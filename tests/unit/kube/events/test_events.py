"""Users see each event once, with a count; recording does not delay the caller."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from stateward.kube.client.client import Body
from stateward.kube.events.event_record import Occurrence, Severity, about
from stateward.kube.events.events import EventLimits, EventRecorder
from stateward.kube.objects.errors import Forbidden, ServerTimeout, TransportError
from stateward.kube.objects.metadata import ObjectMeta, T
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.resources import NODES, PODS
from stateward.kube.timing.virtual_time import VirtualClock
from tests.unit.kube.memory_api import MemoryApi

POD = about(PODS, Pod(metadata=ObjectMeta(name="a", namespace="ns", uid="1")))


def happened(note: str = "restarting", reason: str = "Restart") -> Occurrence:
    return Occurrence(POD, Severity.NORMAL, reason, "Restarting", note)


@asynccontextmanager
async def recording(
    api: MemoryApi | None = None, limits: EventLimits | None = None
) -> AsyncGenerator[tuple[EventRecorder, MemoryApi]]:
    api = api or MemoryApi()
    recorder = EventRecorder(api, "stateward", "stateward-0", clock=VirtualClock(), limits=limits)
    task = asyncio.create_task(recorder.run())
    try:
        yield recorder, api
    finally:
        await recorder.close()
        await task


def written(api: MemoryApi) -> list[dict[str, Any]]:
    return [obj for (plural, _), obj in api.objects.items() if plural == "events"]


async def test_an_event_says_what_happened_to_what() -> None:
    async with recording() as (recorder, api):
        recorder.record(happened())
        await asyncio.sleep(1)
    (event,) = written(api)
    assert event["regarding"] == {"apiVersion": "v1", "kind": "Pod", "namespace": "ns", "name": "a", "uid": "1"}
    assert (event["type"], event["reason"], event["action"]) == ("Normal", "Restart", "Restarting")
    assert event["note"] == "restarting"
    assert event["reportingController"] == "stateward"
    assert event["metadata"]["namespace"] == "ns"


@pytest.mark.parametrize("cut", ["-", ".", ".-"])
async def test_an_event_about_an_object_with_a_long_name_has_a_name_that_the_server_takes(cut: str) -> None:
    name = "n" * (230 - len(cut)) + cut + "n" * 10
    async with recording() as (recorder, api):
        recorder.record(Occurrence(about(NODES, Pod(metadata=ObjectMeta(name=name))), Severity.NORMAL, "R", "A", "n"))
        await asyncio.sleep(1)
    (event,) = written(api)
    labels = event["metadata"]["name"].split(".")
    assert all(label and label.strip("-") == label for label in labels), labels


async def test_events_about_cluster_wide_objects_are_in_the_default_namespace() -> None:
    node = about(NODES, Pod(metadata=ObjectMeta(name="n", uid="9")))
    async with recording() as (recorder, api):
        recorder.record(Occurrence(node, Severity.WARNING, "Lost", "Watching", "gone"))
        await asyncio.sleep(1)
    assert written(api)[0]["metadata"]["namespace"] == "default"


async def test_the_same_again_is_a_count_and_not_another_event() -> None:
    async with recording() as (recorder, api):
        for _ in range(100):
            recorder.record(happened())
            await asyncio.sleep(1)
        await asyncio.sleep(60)
    (event,) = written(api)
    assert event["series"]["count"] == 100
    assert len(api.calls) <= 6


async def test_after_a_quiet_time_it_is_a_new_event() -> None:
    async with recording() as (recorder, api):
        recorder.record(happened())
        await asyncio.sleep(700)
        recorder.record(happened())
        await asyncio.sleep(60)
    assert len(written(api)) == 2


async def test_an_object_with_too_many_different_events_is_held_back_and_counted() -> None:
    async with recording(limits=EventLimits(burst=5, refill=60.0)) as (recorder, api):
        for number in range(50):
            recorder.record(happened(f"note {number}"))
        await asyncio.sleep(1)
        assert len(written(api)) == 5
        assert recorder.dropped == 45
        await asyncio.sleep(120)
        recorder.record(happened("later"))
        await asyncio.sleep(1)
        assert len(written(api)) == 6


async def test_recording_does_not_wait_for_a_slow_server() -> None:
    async with recording(MemoryApi(latency=100.0)) as (recorder, _):
        began = VirtualClock().monotonic()
        recorder.record(happened())
        assert VirtualClock().monotonic() == began
        await asyncio.sleep(200)


async def test_a_failing_server_is_tried_a_few_times_and_then_the_event_is_dropped() -> None:
    api = MemoryApi()
    api.before = lambda _verb, _key: TransportError("down")
    async with recording(api) as (recorder, _):
        recorder.record(happened())
        await asyncio.sleep(600)
        assert recorder.dropped == 1
        assert 2 < len(api.calls) < 10


async def test_a_server_that_does_not_answer_in_time_gets_the_event_again() -> None:
    api = MemoryApi()
    late = iter([True])
    api.after = lambda _verb, _key: (
        ServerTimeout("etcd is slow", may_have_committed=True) if next(late, False) else None
    )
    async with recording(api) as (recorder, _):
        recorder.record(happened())
        await asyncio.sleep(60)
        assert recorder.dropped == 0
    assert len(written(api)) == 1


async def test_what_is_refused_is_dropped_at_once() -> None:
    api = MemoryApi()
    api.before = lambda _verb, _key: Forbidden("the namespace is terminating")
    async with recording(api) as (recorder, _):
        recorder.record(happened())
        await asyncio.sleep(600)
        assert recorder.dropped == 1
        assert len(api.calls) == 1


async def test_a_lost_answer_does_not_make_a_second_event() -> None:
    api = MemoryApi()
    lost = iter([True])
    api.after = lambda _verb, _key: TransportError("lost", may_have_committed=True) if next(lost, False) else None
    async with recording(api) as (recorder, _):
        recorder.record(happened())
        await asyncio.sleep(60)
    assert len(written(api)) == 1


async def test_a_series_that_the_server_forgot_begins_again() -> None:
    async with recording() as (recorder, api):
        recorder.record(happened())
        await asyncio.sleep(40)
        api.objects.clear()
        recorder.record(happened())
        await asyncio.sleep(40)
    assert written(api)[0]["series"]["count"] == 2


async def test_closing_writes_what_is_ready() -> None:
    async with recording() as (recorder, api):
        for number in range(10):
            recorder.record(happened(f"note {number}"))
    assert len(written(api)) == 10
    assert recorder.dropped == 0


async def test_closing_does_not_wait_for_ever() -> None:
    async with recording(MemoryApi(latency=10.0)) as (recorder, _):
        for number in range(10):
            recorder.record(happened(f"note {number}"))
        await asyncio.sleep(0.1)
        began = VirtualClock().monotonic()
        await recorder.close(grace=3.0)
        assert VirtualClock().monotonic() - began == pytest.approx(3, abs=0.1)
        assert recorder.dropped == 9


async def test_a_long_note_is_cut_to_what_the_server_takes() -> None:
    async with recording() as (recorder, api):
        recorder.record(happened("ü" * 1000))
        await asyncio.sleep(1)
    assert len(written(api)[0]["note"].encode()) <= 1024


class SlowApi(MemoryApi):
    """Takes a tenth of a second for each event."""

    async def create(self, resource: Resource[T], body: Body, *, namespace: str = "") -> T:
        await asyncio.sleep(0.1)
        return await super().create(resource, body, namespace=namespace)


def of_tenant(namespace: str, number: int) -> Occurrence:
    meta = ObjectMeta(name=f"a-{number}", namespace=namespace, uid=f"{namespace}-{number}")
    return Occurrence(about(PODS, Pod(metadata=meta)), Severity.NORMAL, "Restart", "Restarting", f"number {number}")


async def test_events_of_one_namespace_do_not_keep_those_of_another_from_being_written() -> None:
    """The disaster: a tenant has the operator record thousands of events, and no other tenant sees any event."""
    async with recording(SlowApi(), EventLimits(series=100)) as (recorder, api):
        for number in range(90):
            recorder.record(of_tenant("loud", number))
        recorder.record(of_tenant("quiet", 0))
        for number in range(90, 600):
            recorder.record(of_tenant("loud", number))
            await asyncio.sleep(0.02)
    assert [each for each in written(api) if each["metadata"]["namespace"] == "quiet"]
