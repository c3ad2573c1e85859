"""An upgrade from a version with one key for all namespaces restarts no pod and runs no plan; records are renewed."""

import asyncio
from typing import Any

import pytest

from stateward.kube.events.events import EventRecorder
from stateward.kube.timing.virtual_time import VirtualClock
from stateward.operator.restarts.control import RestartControl, Setting
from stateward.operator.restarts.digestkey import digest_key
from stateward.operator.restarts.views import ANNOTATION_CONTROL
from stateward.packages.plans.applied import applied_in
from stateward.packages.restarts.restarts import read_record
from tests.unit.operator.installations.test_failing_restarts import POD
from tests.unit.operator.installations.test_lost_key import begin, write
from tests.unit.operator.installations.test_restarts import OWN, installed, made, put
from tests.unit.operator.installations.world import HOME, World
from tests.unit.operator.restarts.earlier_keys import use_one_key_for_all


async def test_no_plan_runs_and_the_next_one_restarts_what_its_data_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    with monkeypatch.context() as patched:
        use_one_key_for_all(patched)
        async with world.operator():
            await installed(world, made("before", web=(OWN,)))
    root = await digest_key(world.api, "stateward")
    before = world.status()
    assert record_of(world, "web") == root.earlier.name
    async with world.operator():
        await asyncio.sleep(900)
        assert world.rollouts == {}
        assert world.status() == before
        assert record_of(world, "web") == root.of(HOME).name
        world.install("made-1", one_a="1")
        await world.until(world.ready)
    assert world.rollouts == {"web": 1}


async def test_work_is_not_done_again_and_objects_are_put_right_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    with monkeypatch.context() as patched:
        use_one_key_for_all(patched)
        await begin(world)
    root = await digest_key(world.api, "stateward")
    async with world.operator():
        await asyncio.sleep(900)
        write(world, "person")
        await world.until(lambda: world.there("ConfigMap", "config")["data"] == {"of": "package"})
    assert world.jobs == {"job": 1}
    for kind, name in (("ConfigMap", "config"), ("Service", "one")):  # Finished work is looked at by the next plan.
        assert applied_in(world.there(kind, name)).partition("/")[0] == root.of(HOME).name


def record_of(world: World, name: str) -> str:
    """Return the name of the key of a workload's record."""
    record = read_record(world.there("Deployment", name))
    assert record is not None
    return record.key


async def test_workloads_under_control_keep_their_pods_and_restart_for_the_next_change(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, clock = World(), VirtualClock()
    put(world, "words", "1")
    container = {"name": "c", "image": "x", "envFrom": [{"configMapRef": {"name": "words"}}]}
    spec: Any = {"selector": {"matchLabels": {"a": "b"}}, "template": {**POD, "spec": {"containers": [container]}}}
    meta = {"name": "app", "annotations": {ANNOTATION_CONTROL: "true"}}
    world.server.create("apps/deployments", HOME, {"metadata": meta, "spec": spec})

    async def controlled(seconds: float) -> None:
        recorder = EventRecorder(world.api, "stateward.dev/test", "test", clock=clock)
        running = asyncio.create_task(RestartControl(Setting(world.api, recorder, clock, "stateward")).run())
        await asyncio.sleep(seconds)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    with monkeypatch.context() as patched:
        use_one_key_for_all(patched)
        await controlled(120.0)
    root = await digest_key(world.api, "stateward")
    assert record_of(world, "app") == root.earlier.name
    await controlled(120.0)
    assert record_of(world, "app") == root.of(HOME).name
    assert world.rollouts == {}
    put(world, "words", "2")
    await controlled(120.0)
    assert world.rollouts == {"app": 1}
