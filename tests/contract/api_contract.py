"""The contract of `Api`: what the product relies on, checked against the real API server and against simulated ones.

A suite subclasses `ApiContract` and offers a fixture `world`. Each test works in a namespace of its own.
"""

from contextlib import suppress
from typing import Any

import pytest

from stateward.kube.client import (
    ApplyOptions,
    DeleteOptions,
    ListOptions,
    PatchKind,
    Preconditions,
    Propagation,
    RawRequest,
)
from stateward.kube.errors import (
    AlreadyExists,
    Conflict,
    Invalid,
    NotFound,
    TooManyRequests,
    UnknownResource,
)
from stateward.kube.metadata import Key, PartialObject
from stateward.kube.resource import Resource, Selection
from stateward.kube.resources import BUDGETS, CONFIG_MAPS, PODS, SECRETS, STATEFUL_SETS
from tests.contract.world import World

MISSING_KIND = Resource("nothing.example", "v1", "things", "Thing", PartialObject)


class ReadingContract:
    """Getting and listing."""

    async def test_a_created_object_is_read_back_with_identity_and_version(self, world: World) -> None:
        made = await world.config_map("one", labels={"a": "b"})
        assert made.metadata.uid
        assert made.metadata.resource_version
        assert made.metadata.creation_timestamp is not None
        assert await world.api.get(CONFIG_MAPS, world.key("one")) == made

    async def test_a_missing_object_is_not_found(self, world: World) -> None:
        with pytest.raises(NotFound) as caught:
            await world.api.get(CONFIG_MAPS, world.key("none"))
        assert caught.value.details.name == "none"
        assert not caught.value.may_have_committed

    async def test_a_kind_that_is_not_served_is_unknown_and_not_merely_not_found(self, world: World) -> None:
        with pytest.raises(UnknownResource):
            await world.api.get(MISSING_KIND, world.key("none"))
        with pytest.raises(UnknownResource):
            await world.api.list(MISSING_KIND, Selection(world.namespace))

    async def test_labels_and_names_select(self, world: World) -> None:
        await world.config_map("one", labels={"app": "x", "tier": "hot"})
        await world.config_map("two", labels={"app": "x"})
        assert await listed(world, Selection(world.namespace, "app=x")) == ["one", "two"]
        assert await listed(world, Selection(world.namespace, "app=x,tier!=hot")) == ["two"]
        assert await listed(world, Selection(world.namespace, "tier in (hot,warm)")) == ["one"]
        assert await listed(world, Selection(world.namespace, "app=x,!tier")) == ["two"]
        assert await listed(world, Selection(world.namespace, "tier")) == ["one"]
        assert await listed(world, Selection(world.namespace, fields="metadata.name=two")) == ["two"]

    async def test_a_list_goes_over_all_namespaces(self, world: World) -> None:
        made = await world.config_map("one", labels={"spread": world.namespace})
        page = await world.api.list(CONFIG_MAPS, Selection(labels=f"spread={world.namespace}"))
        assert page.items == (made,)

    async def test_pages_are_of_one_version(self, world: World) -> None:
        for number in range(5):
            await world.config_map(f"map-{number}", labels={"paged": "yes"})
        selection = Selection(world.namespace, "paged=yes")
        first = await world.api.list(CONFIG_MAPS, selection, ListOptions(limit=2))
        await world.config_map("map-9", labels={"paged": "yes"})
        second = await world.api.list(CONFIG_MAPS, selection, ListOptions(2, first.continue_token))
        third = await world.api.list(CONFIG_MAPS, selection, ListOptions(2, second.continue_token))
        names = [obj.metadata.name for page in (first, second, third) for obj in page.items]
        assert names == [f"map-{number}" for number in range(5)]
        assert {first.resource_version} == {second.resource_version, third.resource_version}
        assert not third.continue_token

    async def test_metadata_only_reads_no_payload(self, world: World) -> None:
        await world.secret("hidden")
        whole = await world.api.get(SECRETS.raw(), world.key("hidden"))
        assert whole["data"]
        bare: Resource[dict[str, Any]] = SECRETS.viewed_as(dict[str, Any])
        assert bare.partial
        partial = await world.api.get(bare, world.key("hidden"))
        assert partial["kind"] == "PartialObjectMetadata"
        assert "data" not in partial
        page = await world.api.list(bare, Selection(world.namespace, fields="metadata.name=hidden"))
        assert all("data" not in item for item in page.items)

    async def test_an_object_that_does_not_fit_is_reported_beside_the_others(self, world: World) -> None:
        await world.config_map("one", {"a": "1"}, labels={"odd": "x"})
        odd = CONFIG_MAPS.raw().viewed_as(Strict)
        page = await world.api.list(odd, Selection(world.namespace, "odd=x"))
        assert page.items == ()
        assert [trouble.metadata.name for trouble in page.unreadable] == ["one"]

    async def test_the_version_of_the_server_can_be_asked(self, world: World) -> None:
        assert b"major" in await world.api.request(RawRequest("/version"))


