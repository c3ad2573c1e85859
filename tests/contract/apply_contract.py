"""The contract of `Api`, server-side apply: checked against the real API server and against simulated ones.

A suite subclasses it and offers a fixture `world`. Each test works in a namespace of its own.
"""

import pytest

from stateward.kube.client.client import ApplyOptions, PatchKind
from stateward.kube.objects.errors import Conflict, Invalid
from stateward.kube.objects.metadata import Key, PartialObject
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.resources import CLAIMS, CONFIG_MAPS, PODS, STATEFUL_SETS
from tests.contract.deleting_contract import gone
from tests.contract.world import World
from tests.contract.writing_contract import merge

NO_VERSION = "1"
MISSING_KIND = Resource("nothing.example", "v1", "things", "Thing", PartialObject)


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

    async def test_what_the_server_sets_in_a_new_object_belongs_to_no_manager(self, world: World) -> None:
        """Also if a controller adds to it, as that of volumes does to the status of a claim."""
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        key, status = world.key("data"), {"capacity": {"storage": "1Gi"}}
        for label in ("first", "second"):
            meta = {"labels": {"applied": label}}
            body = world.manifest(CLAIMS, "data", metadata=meta, spec={**spec, "storageClassName": "none"})
            claim = await world.api.apply(CLAIMS.raw(), key, body, ApplyOptions("us"))
            assert claim["metadata"]["labels"] == meta["labels"]
            assert claim["status"]["phase"] == "Pending"
            await world.api.patch(CLAIMS, key, {"status": status}, kind=PatchKind.MERGE, subresource="status")

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

    async def test_what_a_patch_has_changed_is_reverted_by_force(self, world: World) -> None:
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

    async def test_an_apply_at_a_version_that_no_object_has_creates_and_changes_nothing_that_exists(
        self, world: World
    ) -> None:
        body = world.manifest(CONFIG_MAPS, "one", metadata={"resourceVersion": NO_VERSION}, data={"a": "1"})
        made = await world.api.apply(CONFIG_MAPS, world.key("one"), body, ApplyOptions("us"))
        assert made.metadata.resource_version != NO_VERSION
        for force in (False, True):
            again = ApplyOptions("them", force=force)
            with pytest.raises(Conflict):
                await world.api.apply(CONFIG_MAPS, world.key("one"), body, again)
        live = await world.api.get(CONFIG_MAPS, world.key("one"))
        assert live.metadata.resource_version == made.metadata.resource_version

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
