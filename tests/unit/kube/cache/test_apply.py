"""An object with the desired state is not written; any other is."""

from typing import Any

import pytest

from stateward.kube.cache.apply import Applier, Outcome
from stateward.kube.cache.expectations import Expectations
from stateward.kube.cache.store import Store
from stateward.kube.objects.errors import Conflict
from stateward.kube.objects.metadata import Key, ObjectMeta
from stateward.kube.objects.resources import CONFIG_MAPS, STATEFUL_SETS
from stateward.kube.objects.watching import Unreadable
from stateward.kube.timing.virtual_time import VirtualClock
from tests.unit.kube.memory_api import MemoryApi

KEY = Key("ns", "a")


class Desk:
    """An applier with its API, cache and expectations."""

    def __init__(self, resource: Any = CONFIG_MAPS) -> None:
        self.api = MemoryApi()
        self.resource = resource
        self.store: Store[Any] = Store(resource.plural)
        self.store.feed().replace([], "0")
        self.expectations = Expectations(VirtualClock())
        self.applier = Applier(self.api, "us")

    async def apply(self, **fields: Any) -> Outcome:
        meta = {"name": "a", "namespace": "ns", **fields.pop("metadata", {})}
        manifest = {"apiVersion": "v1", "kind": self.resource.kind, "metadata": meta, **fields}
        done = await self.applier.apply(self.resource, manifest, store=self.store, expectations=self.expectations)
        return done.outcome

    async def someone_patches(self, body: dict[str, Any]) -> None:
        from stateward.kube.client.client import PatchKind

        self.store.feed().heard(await self.api.patch(self.resource, KEY, body, kind=PatchKind.MERGE))


async def test_the_same_again_is_skipped() -> None:
    desk = Desk()
    assert await desk.apply(data={"a": "1", "b": "2"}) is Outcome.CREATED
    assert await desk.apply(data={"b": "2", "a": "1"}) is Outcome.SKIPPED
    assert desk.api.verbs("configmaps") == ["apply"]


async def test_something_else_is_applied() -> None:
    desk = Desk()
    await desk.apply(data={"a": "1"})
    assert await desk.apply(data={"a": "2"}) is Outcome.CHANGED


async def test_what_is_applied_is_in_the_cache_and_expected() -> None:
    desk = Desk()
    await desk.apply(data={"a": "1"})
    assert desk.store.get(KEY) is not None
    assert not desk.expectations.caught_up


async def test_a_change_by_someone_else_is_reverted_once() -> None:
    desk = Desk()
    await desk.apply(data={"a": "1"})
    await desk.someone_patches({"data": {"a": "edited"}})
    assert await desk.apply(data={"a": "1"}) is Outcome.CHANGED
    assert await desk.apply(data={"a": "1"}) is Outcome.SKIPPED


async def test_a_change_that_is_not_ours_is_checked_once() -> None:
    desk = Desk()
    await desk.apply(data={"a": "1"})
    await desk.someone_patches({"metadata": {"annotations": {"theirs": "x"}}})
    assert await desk.apply(data={"a": "1"}) is Outcome.UNCHANGED
    assert await desk.apply(data={"a": "1"}) is Outcome.SKIPPED


async def test_an_object_that_was_deleted_is_recreated() -> None:
    desk = Desk()
    await desk.apply(data={"a": "1"})
    held = desk.store.get(KEY)
    desk.api.objects.clear()
    desk.store.feed().heard_end(held)
    assert await desk.apply(data={"a": "1"}) is Outcome.CREATED


async def test_an_object_that_took_the_place_of_the_one_in_the_cache_is_not_changed() -> None:
    desk = Desk()
    await desk.apply(data={"a": "1"})
    desk.api.objects["configmaps", KEY] = {"metadata": {"name": "a", "uid": "successor", "resourceVersion": "9"}}
    with pytest.raises(Conflict):
        await desk.apply(data={"a": "2"})
    assert "data" not in desk.api.objects["configmaps", KEY]


async def test_after_a_restart_everything_is_applied_once() -> None:
    desk = Desk()
    await desk.apply(data={"a": "1"})
    desk.applier = Applier(desk.api, "us")
    assert await desk.apply(data={"a": "1"}) is Outcome.UNCHANGED
    assert await desk.apply(data={"a": "1"}) is Outcome.SKIPPED


async def test_a_status_that_moves_does_not_count_where_there_is_a_generation() -> None:
    desk = Desk(STATEFUL_SETS)
    manifest: dict[str, Any] = {"metadata": {"generation": 1}, "spec": {"replicas": 1}}
    await desk.apply(**manifest)
    await desk.someone_patches({"status": {"readyReplicas": 1}})
    assert await desk.apply(**manifest) is Outcome.SKIPPED
    await desk.someone_patches({"metadata": {"generation": 2}, "spec": {"replicas": 3}})
    assert await desk.apply(**manifest) is Outcome.CHANGED


async def test_a_label_that_someone_removed_counts_although_the_generation_does_not_move() -> None:
    desk = Desk(STATEFUL_SETS)
    manifest: dict[str, Any] = {"metadata": {"generation": 1, "labels": {"a": "b"}}, "spec": {"replicas": 1}}
    await desk.apply(**manifest)
    await desk.someone_patches({"metadata": {"labels": {"a": None}}})
    assert await desk.apply(**manifest) is Outcome.CHANGED


async def test_an_object_that_cannot_be_read_is_not_mistaken_for_settled() -> None:
    desk = Desk()
    await desk.apply(data={"a": "1"})
    meta = ObjectMeta(name="a", namespace="ns", uid="other", resource_version="99")
    desk.store.feed().heard_trouble(Unreadable(meta, "metadata.labels: expected object"))
    assert await desk.apply(data={"a": "1"}) is not Outcome.SKIPPED


async def test_a_forgotten_object_is_applied_again() -> None:
    desk = Desk()
    await desk.apply(data={"a": "1"})
    desk.applier.forget(CONFIG_MAPS, KEY)
    assert await desk.apply(data={"a": "1"}) is Outcome.UNCHANGED