class Strict(PartialObject):
    """A view that no ConfigMap fits: its data are strings."""

    data: dict[str, int] | None = None


async def listed(world: World, selection: Selection) -> list[str]:
    page = await world.api.list(CONFIG_MAPS, selection)
    return [obj.metadata.name for obj in page.items]


class WritingContract:
    """Creating and patching."""

    async def test_a_name_can_be_taken_once(self, world: World) -> None:
        await world.config_map("one")
        with pytest.raises(AlreadyExists):
            await world.config_map("one")

    async def test_a_generated_name_is_fresh(self, world: World) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"generateName": "some-"}}
        made = [await world.api.create(CONFIG_MAPS, body, namespace=world.namespace) for _ in range(2)]
        names = {obj.metadata.name for obj in made}
        assert len(names) == 2
        assert all(name.startswith("some-") for name in names)

    async def test_nothing_is_created_in_a_namespace_that_is_not_there(self, world: World) -> None:
        body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}}
        with pytest.raises(NotFound) as caught:
            await world.api.create(CONFIG_MAPS, body, namespace=f"{world.namespace}-none")
        assert caught.value.details.kind == "namespaces"

    async def test_what_validation_refuses_names_the_field(self, world: World) -> None:
        with pytest.raises(Invalid) as caught:
            await world.config_map("Not A Name")
        assert [cause.field for cause in caught.value.causes] == ["metadata.name"]

    async def test_every_change_makes_a_newer_version(self, world: World) -> None:
        versions = [int((await world.config_map("one")).metadata.resource_version)]
        for number in range(3):
            patched = await merge(world, "one", {"data": {"a": f"new-{number}"}})
            versions.append(int(patched.metadata.resource_version))
        assert versions == sorted(set(versions))

    async def test_a_patch_that_changes_nothing_keeps_the_version(self, world: World) -> None:
        made = await world.config_map("one", {"a": "1"})
        same = await merge(world, "one", {"data": {"a": "1"}})
        assert same.metadata.resource_version == made.metadata.resource_version

    async def test_a_merge_patch_sets_and_removes_keys(self, world: World) -> None:
        await world.config_map("one", {"a": "1", "b": "2"})
        await merge(world, "one", {"data": {"a": None, "c": "3"}})
        assert await world.data("one") == {"b": "2", "c": "3"}

    async def test_a_json_patch_is_applied_whole_or_not_at_all(self, world: World) -> None:
        await world.config_map("one", {"a": "1"})
        good = [{"op": "test", "path": "/data/a", "value": "1"}, {"op": "replace", "path": "/data/a", "value": "2"}]
        await world.api.patch(CONFIG_MAPS, world.key("one"), good, kind=PatchKind.JSON)
        with pytest.raises(Invalid):
            await world.api.patch(CONFIG_MAPS, world.key("one"), good, kind=PatchKind.JSON)
        assert await world.data("one") == {"a": "2"}

    async def test_a_patch_of_an_old_version_conflicts(self, world: World) -> None:
        made = await world.config_map("one")
        await merge(world, "one", {"data": {"a": "2"}})
        stale = {"metadata": {"resourceVersion": made.metadata.resource_version}, "data": {"a": "3"}}
        with pytest.raises(Conflict) as caught:
            await merge(world, "one", stale)
        assert not caught.value.may_have_committed
        assert await world.data("one") == {"a": "2"}

    async def test_a_patch_of_a_missing_object_is_not_found(self, world: World) -> None:
        with pytest.raises(NotFound):
            await merge(world, "none", {"data": {"a": "2"}})

    async def test_the_generation_counts_changes_of_the_spec_only(self, world: World) -> None:
        made = await world.api.create(STATEFUL_SETS, world.stateful_set("set"), namespace=world.namespace)
        key = world.key("set")
        labelled = await world.api.patch(STATEFUL_SETS, key, {"metadata": {"labels": {"a": "b"}}}, kind=PatchKind.MERGE)
        assert labelled.metadata.generation == made.metadata.generation == 1
        change = {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}}
        assert (await world.api.patch(STATEFUL_SETS, key, change, kind=PatchKind.MERGE)).metadata.generation == 2

    async def test_the_status_changes_through_its_subresource_only(self, world: World) -> None:
        await world.pod_on_lost_node("pod")
        running = {"status": {"phase": "Running", "podIP": "10.1.2.3"}}
        ignored = await world.api.patch(PODS, world.key("pod"), running, kind=PatchKind.MERGE)
        assert ignored.status.phase == "Pending"
        change = {**running, "metadata": {"labels": {"status": "no"}}}
        pod = await world.api.patch(PODS, world.key("pod"), change, kind=PatchKind.MERGE, subresource="status")
        assert (pod.status.phase, pod.status.pod_ip) == ("Running", "10.1.2.3")

    async def test_the_scale_subresource_sets_the_replicas(self, world: World) -> None:
        await world.api.create(STATEFUL_SETS, world.stateful_set("set"), namespace=world.namespace)
        scale = {"spec": {"replicas": 2}}
        raw = STATEFUL_SETS.raw()
        answer = await world.api.patch(raw, world.key("set"), scale, kind=PatchKind.MERGE, subresource="scale")
        assert answer["kind"] == "Scale"
        assert (await world.api.get(STATEFUL_SETS, world.key("set"))).spec.replicas == 2


