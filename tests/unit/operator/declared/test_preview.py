"""What an object would change, before anything is sent: the decision of the operator, and no write."""

from typing import Any

import msgspec
import pytest

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search_object import SearchObject
from stateward.api.kinds.search_user import SearchUser
from stateward.engines.connection.base import Answer, RefusedError
from stateward.engines.search.declared.preview import ObjectPreview
from stateward.kube.election.fence import LostLease
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import SECRETS
from stateward.operator.declared.previews import OneDatabase
from stateward.operator.restarts.digestkey import NAME
from stateward.planning.model.database import Unknown
from stateward.simulation.opensearch.stored_objects import StoredObject
from tests.unit.operator.declared.users_world import UsersWorld
from tests.unit.operator.declared.world import HOME, TEMPLATE, World

PATH = "/_index_template/logs"


def offered(name: str = "one", **spec: Any) -> SearchObject:
    cluster = {"kind": "OpenSearchCluster", "name": "logs"}
    wanted = {"cluster": cluster, "object": "indexTemplate/logs", "body": TEMPLATE, **spec}
    return msgspec.convert({"metadata": {"name": name, "namespace": HOME}, "spec": wanted}, SearchObject)


async def previewed(world: World, of: Any) -> ObjectPreview:
    """Return the answer of a process that only reads."""
    return await world.previews().preview(f"{type(of).__name__.lower()}s", of)


async def test_a_new_object_is_created() -> None:
    world = World()
    async with world.operator():
        found = await previewed(world, offered())
    assert (found.does, [change.path for change in found.changes]) == ("create", ["/index_patterns", "/template"])
    assert found.goes_through
    assert not world.database.writes


async def test_an_object_that_gets_its_name_later_is_new() -> None:
    world = World()
    async with world.operator():
        assert (await previewed(world, offered(""))).does == "create"


async def test_an_edit_shows_what_is_stored_and_what_is_declared() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
        same = await previewed(world, offered())
        edited = await previewed(world, offered(body={**TEMPLATE, "priority": 7}))
    assert (same.does, same.changes) == ("nothing", ())
    (change,) = edited.changes
    assert (edited.does, change.path, change.before, change.after) == ("change", "/priority", None, 7)
    assert len(world.database.writes) == 1


async def test_what_would_be_refused_is_said() -> None:
    world = World()
    world.database.objects.by_path[PATH] = StoredObject({"index_patterns": ["theirs-*"]}, 1)
    async with world.operator():
        refused = await previewed(world, offered())
        adopted = await previewed(world, offered(existing="Adopt"))
        wrong = await previewed(world, offered(object="nonsense/x"))
        world.database.versions = ["1.0.0", "2.0.0"]
        waits = await previewed(world, offered())
    assert (refused.does, refused.reason) == ("refuse", "Exists")
    assert (adopted.does, adopted.changes[0].before) == ("replace", ["theirs-*"])
    assert (wrong.does, wrong.reason) == ("refuse", "InvalidSpec")
    assert (waits.does, waits.reason) == ("wait", "MixedVersions")
    assert not any(found.goes_through for found in (refused, wrong, waits))


async def test_an_object_that_is_named_by_its_path_is_told_by_it() -> None:
    world = World()
    world.found = None
    found = await previewed(world, offered(object=None, path="/_plugins/_ml/x", body={}))
    assert (found.object, found.does) == ("/_plugins/_ml/x", "refuse")


async def test_a_process_without_the_lease_tells_the_same_and_writes_nothing() -> None:
    """`previewed` never works: what it tells does not depend on whether another process does."""
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
        beside = [await previewed(world, each) for each in (offered(), offered("two"), offered(body={}))]
    before = [(stored.key, stored.meta["resourceVersion"]) for stored in world.store.all(world.plural)]
    alone = [await previewed(world, each) for each in (offered(), offered("two"), offered(body={}))]
    assert alone == beside
    assert [found.does for found in alone] == ["nothing", "refuse", "change"]
    assert [(stored.key, stored.meta["resourceVersion"]) for stored in world.store.all(world.plural)] == before
    assert len(world.database.writes) == 1
    assert len(world.store.all("/secrets")) == 1, "the key of digests, by the process that works"


