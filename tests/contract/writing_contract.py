"""The contract of `Api`, creating, replacing, patching: checked against the real API server and simulated ones.

A suite subclasses it and offers a fixture `world`. Each test works in a namespace of its own.
"""

from typing import Any

import pytest

from stateward.kube.client.client import PatchKind
from stateward.kube.objects.errors import AlreadyExists, Conflict, Invalid, NotFound
from stateward.kube.objects.metadata import PartialObject
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.resources import CONFIG_MAPS, PODS, STATEFUL_SETS
from tests.contract.world import World

MISSING_KIND = Resource("nothing.example", "v1", "things", "Thing", PartialObject)


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

    async def test_the_first_characters_of_two_uids_differ(self, world: World) -> None:
        made = [await world.config_map(name) for name in ("one", "two")]
        assert len({obj.metadata.uid[:8] for obj in made}) == 2

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
