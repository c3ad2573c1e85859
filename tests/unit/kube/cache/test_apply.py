"""What is as wanted is not written; what is not, is."""

from typing import Any

from stateward.kube.cache.apply import Applier, Outcome
from stateward.kube.cache.expectations import Expectations
from stateward.kube.cache.store import Store
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
    package_reviews = Desk()
    assert await package_reviews.apply(data={"a": "1", "b": "2"}) is Outcome.CREATED
    assert await package_reviews.apply(data={"b": "2", "a": "1"}) is Outcome.SKIPPED
    assert package_reviews.api.verbs("configmaps") == ["apply"]


async def test_something_else_is_applied() -> None:
    package_reviews = Desk()
    await package_reviews.apply(data={"a": "1"})
    assert await package_reviews.apply(data={"a": "2"}) is Outcome.CHANGED


async def test_what_is_applied_is_in_the_cache_and_expected() -> None:
    package_reviews = Desk()
    await package_reviews.apply(data={"a": "1"})
    assert package_reviews.store.get(KEY) is not None
    assert not package_reviews.expectations.caught_up


async def test_a_change_by_someone_else_is_taken_back_once() -> None:
    package_reviews = Desk()
    await package_reviews.apply(data={"a": "1"})
    await package_reviews.someone_patches({"data": {"a": "edited"}})
    assert await package_reviews.apply(data={"a": "1"}) is Outcome.CHANGED
    assert await package_reviews.apply(data={"a": "1"}) is Outcome.SKIPPED


async def test_a_change_that_is_not_ours_is_looked_at_once() -> None:
    package_reviews = Desk()
    await package_reviews.apply(data={"a": "1"})
    await package_reviews.someone_patches({"metadata": {"annotations": {"theirs": "x"}}})
    assert await package_reviews.apply(data={"a": "1"}) is Outcome.UNCHANGED
    assert await package_reviews.apply(data={"a": "1"}) is Outcome.SKIPPED


async def test_an_object_that_was_deleted_is_made_again() -> None:
    package_reviews = Desk()
    await package_reviews.apply(data={"a": "1"})
    held = package_reviews.store.get(KEY)
    package_reviews.api.objects.clear()
    package_reviews.store.feed().heard_end(held)
    assert await package_reviews.apply(data={"a": "1"}) is Outcome.CREATED


async def test_after_a_restart_everything_is_applied_once() -> None:
    package_reviews = Desk()
    await package_reviews.apply(data={"a": "1"})
    package_reviews.applier = Applier(package_reviews.api, "us")
    assert await package_reviews.apply(data={"a": "1"}) is Outcome.UNCHANGED
    assert await package_reviews.apply(data={"a": "1"}) is Outcome.SKIPPED


async def test_a_status_that_moves_does_not_count_where_there_is_a_generation() -> None:
    package_reviews = Desk(STATEFUL_SETS)
    manifest: dict[str, Any] = {"metadata": {"generation": 1}, "spec": {"replicas": 1}}
    await package_reviews.apply(**manifest)
    await package_reviews.someone_patches({"status": {"readyReplicas": 1}})
    assert await package_reviews.apply(**manifest) is Outcome.SKIPPED
    await package_reviews.someone_patches({"metadata": {"generation": 2}, "spec": {"replicas": 3}})
    assert await package_reviews.apply(**manifest) is Outcome.CHANGED


async def test_a_label_that_someone_removed_counts_although_the_generation_does_not_move() -> None:
    package_reviews = Desk(STATEFUL_SETS)
    manifest: dict[str, Any] = {"metadata": {"generation": 1, "labels": {"a": "b"}}, "spec": {"replicas": 1}}
    await package_reviews.apply(**manifest)
    await package_reviews.someone_patches({"metadata": {"labels": {"a": None}}})
    assert await package_reviews.apply(**manifest) is Outcome.CHANGED


async def test_an_object_that_cannot_be_read_is_not_taken_for_settled() -> None:
    package_reviews = Desk()
    await package_reviews.apply(data={"a": "1"})
    meta = ObjectMeta(name="a", namespace="ns", uid="other", resource_version="99")
    package_reviews.store.feed().heard_trouble(Unreadable(meta, "metadata.labels: expected object"))
    assert await package_reviews.apply(data={"a": "1"}) is not Outcome.SKIPPED


async def test_a_forgotten_object_is_applied_again() -> None:
    package_reviews = Desk()
    await package_reviews.apply(data={"a": "1"})
    package_reviews.applier.forget(CONFIG_MAPS, KEY)
    assert await package_reviews.apply(data={"a": "1"}) is Outcome.UNCHANGED
