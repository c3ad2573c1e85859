"""What is not known is not taken for granted: claims without proof, pauses, restarts of the operator, failures."""

import asyncio

import pytest

from stateward.kube.objects.metadata import Key
from stateward.simulation.opensearch.stored_objects import USERS
from tests.unit.operator.declared.users_world import UsersWorld
from tests.unit.operator.declared.world import HOME, TEMPLATE, World

ROLE = "/_plugins/_security/api/roles/reader"


async def test_an_object_whose_creation_was_not_recorded_keeps_its_resource_until_a_person_decides() -> None:
    """The operator died right after the write, and the body was changed: the role would have stayed as a right."""
    world = World()
    world.declare(object="role/reader", body={"cluster_permissions": ["a"]})
    async with world.operator():
        await world.until(world.is_ready)
    world.change_status("claim", "Creating")
    world.change_status("applied", "")
    world.declare(body={"cluster_permissions": ["b"]})
    async with world.operator():
        await world.until(lambda: world.stalled() == "Exists")
        world.delete()
        await world.until(lambda: "set deletionPolicy to Retain" in world.status()["activity"])
        assert "not known whether" in world.status()["activity"]
        assert world.stalled() == "OwnerUnknown"
        await asyncio.sleep(600)
        assert world.exists()
        del world.database.objects.by_path[ROLE]
        await world.until(lambda: not world.exists())


async def test_a_deletion_after_a_restart_says_what_it_waits_for() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
    world.reachable = False
    world.delete()
    async with world.operator():
        await world.until(lambda: "is not formed yet" in world.status().get("activity", ""))
        world.reachable = True
        await world.until(lambda: not world.exists())


async def test_what_is_paused_before_it_was_written_is_not_ready() -> None:
    world = World()
    world.template(paused=True)
    async with world.operator():
        await world.until(lambda: world.stalled() == "Paused")
        assert world.condition("Ready")["status"] == "False"
    assert not world.database.writes


async def test_a_failure_keeps_the_generation_that_was_observed() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
    world.template(body={**TEMPLATE, "priority": 9})
    await world.control()[0].objects.tell_failure(Key(HOME, "one"), "it fails")
    assert world.status()["observedGeneration"] == 1
    assert world.stalled() == "ReconciliationFailing"


@pytest.mark.parametrize("nested", [True, False])
async def test_references_in_settings_are_found_in_each_form(nested: bool) -> None:
    world = World()
    world.declare("clean", object="ingestPipeline/clean", body={"processors": []}, paused=True)
    settings = {"index": {"default_pipeline": "clean"}} if nested else {"index.default_pipeline": "clean"}
    world.template(body={"index_patterns": ["logs-*"], "template": {"settings": settings}})
    async with world.operator():
        await world.until(lambda: world.condition("Reconciling").get("reason") == "DependencyPending")


async def test_a_role_mapping_waits_for_the_role_of_its_name() -> None:
    world = World()
    world.declare("role", object="role/reader", body={}, paused=True)
    world.declare(object="roleMapping/reader", body={"users": ["ann"]})
    async with world.operator():
        await world.until(lambda: world.condition("Reconciling").get("reason") == "DependencyPending")


async def test_an_object_does_not_wait_for_the_second_declaration_of_one_that_is_there() -> None:
    world = World()
    world.declare("role", object="role/reader", body={})
    async with world.operator():
        await world.until(lambda: world.is_ready("role"))
        world.declare("double", object="role/reader", body={})
        await world.until(lambda: world.stalled("double") == "Conflict")
        world.declare(object="roleMapping/reader", body={"users": ["ann"]})
        await world.until(world.is_ready)


async def test_two_users_never_share_one_name_in_the_database() -> None:
    """The second of two rotated users is called like a third one that does not rotate."""
    world = UsersWorld()
    world.user("shop", password={"rotateAfter": "10h", "overlap": "2h"})
    async with world.operator():
        await world.until(world.user_ready)
        world.user("other", username="shop-2")
        await world.until(lambda: world.user_stalled("other") == "Conflict")
        world.user("shop", attributes={"team": "web"})
        await world.until(lambda: "SearchUser other" in world.user_status("shop").get("activity", ""))
        await world.until(lambda: world.user_ready("shop"))
    assert set(world.passwords) == {"shop-1"}


async def test_a_user_that_begins_to_rotate_takes_no_name_of_a_younger_one() -> None:
    world = UsersWorld()
    world.user("shop")
    async with world.operator():
        await world.until(world.user_ready)
        await asyncio.sleep(5)
        world.user("other", username="shop-1")
        await world.until(lambda: world.user_ready("other"))
        world.user("shop", password={"rotateAfter": "10h", "overlap": "2h"})
        await world.until(lambda: world.user_stalled("shop") == "Conflict")
        world.user("other", roles=["writer"])
        await world.until(lambda: world.user_ready("other"))
    assert world.application_connects()


async def test_a_user_whose_creation_was_not_recorded_is_not_left_behind() -> None:
    world = UsersWorld()
    world.user()
    async with world.operator():
        await world.until(world.user_ready)
    world.forget_user_write()
    world.user(roles=["writer"])
    world.remove_user()
    async with world.operator():
        await asyncio.sleep(600)
        assert world.user_exists()
        del world.database.objects.by_path[f"{USERS}shop"]
        await world.until(lambda: not world.user_exists())
