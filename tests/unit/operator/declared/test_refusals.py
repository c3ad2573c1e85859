"""What is refused or waits: foreign objects, protected ones, conflicts, mixed versions, the database's own refusals."""

import asyncio
from typing import Any

import msgspec
import pytest

from stateward.engines.connection.base import Answer
from stateward.simulation.opensearch.stored_objects import StoredObject
from tests.unit.operator.declared.world import TEMPLATE, World

PATH = "/_index_template/logs"
PREFIX = "index.plugins.index_state_management.policy_id"
ROLE = "/_plugins/_security/api/roles/reader"
THEIRS = {"index_patterns": ["theirs-*"], "priority": 3}


def with_theirs() -> World:
    world = World()
    world.database.objects.by_path[PATH] = StoredObject(dict(THEIRS), 1)
    return world


async def test_what_was_there_before_is_not_touched() -> None:
    world = with_theirs()
    world.template()
    async with world.operator():
        await world.until(lambda: world.stalled() == "Exists")
        world.delete()
        await world.until(lambda: not world.exists())
    assert world.database.objects.by_path[PATH].body == THEIRS
    assert not world.database.writes


async def test_what_was_there_before_is_replaced_if_it_is_adopted() -> None:
    world = with_theirs()
    world.template(existing="Adopt")
    async with world.operator():
        await world.until(world.is_ready)
        assert "priority" not in world.database.objects.by_path[PATH].body
        world.delete()
        await world.until(lambda: not world.exists())
    assert PATH not in world.database.objects.by_path


async def test_fields_are_written_into_what_was_there_before_if_it_is_merged() -> None:
    world = with_theirs()
    world.template(existing="Merge", deletionPolicy="Retain")
    async with world.operator():
        await world.until(world.is_ready)
        stored = world.database.objects.by_path[PATH].body
        assert (stored["priority"], stored["index_patterns"]) == (3, ["logs-*"])
        assert "_meta" not in stored
        world.delete()
        await world.until(lambda: not world.exists())
    assert PATH in world.database.objects.by_path


async def test_two_resources_for_one_object_both_say_so_and_the_first_goes_on() -> None:
    world = World()
    world.template("one")
    async with world.operator():
        await world.until(world.is_ready)
        world.template("two", body=THEIRS)
        await world.until(lambda: world.stalled("two") == "Conflict")
        world.template("one", body={**TEMPLATE, "priority": 5})
        await world.until(lambda: "SearchObject two" in world.status("one").get("activity", ""))
        await world.until(lambda: world.is_ready("one"))
        assert world.database.objects.by_path[PATH].body["priority"] == 5
        world.delete("one")
        await world.until(lambda: world.is_ready("two"))
    assert world.database.objects.by_path[PATH].body["index_patterns"] == ["theirs-*"]


async def test_nothing_is_written_while_nodes_run_several_versions() -> None:
    world = World()
    world.database.versions = ["2.19.3", "2.17.1", "2.19.3"]
    world.template()
    async with world.operator():
        await world.until(lambda: world.condition("Reconciling").get("reason") == "MixedVersions")
        assert "2.17.1 and 2.19.3" in world.status()["activity"]
        assert not world.database.writes
        world.database.versions = ["2.19.3"] * 3
        await world.until(world.is_ready)


@pytest.mark.parametrize("flag", ["reserved", "hidden", "static"])
async def test_an_object_of_the_security_plugin_is_never_changed(flag: str) -> None:
    world = World()
    world.database.objects.by_path[ROLE] = StoredObject({"cluster_permissions": ["*"], flag: True}, 1)
    world.declare(object="role/reader", body={"cluster_permissions": []}, existing="Adopt")
    async with world.operator():
        await world.until(lambda: world.stalled() == "Protected")
        world.delete()
        await world.until(lambda: not world.exists())
    assert world.database.objects.by_path[ROLE].body["cluster_permissions"] == ["*"]


async def test_a_right_that_another_client_adds_to_a_role_is_taken_back() -> None:
    world = World()
    world.declare(object="role/reader", body={"cluster_permissions": ["read", "write"]})
    async with world.operator():
        await world.until(world.is_ready)
        body = world.database.objects.by_path[ROLE].body
        body["cluster_permissions"] = ["write", "read"]
        await asyncio.sleep(900)
        assert len(world.database.writes) == 1, "the order of rights means nothing"
        body["index_permissions"] = [{"index_patterns": ["*"], "allowed_actions": ["*"]}]
        await world.until(lambda: not world.database.objects.by_path[ROLE].body["index_permissions"])


async def test_the_reason_of_the_database_is_shown_and_the_next_edit_is_tried() -> None:
    world = World()
    world.template(body={})
    async with world.operator():
        await world.until(lambda: world.stalled() == "Refused")
        assert "spec.body: the database refuses it" in world.status()["activity"]
        assert "index patterns are missing" in world.status()["activity"]
        world.template(body=TEMPLATE)
        await world.until(world.is_ready)


