"""The contract of `Api.watch`: what is sent, in which order, and what happens at its ends."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from stateward.kube.client.client import PatchKind, WatchStart
from stateward.kube.objects.errors import Gone
from stateward.kube.objects.metadata import PartialObject
from stateward.kube.objects.resource import Selection
from stateward.kube.objects.resources import CONFIG_MAPS, SECRETS
from stateward.kube.objects.watching import Bookmark, Unreadable, WatchEvent
from tests.contract.world import World

Stream = AsyncGenerator[WatchEvent[PartialObject], None]
SELECTED = "watched=yes"
LABELS = {"watched": "yes"}


def told(event: WatchEvent[PartialObject]) -> str:
    """Say what an event is, in a word and a name."""
    if isinstance(event, Bookmark):
        return "end of initial state" if event.initial_events_end else "bookmark"
    if isinstance(event, Unreadable):
        return f"unreadable {event.metadata.name}"
    return f"{type(event).__name__.lower()} {event.object.metadata.name}"


async def take(world: World, stream: Stream, count: int, *, bookmarks: bool = False) -> list[str]:
    """Take that many events off a stream; bookmarks come when they like, so they do not count."""
    events: list[str] = []
    async with world.clock.timeout(30.0):
        while len(events) < count:
            event = await anext(stream)
            if bookmarks or told(event) != "bookmark":
                events.append(told(event))
    return events


async def now(world: World) -> str:
    return (await world.api.list(CONFIG_MAPS, selection(world))).resource_version


def selection(world: World) -> Selection:
    return Selection(world.namespace, SELECTED)


async def patch(world: World, name: str, body: dict[str, Any]) -> PartialObject:
    return await world.api.patch(CONFIG_MAPS, world.key(name), body, kind=PatchKind.MERGE)


class WatchContract:
    """Following changes."""

    async def test_everything_after_the_version_is_sent_in_order(self, world: World) -> None:
        await world.config_map("before", labels=LABELS)
        version = await now(world)
        made = await world.config_map("one", labels=LABELS)
        await patch(world, "one", {"data": {"a": "2"}})
        await world.delete(CONFIG_MAPS, await world.api.get(CONFIG_MAPS, world.key("one")))
        async with aclosing(world.api.watch(CONFIG_MAPS, selection(world), WatchStart(version))) as stream:
            assert await take(world, stream, 3) == ["added one", "modified one", "deleted one"]
        assert made.metadata.uid

    async def test_changes_are_sent_as_they_happen_with_rising_versions(self, world: World) -> None:
        start = WatchStart(await now(world))
        versions: list[int] = []
        async with aclosing(world.api.watch(CONFIG_MAPS, selection(world), start)) as stream:
            for number in range(3):
                await world.config_map(f"map-{number}", labels=LABELS)
                async with world.clock.timeout(30.0):
                    event = await anext(stream)
                assert not isinstance(event, Bookmark | Unreadable)
                assert event.object.metadata.name == f"map-{number}"
                versions.append(int(event.object.metadata.resource_version))
        assert versions == sorted(set(versions))

    async def test_the_end_of_an_object_has_a_version_of_its_own(self, world: World) -> None:
        made = await world.config_map("one", labels=LABELS)
        start = WatchStart(await now(world))
        async with aclosing(world.api.watch(CONFIG_MAPS, selection(world), start)) as stream:
            await world.delete(CONFIG_MAPS, made)
            async with world.clock.timeout(30.0):
                event = await anext(stream)
        assert not isinstance(event, Bookmark | Unreadable)
        assert event.object.metadata.uid == made.metadata.uid
        assert int(event.object.metadata.resource_version) > int(made.metadata.resource_version)

    async def test_an_object_enters_and_leaves_the_selection_with_its_labels(self, world: World) -> None:
        start = WatchStart(await now(world))
        await world.config_map("one")
        await patch(world, "one", {"metadata": {"labels": LABELS}})
        await patch(world, "one", {"metadata": {"labels": {"watched": "no"}}})
        await patch(world, "one", {"metadata": {"labels": LABELS}})
        async with aclosing(world.api.watch(CONFIG_MAPS, selection(world), start)) as stream:
            assert await take(world, stream, 3) == ["added one", "deleted one", "added one"]

    async def test_the_initial_state_is_streamed_and_its_end_is_marked(self, world: World) -> None:
        await world.config_map("one", labels=LABELS)
        await world.config_map("two", labels=LABELS)
        version = int(await now(world))
        async with aclosing(world.api.watch(CONFIG_MAPS, selection(world), WatchStart(initial_state=True))) as stream:
            initial = await take(world, stream, 2)
            async with world.clock.timeout(30.0):
                end = await anext(stream)
            await world.config_map("three", labels=LABELS)
            assert sorted(initial) == ["added one", "added two"]
            assert isinstance(end, Bookmark)
            assert end.initial_events_end
            assert int(end.resource_version) >= version
            assert await take(world, stream, 1) == ["added three"]

    async def test_a_version_that_is_too_old_is_gone(self, world: World) -> None:
        with pytest.raises(Gone):
            async with aclosing(world.api.watch(CONFIG_MAPS, selection(world), WatchStart("1"))) as stream:
                await take(world, stream, 1)

    async def test_the_server_marks_its_progress_and_ends_the_stream_in_time(self, world: World) -> None:
        start = WatchStart(await now(world), timeout_seconds=6)
        # A bookmark shows progress only after an event that this watch does not select.
        await world.config_map("elsewhere")
        stream = world.api.watch(CONFIG_MAPS, selection(world), start)
        async with aclosing(stream), world.clock.timeout(30.0):
            events = [event async for event in stream]
        assert {told(event) for event in events} == {"bookmark"}

    async def test_a_watch_of_metadata_sends_no_payload(self, world: World) -> None:
        version = (await world.api.list(SECRETS, Selection(world.namespace))).resource_version
        await world.secret("hidden")
        bare = SECRETS.viewed_as(dict[str, Any])
        chosen = Selection(world.namespace, fields="metadata.name=hidden")
        stream = world.api.watch(bare, chosen, WatchStart(version))
        async with aclosing(stream), world.clock.timeout(30.0):
            event = await anext(stream)
        assert not isinstance(event, Bookmark | Unreadable)
        assert event.object["kind"] == "PartialObjectMetadata"
        assert "data" not in event.object