async def test_without_a_key_of_digests_none_is_made() -> None:
    world = World()
    assert (await previewed(world, offered())).does == "create"
    assert not world.store.all("/secrets")
    world.server.create("/secrets", "stateward", {"metadata": {"name": NAME}, "data": {"key": "AAAA"}})
    found = await previewed(world, offered())
    assert (found.does, found.reason) == ("refuse", "NoDigestKey")


async def test_no_cluster_is_gone_for_a_process_that_only_reads() -> None:
    world = World()
    world.there = False
    key = Key(HOME, "logs")
    assert await world.gone("OpenSearchCluster", key)
    assert not await OneDatabase(world, None).gone("OpenSearchCluster", key)


async def test_a_process_that_does_not_know_the_way_to_the_database_says_so() -> None:
    world = UsersWorld()
    world.template()
    world.unknown = Unknown("this process has just started")
    for each in (offered(), offered_user()):
        found = await previewed(world, each)
        assert (found.does, found.reason, found.message) == ("wait", "NotKnown", "this process has just started")
    world.unknown, world.found = None, None
    assert (await previewed(world, offered())).reason == "ClusterMissing"
    assert (await previewed(world, offered(object="nonsense/x"))).reason == "InvalidSpec"


async def test_a_cluster_of_a_wave_is_not_told_to_be_unformed() -> None:
    class Elsewhere(World):
        def managed(self, cluster: Cluster | None) -> bool:
            return cluster is None

    world = Elsewhere()
    found = await previewed(world, offered())
    assert (found.does, found.reason) == ("wait", "ManagedElsewhere")


async def test_what_previews_can_write_neither_to_the_api_server_nor_to_the_database() -> None:
    world = World()
    with pytest.raises(LostLease):
        await world.previews()._api.create(SECRETS.raw(), {"metadata": {"name": "x"}}, namespace=HOME)
    target = world.target("OpenSearchCluster", Key(HOME, "logs"))
    assert target is not None
    with pytest.raises(RefusedError, match="only reads"):
        await world.read("OpenSearchCluster", target, lambda session: session.command("PUT", "/_cluster/settings"))
    assert not world.database.writes


async def test_another_resource_for_the_same_object_would_be_refused() -> None:
    world = World()
    world.template()
    async with world.operator():
        await world.until(world.is_ready)
        found = await previewed(world, offered("two"))
    assert (found.does, found.reason) == ("refuse", "Conflict")


async def test_values_of_secrets_are_not_in_the_answer() -> None:
    world = World()
    world.secret("keys", {"stateward.dev/allowed-for-pods": "logs"}, password="geheim-78")
    path = "/_snapshot/store"
    world.database.objects.by_path[path] = StoredObject({"type": "s3", "settings": {"password": "geheim-77"}}, 1)
    value = {"secretName": "keys", "key": "password", "path": "/settings/password"}
    body = {"type": "s3", "settings": {"bucket": "b"}}
    async with world.operator():
        of = offered(object="snapshotRepository/store", body=body, values=[value], existing="Adopt")
        found = await previewed(world, of)
    assert "geheim" not in str(found)
    assert [change.path for change in found.changes] == ["/settings/bucket"]


def offered_user(**spec: Any) -> SearchUser:
    wanted = {"cluster": {"kind": "OpenSearchCluster", "name": "logs"}, "roles": ["reader"], **spec}
    return msgspec.convert({"metadata": {"name": "shop", "namespace": HOME}, "spec": wanted}, SearchUser)


