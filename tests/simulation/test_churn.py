"""A cluster whose pods never come to rest is read and told at a bounded rate, and a calm one still reacts at once."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from stateward.api.values import names
from stateward.kube.queue.event_pace import BURST
from stateward.operator.clusters.reconcile import Reconciler
from stateward.simulation.apiserver.client import WorldApi, kind_name
from stateward.simulation.apiserver.store import Event, Stored
from stateward.simulation.opensearch.http import WorldTransport
from tests.simulation.scenario import PODS, Scenario, hot, managers

pytestmark = pytest.mark.simulation

STATUS, OBSERVATIONS, QUESTIONS = "statuses", "observations", "questions"
MINUTES = 8


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count what the operator writes and asks."""
    counted = Counter[str]()

    def counting(owner: type, verb: str, name: Callable[..., str]) -> None:
        plain = getattr(owner, verb)

        async def call(self: Any, *rest: Any, **more: Any) -> Any:
            counted[name(self, *rest, **more)] += 1
            return await plain(self, *rest, **more)

        monkeypatch.setattr(owner, verb, call)

    def patched(api: WorldApi, resource: Any, *_: Any, subresource: str = "", **__: Any) -> str:
        mine = api.name == "stateward" and subresource == "status"
        return STATUS if mine else f"patch {kind_name(resource)}"

    counting(WorldApi, "patch", patched)
    counting(Reconciler, "_decide", lambda *_: OBSERVATIONS)
    counting(WorldTransport, "send", lambda *_: QUESTIONS)
    return counted


def kill_each_new_pod(scenario: Scenario, which: str) -> None:
    """Remove each new pod of the cluster at once, five seconds after its creation, as its node would."""
    world = scenario.world

    def remove(pod: Stored) -> None:
        live = world.store.get(PODS, pod.key)
        if live is not None and live.uid == pod.uid:
            world.store.remove(live)

    def heard(kind: str, event: Event) -> None:
        if (
            kind == PODS
            and event.old is None
            and event.new is not None
            and names.LABEL_CLUSTER in event.new.labels
            and which in event.new.key.name
        ):
            world.context.later(5.0, remove, event.new)

    world.store.subscribers.append(heard)
    for stored in list(world.store.all(PODS)):
        if which in stored.key.name:
            world.context.later(0.1, remove, stored)


async def test_a_database_that_is_silent_for_long_is_asked_less_often_and_its_answer_is_seen_in_a_minute(
    done: Counter[str],
) -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()
        scenario.process.engine_rates.error = 1.0
        assert await scenario.until(lambda: "does not answer" in scenario.waits or "Unknown" in scenario.waits)
        done.clear()
        await asyncio.sleep(1800.0)
        # A tenth of the silence later each time, then once a minute; some of them wait 15 s for an answer.
        assert 20 <= done[OBSERVATIONS] <= 60, done
        scenario.process.engine_rates.error = 0.0
        done.clear()
        assert await scenario.until(lambda: not scenario.waits, seconds=75.0)
        assert done[OBSERVATIONS]


@pytest.mark.parametrize("boot", [(0.2, 1.0), (4.0, 12.0)], ids=["after joining", "before joining"])
async def test_a_cluster_whose_new_pods_all_die_is_read_and_told_at_a_bounded_rate(
    done: Counter[str], boot: tuple[float, float]
) -> None:
    with Scenario(managers(), hot(6), agents=True).logged() as scenario:
        await scenario.begin()
        scenario.world.databases.behavior.boot = boot
        kill_each_new_pod(scenario, "hot")
        await asyncio.sleep(5.0)
        done.clear()
        await asyncio.sleep(60.0 * MINUTES)
        scenario.check()
    seconds = 60 * MINUTES
    assert done[OBSERVATIONS] <= 1.05 * seconds + BURST, done
    assert done[STATUS] <= seconds / 3, done
    assert done[QUESTIONS] <= 6 * seconds, done


async def test_a_calm_cluster_reacts_at_once(done: Counter[str]) -> None:
    """Nothing waits for its turn: an edit, and the loss of a pod, are looked at within a moment."""
    with Scenario(agents=True).logged() as scenario:
        await scenario.begin()
        done.clear()
        scenario.edit(update={"maxUnavailable": 1})
        await asyncio.sleep(0.5)
        assert done[OBSERVATIONS] >= 1
        assert done[STATUS] == 1, "the status says at once that the edit was observed"
        await asyncio.sleep(60.0)
        done.clear()
        pod = scenario.object(PODS, names.pod("logs-hot-0"))
        assert pod is not None
        scenario.world.store.remove(pod)
        await asyncio.sleep(0.5)
        assert done[OBSERVATIONS] >= 1
        await scenario.settle()
