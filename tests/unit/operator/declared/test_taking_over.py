"""An object that was merged into belongs to its resource alone once that is asked for."""

from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search_object import SearchObject
from stateward.simulation.opensearch.stored_objects import StoredObject
from tests.unit.operator.declared.lives import lives, played
from tests.unit.operator.declared.world import HOME, World

ROLE = "/_plugins/_security/api/roles/reader"
MERGED: dict[str, Any] = {
    "object": "role/reader",
    "body": {"cluster_permissions": ["read"]},
    "existing": "Merge",
    "deletionPolicy": "Retain",
}
ADOPTED = {**MERGED, "existing": "Adopt", "deletionPolicy": "Delete"}


def shared() -> World:
    world = World()
    theirs = {"cluster_permissions": ["read"], "tenant_permissions": [{"allowed_actions": ["everything"]}]}
    world.database.objects.by_path[ROLE] = StoredObject(theirs, 1)
    world.declare(**MERGED)
    return world


@pytest.mark.parametrize("deaths", range(5))
def test_rights_of_others_go_when_a_merged_role_is_adopted_also_after_a_crash(deaths: int) -> None:
    played(adopted(deaths))


async def adopted(deaths: int) -> None:
    world = shared()
    async with world.operator():
        await world.until(world.is_ready)
    assert world.status()["claim"] == "Merged"
    world.declare(**ADOPTED)
    await lives(world, deaths, 600)
    assert world.is_ready()
    assert "tenant_permissions" not in world.database.objects.by_path[ROLE].body
    async with world.operator():
        world.delete()
        await world.until(lambda: not world.exists())
    assert ROLE not in world.database.objects.by_path


async def test_a_merged_object_stays_one_of_others_too_while_nothing_else_is_asked_for() -> None:
    world = shared()
    async with world.operator():
        await world.until(world.is_ready)
        world.declare(
            **MERGED | {"existing": "Refuse", "deletionPolicy": "Delete", "body": {"cluster_permissions": []}}
        )
        await world.until(world.is_ready)
        assert world.database.objects.by_path[ROLE].body["tenant_permissions"]
        world.delete()
        await world.until(lambda: not world.exists())
    assert ROLE in world.database.objects.by_path


async def test_a_plan_shows_what_is_replaced() -> None:
    world = shared()
    async with world.operator():
        await world.until(world.is_ready)
        spec = {"cluster": {"kind": "OpenSearchCluster", "name": "logs"}, **ADOPTED}
        offered = {"metadata": {"name": "one", "namespace": HOME}, "spec": spec}
        found = await world.previews().preview("searchobjects", msgspec.convert(offered, SearchObject))
    assert (found.does, [change.path for change in found.changes]) == ("replace", ["/tenant_permissions"])
