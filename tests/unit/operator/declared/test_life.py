"""The life of a declared object: created, changed, corrected, deleted."""

import asyncio
import json
from typing import Any

from stateward.engines.connection.base import Answer
from tests.unit.operator.declared.world import TEMPLATE, World

PATH = "/_index_template/logs"
ROLE = "/_plugins/_security/api/roles/reader"


async def test_an_object_is_created_and_the_status_says_whose_it_is() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
    stored = world.database.objects.by_path[PATH].body
    assert stored["index_patterns"] == ["logs-*"]
    assert stored["_meta"] == {"stateward.dev/search-object": "prod/one"}
    assert world.status()["claim"] == "Owned"
    assert world.status()["object"] == "indexTemplate/logs"
    assert "settings" not in world.status()
    assert world.told() == ["Applied"]


async def test_nothing_is_written_again_while_nothing_changes() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
        before = world.status()
        await asyncio.sleep(3600)
    assert len(world.database.writes) == 1
    assert world.status() == before


async def test_what_is_settled_is_compared_every_few_minutes_and_what_waits_is_tried_every_few_seconds() -> None:
    world = World()
    world.template()
    world.reachable = False
    async with world.operator():
        await world.until(lambda: world.condition("Reconciling").get("reason") == "DatabaseNotFormed")
        world.reachable = True
        await world.until(world.is_ready, 20)
        await asyncio.sleep(1)
        calls = len(world.database.calls)
        await asyncio.sleep(240)
        assert len(world.database.calls) == calls
        await world.until(lambda: len(world.database.calls) > calls, 120)


async def test_an_operator_that_has_just_started_leaves_the_status_as_it_is() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
    before = world.status()
    world.reachable = False
    async with world.operator():
        await asyncio.sleep(60)
        assert world.status() == before
        world.template(body={**TEMPLATE, "priority": 7})
        await world.until(lambda: world.condition("Reconciling").get("reason") == "DatabaseNotFormed")


async def test_a_declared_value_that_is_the_databases_default_is_kept() -> None:
    """Another client changes it."""
    world = World()

    def policy(priority: int) -> dict[str, Any]:
        return {"policy": {"ism_template": [{"index_patterns": ["logs-*"], "priority": priority}]}}

    world.declare(object="ismPolicy/keep", body=policy(0))
    stored = world.database.objects.by_path
    async with world.operator():
        await world.until(world.is_ready)
        (path,) = stored
        stored[path].body = policy(9)
        await world.until(lambda: "DriftCorrected" in world.told())
    assert stored[path].body["policy"] == policy(0)["policy"]


async def test_an_edit_is_written() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
        world.template(body={**TEMPLATE, "priority": 7})
        await world.until(lambda: world.is_ready() and len(world.database.writes) == 2)
    assert world.database.objects.by_path[PATH].body["priority"] == 7


async def test_a_change_by_another_client_is_corrected() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
        world.database.objects.by_path[PATH].body["index_patterns"] = ["others-*"]
        await world.until(lambda: world.database.objects.by_path[PATH].body["index_patterns"] == ["logs-*"])
        await world.until(world.is_ready)
        await world.until(lambda: world.told() == ["Applied", "DriftCorrected"])


async def test_a_default_that_the_database_adds_later_is_no_drift() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
        world.database.objects.by_path[PATH].body["allow_auto_create"] = True
        await asyncio.sleep(900)
    assert len(world.database.writes) == 1


async def test_a_change_by_another_client_is_only_reported_if_that_is_asked_for() -> None:
    world = World()
    world.template(drift="Report")
    async with world.operator():
        await world.until(world.is_ready)
        world.database.objects.by_path[PATH].body["index_patterns"] = ["others-*"]
        await world.until(lambda: world.stalled() == "Drifted")
        assert "index_patterns" in world.status()["drift"]
        world.template(body={**TEMPLATE, "priority": 7})
        await world.until(world.is_ready)
    assert world.database.objects.by_path[PATH].body["index_patterns"] == ["logs-*"]


async def test_an_object_that_another_client_has_deleted_is_created_again() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
        del world.database.objects.by_path[PATH]
        await world.until(lambda: PATH in world.database.objects.by_path)


async def test_the_object_is_deleted_with_its_resource() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
        world.delete()
        await world.until(lambda: not world.exists())
    assert PATH not in world.database.objects.by_path


async def test_a_deletion_that_another_client_undoes_is_repeated_and_says_so() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
        world.database.refusals[PATH] = Answer(200, b'{"acknowledged": true}')
        world.delete()
        await world.until(lambda: world.condition("Reconciling").get("status") == "True")
        assert world.condition("Reconciling")["reason"] == "Changing"
        assert "another client creates it again" in world.status()["activity"]
        world.database.refusals.clear()
        await world.until(lambda: not world.exists())
    assert PATH not in world.database.objects.by_path


async def test_the_object_stays_if_that_is_asked_for() -> None:
    world = World()
    world.template(deletionPolicy="Retain")
    async with world.operator():
        await world.until(world.is_ready)
        world.delete()
        await world.until(lambda: not world.exists())
    assert PATH in world.database.objects.by_path


async def test_a_deletion_waits_for_the_database_and_says_how_to_go_on_without_it() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
        world.reachable = False
        world.delete()
        await world.until(lambda: "set deletionPolicy to Retain" in world.status().get("activity", ""))
        world.template(deletionPolicy="Retain")
        await world.until(lambda: not world.exists())
    assert PATH in world.database.objects.by_path


async def test_a_resource_goes_with_its_cluster() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
        world.found = None
        world.delete()
        await asyncio.sleep(120)
        assert world.exists(), "the cache alone does not say that the cluster is gone"
        world.there = False
        await world.until(lambda: not world.exists())


async def test_a_claim_of_another_database_is_worth_nothing() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
    world.database.objects.by_path[PATH].body = {"index_patterns": ["theirs-*"]}
    assert world.status()["clusterUUID"] == "uuid-1"
    world.change_status("clusterUUID", "another")
    async with world.operator():
        await world.until(lambda: world.stalled() == "Exists")
    assert world.database.objects.by_path[PATH].body == {"index_patterns": ["theirs-*"]}


async def test_nothing_is_written_while_it_is_paused() -> None:
    world = World()
    world.template(paused=True)
    async with world.operator():
        await world.until(lambda: world.condition("Ready").get("reason") == "Paused")
        assert not world.database.writes
        world.template(paused=False)
        await world.until(lambda: world.database.writes)


async def test_an_edit_while_the_object_is_written_for_the_first_time_does_not_make_it_one_of_others() -> None:
    world = World()
    world.declare(object="role/reader", body={"cluster_permissions": ["cluster_monitor"]})
    edits = iter(["cluster_all", "cluster_composite_ops"])

    def edited(_path: str) -> None:
        """Edit the resource after the database has performed a write, and before its answer arrives."""
        if permission := next(edits, ""):
            world.declare(body={"cluster_permissions": [permission]})

    world.database.wire.command_done = edited
    async with world.operator():
        await world.until(lambda: '"cluster_composite_ops"' in json.dumps(world.database.objects.content(ROLE)))
        await world.until(world.is_ready)
    assert "Exists" not in world.told()