async def merge(world: World, name: str, patch: dict[str, Any]) -> PartialObject:
    return await world.api.patch(CONFIG_MAPS, world.key(name), patch, kind=PatchKind.MERGE)


class DeletingContract:
    """Deleting exactly what was meant, finalizers, grace, garbage collection and eviction."""

    async def test_an_object_that_nothing_holds_is_gone_at_once(self, world: World) -> None:
        made = await world.config_map("one")
        assert await world.delete(CONFIG_MAPS, made) is None
        with pytest.raises(NotFound):
            await world.delete(CONFIG_MAPS, made)

    async def test_another_uid_is_not_deleted(self, world: World) -> None:
        before = await world.config_map("one")
        await world.delete(CONFIG_MAPS, before)
        successor = await world.config_map("one")
        with pytest.raises(Conflict):
            await world.api.delete(CONFIG_MAPS, world.key("one"), DeleteOptions(Preconditions(before.metadata.uid)))
        assert await world.api.get(CONFIG_MAPS, world.key("one")) == successor

    async def test_another_version_is_not_deleted(self, world: World) -> None:
        made = await world.config_map("one")
        changed = await merge(world, "one", {"data": {"a": "2"}})
        with pytest.raises(Conflict):
            await world.delete(CONFIG_MAPS, made)
        assert await world.delete(CONFIG_MAPS, changed) is None

    async def test_a_finalizer_holds_a_deleted_object_until_it_is_removed(self, world: World) -> None:
        made = await world.config_map("one", finalizers=["stateward.dev/contract"])
        held = await world.delete(CONFIG_MAPS, made)
        assert held.metadata.terminating
        assert held.metadata.uid == made.metadata.uid
        assert int(held.metadata.resource_version) > int(made.metadata.resource_version)
        with pytest.raises(AlreadyExists):
            await world.config_map("one")
        await merge(world, "one", {"metadata": {"finalizers": None}})
        with pytest.raises(NotFound):
            await world.api.get(CONFIG_MAPS, world.key("one"))

    async def test_no_finalizer_is_added_to_what_is_being_deleted(self, world: World) -> None:
        made = await world.config_map("one", finalizers=["stateward.dev/contract"])
        await world.delete(CONFIG_MAPS, made)
        more = {"metadata": {"finalizers": ["stateward.dev/contract", "stateward.dev/other"]}}
        with pytest.raises(Invalid):
            await merge(world, "one", more)
        await merge(world, "one", {"metadata": {"finalizers": None}})

    async def test_a_pod_on_a_node_stays_terminating_until_its_kubelet_says_so(self, world: World) -> None:
        pod = await world.pod_on_lost_node("pod")
        held = await world.delete(PODS, pod)
        assert held.metadata.terminating
        assert held.metadata.deletion_grace_period_seconds == 30
        again = DeleteOptions(Preconditions(pod.metadata.uid), grace_seconds=0)
        await world.api.delete(PODS, world.key("pod"), again)
        with pytest.raises(NotFound):
            await world.api.get(PODS, world.key("pod"))

    async def test_the_grace_can_be_shortened_but_not_prolonged(self, world: World) -> None:
        pod = await world.pod_on_lost_node("pod")
        for asked, granted in ((20, 20), (25, 20), (10, 10)):
            options = DeleteOptions(Preconditions(pod.metadata.uid), grace_seconds=asked)
            held = await world.api.delete(PODS, world.key("pod"), options)
            assert held is not None
            assert held.metadata.deletion_grace_period_seconds == granted

    async def test_what_is_owned_goes_after_its_owner(self, world: World) -> None:
        owner = await world.config_map("owner")
        await world.config_map("owned", ownerReferences=[owned_by(owner)])
        await world.delete(CONFIG_MAPS, owner)
        await world.eventually(lambda: gone(world, "owned"))

    async def test_what_is_orphaned_stays(self, world: World) -> None:
        owner = await world.config_map("owner")
        await world.config_map("owned", ownerReferences=[owned_by(owner)])
        options = DeleteOptions(Preconditions(owner.metadata.uid), Propagation.ORPHAN)
        await world.api.delete(CONFIG_MAPS, world.key("owner"), options)
        await world.eventually(lambda: gone(world, "owner"))
        orphan = await world.api.get(CONFIG_MAPS, world.key("owned"))
        assert orphan.metadata.owner_references == ()

    async def test_a_dry_run_deletes_nothing(self, world: World) -> None:
        made = await world.config_map("one")
        options = DeleteOptions(Preconditions.of(made), dry_run=True)
        await world.api.delete(CONFIG_MAPS, world.key("one"), options)
        assert await world.api.get(CONFIG_MAPS, world.key("one")) == made

    async def test_an_eviction_asks_the_budget(self, world: World) -> None:
        pod = await world.pod_on_lost_node("pod", labels={"app": "guarded"})
        ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
        await world.api.patch(PODS, world.key("pod"), ready, kind=PatchKind.MERGE, subresource="status")
        spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "guarded"}}}
        await world.api.create(BUDGETS, world.manifest(BUDGETS, "budget", spec=spec), namespace=world.namespace)
        options = DeleteOptions(Preconditions(pod.metadata.uid))
        with pytest.raises(TooManyRequests):
            await world.api.evict(world.key("pod"), options)
        assert not (await world.api.get(PODS, world.key("pod"))).metadata.terminating
        budget = await world.api.get(BUDGETS, world.key("budget"))
        # By UID only: its controller may write its status at any moment.
        await world.api.delete(BUDGETS, world.key("budget"), DeleteOptions(Preconditions(budget.metadata.uid)))
        await world.api.evict(world.key("pod"), options)
        assert (await world.api.get(PODS, world.key("pod"))).metadata.terminating


