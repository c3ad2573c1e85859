"""The contract of `Api`, reading: checked against the real API server and against simulated ones.

A suite subclasses it and offers a fixture `world`. Each test works in a namespace of its own.
"""

from typing import Any

import pytest

from stateward.kube.client.client import ListOptions, RawRequest
from stateward.kube.objects.errors import NotFound, UnknownResource
from stateward.kube.objects.metadata import PartialObject
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.resources import CONFIG_MAPS, SECRETS
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