async def test_a_refusal_is_at_the_field_that_the_database_names() -> None:
    world = World()
    world.template(body={**TEMPLATE, "priority": "high"})
    error = {"error": {"reason": "[1:9] [index_template] failed to parse field [priority]"}, "status": 400}
    world.database.refusals[PATH] = Answer(400, msgspec.json.encode(error))
    async with world.operator():
        await world.until(lambda: "spec.body.priority: the database refuses it" in world.status().get("activity", ""))


async def test_a_database_without_the_plug_in_of_an_object_is_told_apart_from_a_wrong_body() -> None:
    world = World()
    world.declare("one", path="/_ltr/_feature/a", body={"name": "a"})
    async with world.operator():
        await world.until(lambda: world.stalled() == "Refused")
        told = "spec.path: the database has no such objects, perhaps because a plug-in or module is missing"
        assert world.status()["activity"].startswith(told)
        assert "no handler found" in world.status()["activity"]
        world.delete()
        await world.until(lambda: not world.exists())


async def test_an_object_waits_for_the_objects_that_it_refers_to() -> None:
    world = World()
    world.declare("part", object="componentTemplate/base", body={"template": {}}, paused=True)
    world.template(body={**TEMPLATE, "composed_of": ["base"]})
    async with world.operator():
        await world.until(lambda: world.condition("Reconciling").get("reason") == "DependencyPending")
        assert not world.database.writes
        world.declare("part", paused=False)
        await world.until(world.is_ready)
    assert [call.path for call in world.database.writes] == ["/_component_template/base", PATH]


async def test_an_object_that_is_in_the_database_does_not_wait_for_others_again() -> None:
    world = World()
    world.declare("part", object="componentTemplate/base", body={"template": {}})
    world.template(body={**TEMPLATE, "composed_of": ["base"]})
    async with world.operator():
        await world.until(lambda: world.is_ready("part") and world.is_ready())
        world.declare("part", paused=True)
        world.change_status("claim", "Creating", "part")
        world.template(body={**TEMPLATE, "composed_of": ["base"], "priority": 7})
        await world.until(world.is_ready)


async def test_only_cluster_settings_wait_for_a_setting_that_another_resource_has_set() -> None:
    """A field of another object may have the name of a setting."""
    world = World()
    world.declare("settings", object="clusterSettings", body={"priority": 2})
    async with world.operator():
        await world.until(lambda: world.is_ready("settings"))
        world.template(body={**TEMPLATE, "priority": 7})
        await world.until(world.is_ready)


async def test_objects_that_refer_to_each_other_are_deleted_in_any_order() -> None:
    world = World()
    world.declare("part", object="componentTemplate/base", body={"template": {}})
    world.template(body={**TEMPLATE, "composed_of": ["base"]})
    async with world.operator():
        await world.until(lambda: world.is_ready("part") and world.is_ready())
        world.delete("part")
        await world.until(lambda: "used by" in world.status("part").get("activity", ""))
        world.delete()
        await world.until(lambda: not world.exists() and not world.exists("part"))
    assert not world.database.objects.by_path


async def test_a_value_of_a_secret_is_written_and_never_shown() -> None:
    world = World()
    world.secret("keys", {"stateward.dev/allowed-for-pods": "logs"}, password="geheim-77")
    value = {"secretName": "keys", "key": "password", "path": "/settings/password"}
    world.declare(object="snapshotRepository/store", body={"type": "s3", "settings": {}}, values=[value])
    path = "/_snapshot/store"
    echo = {"error": {"reason": "cannot connect with geheim-77"}}
    world.database.refusals[path] = Answer(500, msgspec.json.encode(echo))
    async with world.operator():
        await world.until(lambda: "cannot connect with ***" in world.status().get("activity", ""))
        del world.database.refusals[path]
        await world.until(world.is_ready)
    assert world.database.objects.by_path[path].body["settings"]["password"] == "geheim-77"
    assert "geheim-77" not in str(list(world.store.all("stateward.dev/searchobjects")))
    assert "geheim-77" not in str(list(world.store.all("events.k8s.io/events")))


@pytest.mark.parametrize(
    ("labels", "reason"), [({}, "SecretNotAllowed"), ({"stateward.dev/allowed-for-pods": "x"}, "SecretNotAllowed")]
)
async def test_a_secret_that_its_owner_has_not_allowed_is_not_read_into_the_database(
    labels: dict[str, str], reason: str
) -> None:
    world = World()
    world.secret("keys", labels, password="geheim-77")
    value = {"secretName": "keys", "key": "password", "path": "/settings/password"}
    world.declare(object="snapshotRepository/store", body={"type": "s3"}, values=[value])
    async with world.operator():
        await world.until(lambda: world.stalled() == reason)
    assert not world.database.writes