def owned_by(owner: PartialObject) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": owner.metadata.name, "uid": owner.metadata.uid}


async def gone(world: World, name: str) -> bool:
    with suppress(NotFound):
        await world.api.get(CONFIG_MAPS, world.key(name))
        return False
    return True


class ApplyContract:
    """Server-side apply: who owns what."""

    async def test_apply_creates_and_changes(self, world: World) -> None:
        made = await world.apply_map("one", "us", {"a": "1"})
        changed = await world.apply_map("one", "us", {"a": "2"})
        assert changed.metadata.uid == made.metadata.uid
        assert await world.data("one") == {"a": "2"}

    async def test_an_apply_that_changes_nothing_keeps_the_version(self, world: World) -> None:
        made = await world.apply_map("one", "us", {"a": "1"})
        again = await world.apply_map("one", "us", {"a": "1"})
        assert again.metadata.resource_version == made.metadata.resource_version

    async def test_a_field_that_is_no_longer_applied_is_removed(self, world: World) -> None:
        await world.apply_map("one", "us", {"a": "1", "b": "2"})
        await world.apply_map("one", "us", {"a": "1"})
        assert await world.data("one") == {"a": "1"}

    async def test_the_field_of_another_manager_conflicts_unless_forced(self, world: World) -> None:
        await world.apply_map("one", "them", {"a": "1"})
        with pytest.raises(Conflict) as caught:
            await world.apply_map("one", "us", {"a": "2"})
        assert [cause.field for cause in caught.value.causes] == [".data.a"]
        await world.apply_map("one", "us", {"a": "2"}, force=True)
        assert await world.data("one") == {"a": "2"}
        # Ownership moved: the other one now conflicts with us.
        with pytest.raises(Conflict):
            await world.apply_map("one", "them", {"a": "1"})

    async def test_fields_of_other_managers_stay(self, world: World) -> None:
        await world.apply_map("one", "them", {"theirs": "1"})
        await world.apply_map("one", "us", {"ours": "1"}, force=True)
        await world.apply_map("one", "us", {}, force=True)
        assert await world.data("one") == {"theirs": "1"}

    async def test_a_field_that_two_agree_on_stays_until_both_drop_it(self, world: World) -> None:
        await world.apply_map("one", "them", {"a": "1"})
        await world.apply_map("one", "us", {"a": "1"})
        await world.apply_map("one", "them", {})
        assert await world.data("one") == {"a": "1"}
        await world.apply_map("one", "us", {})
        assert await world.data("one") == {}

    async def test_what_a_patch_has_changed_is_taken_back_by_force(self, world: World) -> None:
        await world.apply_map("one", "us", {"a": "1"})
        await merge(world, "one", {"data": {"a": "edited"}})
        await world.apply_map("one", "us", {"a": "1"}, force=True)
        assert await world.data("one") == {"a": "1"}

    async def test_lists_with_keys_are_merged_by_key(self, world: World) -> None:
        manifest = world.stateful_set("set")
        await world.api.apply(STATEFUL_SETS, world.key("set"), manifest, ApplyOptions("us", force=True))
        sidecar = {"name": "extra", "image": "example.invalid/extra:1"}
        theirs = world.manifest(STATEFUL_SETS, "set", spec={"template": {"spec": {"containers": [sidecar]}}})
        both = await world.api.apply(STATEFUL_SETS, world.key("set"), theirs, ApplyOptions("them"))
        assert sorted(container.name for container in both.spec.template.spec.containers) == ["extra", "main"]

    async def test_a_dry_run_changes_nothing(self, world: World) -> None:
        would = await world.apply_map("one", "us", {"a": "1"}, dry_run=True)
        assert would.metadata.name == "one"
        assert await gone(world, "one")

    async def test_an_apply_to_a_uid_that_is_gone_creates_nothing(self, world: World) -> None:
        before = await world.config_map("one")
        await world.delete(CONFIG_MAPS, before)
        body = world.manifest(CONFIG_MAPS, "one", metadata={"uid": before.metadata.uid}, data={})
        with pytest.raises(Conflict):
            await world.api.apply(CONFIG_MAPS, world.key("one"), body, ApplyOptions("us"))
        assert await gone(world, "one")

    async def test_an_apply_to_a_successor_of_the_uid_is_refused(self, world: World) -> None:
        before = await world.config_map("one")
        await world.delete(CONFIG_MAPS, before)
        await world.config_map("one", {"a": "successor"})
        body = world.manifest(CONFIG_MAPS, "one", metadata={"uid": before.metadata.uid}, data={"a": "2"})
        with pytest.raises(Invalid):
            await world.api.apply(CONFIG_MAPS, world.key("one"), body, ApplyOptions("us", force=True))
        assert await world.data("one") == {"a": "successor"}

    async def test_the_status_is_applied_through_its_subresource(self, world: World) -> None:
        await world.pod_on_lost_node("pod")
        condition = {"type": "stateward.dev/Checked", "status": "True"}
        body = world.manifest(PODS, "pod", status={"conditions": [condition]})
        options = ApplyOptions("us", force=True, subresource="status")
        pod = await world.api.apply(PODS, Key(world.namespace, "pod"), body, options)
        assert condition["type"] in {held.type for held in pod.status.conditions}
