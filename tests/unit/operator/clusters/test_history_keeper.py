"""The operator's keeping of histories: few writes, none of another owner's object, and nothing lost over a restart."""

import asyncio
from typing import Any

import pytest

from stateward.api.kinds.status import ClusterStatus
from stateward.kube.election.fence import LostLease
from stateward.kube.objects.errors import TransportError
from stateward.kube.objects.metadata import Key
from stateward.operator.clusters.history import BURST, HISTORY_SECONDS, Histories, content, manifest
from stateward.timeline.history import Entry, History, Kind
from tests.support.moved_clock import MovedClock
from tests.unit.cli.clusters import SPEC, typed

KEY = Key("default", "logs")
CLUSTER = typed(SPEC, "2.17.1")


class ConfigMaps:
    """An API server with one ConfigMap, and a list of the requests."""

    def __init__(self, stored: dict[str, Any] | None = None) -> None:
        self.stored = stored
        self.requests: list[str] = []
        self.refusal: Exception | None = None

    async def get(self, resource: Any, key: Key) -> Any:
        from stateward.kube.objects.errors import NotFound

        self.requests.append("get")
        if self.stored is None:
            raise NotFound("not found")
        return self.stored

    async def apply(self, resource: Any, key: Key, body: Any, options: Any) -> Any:
        self.requests.append("apply")
        if self.refusal is not None:
            raise self.refusal
        self.stored = body
        return body


class SlowConfigMaps(ConfigMaps):
    """An API server whose answers take a moment."""

    async def get(self, resource: Any, key: Key) -> Any:
        await asyncio.sleep(0)
        return await super().get(resource, key)


def status(health: str, generation: int = 1) -> ClusterStatus:
    return ClusterStatus(health=health, observed_generation=generation)


class Kept:
    """The histories of one operator process."""

    def __init__(self, api: ConfigMaps, clock: MovedClock) -> None:
        self.api, self.clock = api, clock
        self.histories = Histories(api, clock)  # type: ignore[arg-type]

    async def see(self, health: str, *, settled: bool = False) -> float:
        self.histories.note(KEY, CLUSTER, status(health), self.clock.now().timestamp())
        return await self.histories.write(KEY, settled=settled)

    def values(self) -> list[str]:
        assert self.api.stored is not None
        found = content(self.api.stored)
        return [e.what for e in (*found.ended, *found.lasting) if e.kind is Kind.HEALTH]


@pytest.fixture
def kept() -> Kept:
    return Kept(ConfigMaps(), MovedClock())


async def test_changes_of_a_minute_are_one_write(kept: Kept) -> None:
    for health in ("green", "yellow", "green", "yellow"):
        left = await kept.see(health)
    assert left == pytest.approx(HISTORY_SECONDS)
    assert kept.api.requests == []
    kept.clock.later(HISTORY_SECONDS)
    assert await kept.see("yellow") == 0
    assert kept.api.requests == ["get", "apply"]
    assert kept.values() == ["green", "yellow", "green", "yellow"]
    kept.clock.later(HISTORY_SECONDS)
    await kept.see("yellow")
    assert kept.api.requests == ["get", "apply"]  # nothing is new


async def test_the_first_look_of_a_process_is_no_reason_to_read_or_write(kept: Kept) -> None:
    await kept.see("green", settled=True)
    kept.clock.later(10 * HISTORY_SECONDS)
    await kept.see("green", settled=True)
    assert kept.api.requests == []


async def test_the_end_of_work_is_written_at_once_but_not_without_a_limit(kept: Kept) -> None:
    await kept.see("green")
    for number in range(3 * BURST):
        await kept.see("yellow" if number % 2 else "red", settled=True)
    assert kept.api.requests.count("apply") == BURST


async def test_the_next_process_continues_what_is_stored(kept: Kept) -> None:
    await kept.see("green")
    await kept.see("yellow", settled=True)
    kept.clock.later(100.0)
    later = Kept(kept.api, kept.clock)
    await later.see("yellow")
    await later.see("red", settled=True)
    assert later.values() == ["green", "yellow", "red"]


async def test_a_history_that_someone_has_made_up_stops_nothing(kept: Kept) -> None:
    """A user who may write ConfigMaps in the namespace would keep the operator from its work on the cluster."""
    await kept.see("green")
    await kept.see("yellow", settled=True)
    assert kept.api.stored is not None
    kept.api.stored["data"] = dict.fromkeys(kept.api.stored["data"], '{"x":' + "[" * 5000)
    kept.clock.later(100.0)
    later = Kept(kept.api, kept.clock)
    await later.see("yellow")
    await later.see("red", settled=True)
    assert later.values() == ["yellow", "red"]


async def test_a_history_says_until_when_it_is_complete(kept: Kept) -> None:
    histories = kept.histories
    for now, health in ((100.0, "green"), (130.0, "yellow")):
        histories.note(KEY, CLUSTER, status(health), now)
    await histories.write(KEY, settled=True)
    histories.note(KEY, CLUSTER, status("yellow"), 145.0)
    assert kept.api.stored is not None
    assert content(kept.api.stored).until == 130
    assert (await histories.known(KEY)).until == 145


async def test_an_ending_process_writes_what_is_left(kept: Kept) -> None:
    await kept.see("green")
    await kept.see("red")
    await kept.histories.flush()
    assert kept.values() == ["green", "red"]


async def test_an_ending_process_without_the_lease_ends_all_the_same(kept: Kept) -> None:
    await kept.see("green")
    await kept.see("red")
    kept.api.refusal = LostLease("another process leads")
    await kept.histories.flush()
    assert kept.api.stored is None


async def test_an_object_of_another_owner_is_never_overwritten() -> None:
    foreign = {"metadata": {"name": "logs-history"}, "data": {"a": "b"}}
    kept = Kept(ConfigMaps(foreign), MovedClock())
    await kept.see("green")
    await kept.see("red", settled=True)
    await kept.histories.flush()
    assert kept.api.requests == ["get"]
    assert kept.api.stored is foreign


async def test_a_failed_write_is_tried_again_after_the_usual_time(kept: Kept) -> None:
    kept.api.refusal = TransportError("reset")
    await kept.see("green")
    await kept.see("red", settled=True)
    kept.api.refusal = None
    kept.clock.later(HISTORY_SECONDS)
    await kept.see("red")
    assert kept.api.requests == ["get", "apply", "apply"]


async def test_a_new_cluster_of_the_name_has_a_new_history(kept: Kept) -> None:
    entry = Entry(kind=Kind.HEALTH, subject="logs", what="red", begin=1, end=2)
    old = manifest(CLUSTER, History(begin=1, ended=(entry,)))
    old["metadata"]["ownerReferences"][0]["uid"] = "an earlier cluster"
    kept.api.stored = old
    await kept.see("green")
    await kept.see("yellow", settled=True)
    assert kept.api.requests == ["get"]


async def test_a_forecast_and_a_round_that_read_what_is_stored_at_once_continue_it_once() -> None:
    """Otherwise what had ended between two processes would be in the history twice, for as long as it is kept."""
    before = Kept(ConfigMaps(), MovedClock())
    await before.see("green")
    await before.see("red", settled=True)
    before.clock.later(100.0)
    later = Kept(SlowConfigMaps(before.api.stored), before.clock)
    await later.see("green")
    later.clock.later(HISTORY_SECONDS)
    later.histories.note(KEY, CLUSTER, status("yellow"), later.clock.now().timestamp())
    await asyncio.gather(later.histories.known(KEY), later.histories.write(KEY, settled=True))
    assert later.values() == ["green", "red", "green", "yellow"]