async def test_an_alias_is_one_action_and_waits_for_its_index() -> None:
    world = World()
    world.declare(object="alias/logs-000001/logs", body={"is_write_index": True, "routing": "1"})
    async with world.operator():
        await world.until(lambda: world.stalled() == "Refused")
        world.database.objects.indices.add("logs-000001")
        await world.until(world.is_ready)
        alias = {"is_write_index": True, "index_routing": "1", "search_routing": "1"}
        assert world.database.objects.aliases == {("logs-000001", "logs"): alias}
        await asyncio.sleep(900)
        assert world.database.objects.writes == 1, "the database stores it in another form, and that is no drift"
        world.delete()
        await world.until(lambda: not world.exists())
    assert not world.database.objects.aliases


async def test_an_alias_that_a_rollover_moved_on_stays_where_it_is() -> None:
    world = World()
    world.database.objects.indices |= {"logs-000001", "logs-000002"}
    world.declare(object="alias/logs-000001/logs", body={})
    async with world.operator():
        await world.until(world.is_ready)
        world.database.objects.aliases = {("logs-000002", "logs"): {}}
        await asyncio.sleep(900)
        assert world.is_ready()
        assert "logs-000002" in world.status()["activity"]
        world.delete()
        await world.until(lambda: not world.exists())
    assert world.database.objects.aliases == {("logs-000002", "logs"): {}}
    assert world.database.objects.writes == 1


async def test_indices_follow_a_changed_policy_if_that_is_asked_for() -> None:
    world = World()
    managed: dict[str, Any] = {PREFIX: "keep", "policy_seq_no": 0}
    starting, others = {**managed, "policy_seq_no": None}, {**managed, PREFIX: "other"}
    world.database.explained = {"logs-1": dict(managed), "logs-2": starting, "x": others, "total_managed_indices": 3}
    policy = {"policy": {"states": [{"name": "hot"}]}}
    world.declare(object="ismPolicy/keep", body=policy, applyToExisting=True)
    async with world.operator():
        await world.until(world.is_ready)
    paths = [call.path for call in world.database.writes]
    assert paths == ["/_plugins/_ism/policies/keep", "/_plugins/_ism/change_policy/logs-1"]


async def test_the_operator_of_another_wave_leaves_everything_alone() -> None:
    world = World()
    world.found, world.wave = None, "canary"
    world.template()
    async with world.operator():
        await asyncio.sleep(120)
    assert world.status() == {}


async def test_what_the_database_always_has_is_merged_and_never_deleted() -> None:
    world = World()
    there = StoredObject({"enabled": True, "audit": {"a": 1}}, 1)
    world.database.objects.by_path["/_plugins/_security/api/audit"] = there
    audit: dict[str, Any] = {"object": "audit", "body": {"audit": {"ignore_users": ["robot"]}}}
    world.declare(**audit)
    async with world.operator():
        await world.until(lambda: world.stalled() == "InvalidSpec")
        assert "spec.deletionPolicy" in world.status()["activity"]
        world.declare(**audit, deletionPolicy="Retain")
        await world.until(lambda: world.stalled() == "Exists")
        assert not world.database.writes
        world.declare(**audit, deletionPolicy="Retain", existing="Merge")
        await world.until(world.is_ready)
        merged = {"enabled": True, "audit": {"a": 1, "ignore_users": ["robot"]}}
        assert world.database.objects.by_path["/_plugins/_security/api/audit"].body == merged
        world.delete()
        await world.until(lambda: not world.exists())
    assert [call.method for call in world.database.writes] == ["PUT"]
    assert world.database.objects.by_path["/_plugins/_security/api/audit"].body == merged


async def test_a_status_tells_few_of_many_problems() -> None:
    """Each key of a body was a problem of its own: the status had megabytes of text, four times."""
    world = World()
    world.template(object="clusterSettings", body={f"cluster.*{i}": 1 for i in range(5000)})
    async with world.operator():
        await world.until(lambda: world.stalled() == "InvalidSpec")
    assert world.status()["activity"].endswith("and 4980 more")
    assert len(msgspec.json.encode(world.status())) < 20_000


async def test_a_status_has_the_begin_of_a_long_place() -> None:
    """A key of a body may be as long as the body, and what differs there was told with all of it."""
    world = with_theirs()
    world.template(drift="Report", existing="Adopt", body={**TEMPLATE, "_meta": {"k" * 100_000: 1}})
    async with world.operator():
        await world.until(world.is_ready)
        world.database.objects.by_path[PATH] = StoredObject({**TEMPLATE, "_meta": {"other": 1}}, 9)
        await world.until(lambda: world.stalled() == "Drifted")
    assert world.status()["drift"].startswith("another client has changed /_meta/kkk")
    assert len(msgspec.json.encode(world.status())) < 110_000