async def test_a_user_is_previewed_without_its_password() -> None:
    world = UsersWorld()
    async with world.operator():
        new = await previewed(world, offered_user())
        assert not world.database.writes
        world.user()
        await world.until(world.user_ready)
        same = await previewed(world, offered_user())
        edited = await previewed(world, offered_user(roles=["writer"]))
        admin = await previewed(world, offered_user(username="admin", existing="Adopt"))
    assert (new.object, new.does, same.does) == ("user/shop", "create", "nothing")
    (change,) = edited.changes
    assert (edited.does, change.before, change.after) == ("change", ["reader"], ["writer"])
    assert (admin.does, admin.reason) == ("refuse", "InvalidSpec")
    assert world.connection()["password"] not in str((new, same, edited))


async def test_a_user_whose_password_is_in_a_secret_is_not_previewed_from_one_that_is_not_allowed() -> None:
    world = UsersWorld()
    world.secret("theirs", {}, password="geheim-77")
    async with world.operator():
        found = await previewed(world, offered_user(password={"secretName": "theirs", "key": "password"}))
    assert (found.does, found.reason) == ("refuse", "SecretNotAllowed")


def slack(*states: dict[str, Any]) -> dict[str, Any]:
    return {"policy": {"description": "keep", "states": list(states)}}


def state(name: str, **destination: Any) -> dict[str, Any]:
    return {"name": name, "actions": [{"notification": {"destination": {"slack": destination}}}]}


SLACK = "/policy/states/0/actions/0/notification/destination/slack/url"


def with_policy() -> World:
    """Return a world with a policy that has a value of a Secret."""
    world = World()
    world.secret("keys", {"stateward.dev/allowed-for-pods": "logs"}, url="https://geheim-77")
    value = {"secretName": "keys", "key": "url", "path": SLACK}
    world.declare(object="ismPolicy/keep", values=[value], body=slack(state("hot")))
    return world


async def test_values_of_secrets_in_lists_are_not_in_the_answer() -> None:
    """The stored list may be shorter, longer or in another order than the declared one."""
    world = World()
    world.secret("keys", {"stateward.dev/allowed-for-pods": "logs"}, url="https://geheim-77")
    value = {"secretName": "keys", "key": "url", "path": SLACK}
    policy: dict[str, Any] = {"object": "ismPolicy/keep", "values": [value]}
    world.declare(**policy, body=slack(state("hot")))
    async with world.operator():
        await world.until(world.is_ready)
        assert "geheim-77" in str(world.database.objects.by_path)
        moved = {**policy, "values": [{**value, "path": SLACK.replace("states/0", "states/1")}]}
        edits: list[dict[str, Any]] = [
            {**policy, "body": slack(state("warm"))},
            {**policy, "body": slack(state("hot"), {"name": "cold", "actions": []})},
            {**moved, "body": slack({"name": "cold", "actions": []}, state("hot"))},
            {"object": "ismPolicy/keep", "body": slack(state("hot", channel="#a"))},
            {"object": "ismPolicy/keep", "body": {"policy": {"description": "none"}}},
        ]
        for edit in edits:
            found = await previewed(world, offered(**edit))
            assert found.does == "change"
            assert found.changes
            assert "geheim-77" not in str(found)


async def test_no_stored_text_is_shown_while_the_last_edit_is_not_written() -> None:
    """What is stored is then of an earlier spec, and nothing says which of its values came from Secrets."""
    world = with_policy()
    async with world.operator():
        await world.until(world.is_ready)
        refusal = {"error": {"reason": "no"}, "status": 400}
        world.database.refusals["/_plugins/_ism/policies/keep"] = Answer(400, msgspec.json.encode(refusal))
        world.declare(values=[], body=slack(state("warm", number=1)))
        await world.until(lambda: world.stalled() == "Refused")
        found = await previewed(world, offered(object="ismPolicy/keep", body=slack(state("cold", number=2))))
        assert found.does == "change"
        assert "geheim-77" not in str(found)
        name = next(change for change in found.changes if change.path == "/policy/states/0/name")
        assert (name.before, name.after) == ("***", "cold")
        world.database.refusals.clear()
        await world.until(world.is_ready)
        found = await previewed(world, offered(object="ismPolicy/keep", body=slack(state("cold", number=2))))
        name = next(change for change in found.changes if change.path == "/policy/states/0/name")
        assert (name.before, name.after) == ("warm", "cold")


async def test_no_stored_text_is_shown_while_it_is_not_known_what_was_written() -> None:
    """The first write may have been performed, with values of Secrets at places that no spec names any more."""
    world = with_policy()
    async with world.operator():
        await world.until(world.is_ready)
    world.change_status("claim", "Creating")
    world.change_status("applied", "")
    world.declare(values=[], paused=True, body=slack(state("warm", number=1)))
    found = await previewed(world, offered(object="ismPolicy/keep", existing="Adopt", body=slack(state("cold"))))
    assert found.changes
    assert "geheim-77" not in str(found)


async def test_no_stored_text_is_shown_if_a_secret_of_what_is_declared_until_now_is_gone() -> None:
    world = with_policy()
    async with world.operator():
        await world.until(world.is_ready)
        world.drop_secret("keys")
        found = await previewed(world, offered(object="ismPolicy/keep", body=slack(state("cold"))))
    name = next(change for change in found.changes if change.path == "/policy/states/0/name")
    assert (name.before, name.after) == ("***", "cold")


async def test_what_others_have_stored_is_shown_if_nothing_was_ever_written() -> None:
    world = World()
    theirs = {"index_patterns": ["theirs-*"], "template": {"settings": {"index.codec": "best"}}}
    world.database.objects.by_path[PATH] = StoredObject(theirs, 1)
    world.template()
    async with world.operator():
        await world.until(lambda: world.stalled() == "Exists")
        found = await previewed(world, offered(existing="Adopt", body=TEMPLATE))
    assert any(change.before == "best" for change in found.changes)


async def test_what_is_called_a_password_is_not_in_the_answer() -> None:
    world = World()
    stored = {"type": "s3", "settings": {"client.secret_key": "geheim-77", "bucket": "b"}}
    world.database.objects.by_path["/_snapshot/store"] = StoredObject(stored, 1)
    body = {"type": "s3", "settings": {"client": {"secret_key": "geheim-88"}, "bucket": "c"}}
    async with world.operator():
        found = await previewed(world, offered(object="snapshotRepository/store", body=body, existing="Adopt"))
    assert [change.path for change in found.changes] == ["/settings/client.secret_key", "/settings/bucket"]
    assert "geheim" not in str(found)


async def test_an_unchanged_object_with_a_value_of_a_secret_has_nothing_to_change() -> None:
    world = World()
    world.secret("keys", {"stateward.dev/allowed-for-pods": "logs"}, password="geheim-77")
    value = {"secretName": "keys", "key": "password", "path": "/settings/password"}
    store: dict[str, Any] = {"object": "snapshotRepository/store", "body": {"type": "s3"}, "values": [value]}
    world.declare(**store)
    async with world.operator():
        await world.until(world.is_ready)
        same = await previewed(world, offered(**store))
        world.change_secret("keys", password="geheim-78")
        rotated = await previewed(world, offered(**store))
        store["body"] = {"type": "url", "settings": {}}
        edited = await previewed(world, offered(**store))
        world.drop_secret("keys")
        missing = await previewed(world, offered(**store))
    assert (edited.does, edited.message) == ("change", ""), "what differs is shown"
    assert (same.does, same.message, same.changes) == ("nothing", "", ())
    assert (rotated.does, rotated.changes) == ("change", ())
    assert "values of Secrets are not shown" in rotated.message
    assert (missing.does, missing.reason) == ("refuse", "SecretMissing")
    assert "geheim" not in f"{same}{rotated}{missing}"
