"""Snapshots are restored into a throw-away cluster of one member: counted, told, and nothing of it stays."""

from typing import Any

import pytest

from stateward.engines.connection.base import Answer
from stateward.kube.objects.errors import Forbidden
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.client import WorldApi
from tests.unit.operator.declared.lives import lives
from tests.unit.operator.declared.snapshots.verifying import (
    CLUSTERS,
    HOUR,
    NAME,
    OBJECTS,
    RESTORES,
    VERIFY,
    VerifyingWorld,
    asleep,
)
from tests.unit.operator.declared.world import CLUSTER, HOME, now


def series(world: VerifyingWorld, name: str) -> float | None:
    labels = {"namespace": HOME, "cluster": "logs", "name": "hourly"}
    return world.metrics.registry.get_sample_value(f"stateward_snapshot_{name}", labels)


async def test_the_newest_snapshot_is_restored_counted_and_nothing_stays() -> None:
    world = VerifyingWorld()
    async with world.operator():
        success = await world.verified()
        assert success["name"] in world.database.snapshots.began
        assert (success["documents"], success["indices"]) == (7, 2)
        assert 90 < success["seconds"] < 400
        assert world.told().count("SnapshotVerified") == 1
        assert series(world, "verified_documents") == 7
        last, overdue = (
            series(world, "last_verified_timestamp_seconds"),
            series(world, "verification_overdue_timestamp_seconds"),
        )
        assert last is not None
        assert overdue is not None
        assert last < now() < overdue <= last + 12 * HOUR
        await asleep(13)
    assert len(world.made) == 3
    assert world.nothing_left()
    assert world.is_ready("hourly")


async def test_the_cluster_is_one_member_like_those_of_the_largest_pool_with_data() -> None:
    world = VerifyingWorld(verify={**VERIFY, "resources": {"limits": {"memory": "4Gi"}}})
    template = {"spec": {"tolerations": [{"operator": "Exists"}]}}
    hot: dict[str, Any] = {"name": "hot", "replicas": 9, "roles": ["data"], "config": {"node.attr.temp": "hot"}}
    spec = {
        "version": "2.19.3",
        "podTemplate": template,
        "config": {"path.repo": ["/mnt/backups"]},
        "secureSettings": [{"secretName": "s3"}],
        "security": {"enabled": True, "http": {"secretName": "given"}},
        "update": {"maxUnavailable": 3},
        "pools": [
            {"name": "managers", "replicas": 3, "roles": ["cluster_manager"], "storage": {"size": "900Gi"}},
            {**hot, "storage": {"size": "20Gi", "storageClass": "fast", "grow": {"max": "90Gi"}}},
            {"name": "small", "replicas": 1, "storage": {"size": "1Gi"}},
        ],
    }
    world.remove(CLUSTERS, "logs")
    world.source(spec, security={"enabled": True})
    async with world.operator():
        await world.verified()
    made = world.made[0].doc
    assert made["spec"] == {
        "version": "2.19.3",
        "podTemplate": template,
        "config": {"path.repo": ["/mnt/backups"]},
        "secureSettings": [{"secretName": "s3"}],
        "security": {"enabled": True},
        "volumes": {"whenDeleted": "Delete", "whenScaled": "Delete"},
        "pools": [
            {
                "name": "all",
                "replicas": 1,
                "config": {"node.attr.temp": "hot"},
                "resources": {"limits": {"memory": "4Gi"}},
                "storage": {"size": "20Gi", "storageClass": "fast"},
            }
        ],
    }
    assert made["metadata"]["ownerReferences"][0]["name"] == "hourly"


async def test_the_repository_is_read_only_in_the_throw_away_cluster() -> None:
    world = VerifyingWorld()
    async with world.operator():
        await world.until(lambda: world.part(RESTORES), 8 * HOUR)
        declared, restore = world.part(OBJECTS), world.part(RESTORES)
    assert declared is not None
    assert declared["spec"]["body"] == {"type": "fs", "settings": {"location": "/mnt/backups", "readonly": True}}
    assert declared["spec"]["deletionPolicy"] == "Retain"
    assert restore is not None
    assert restore["spec"]["cluster"] == {"kind": "OpenSearchCluster", "name": NAME}
    assert restore["spec"]["indexSettings"]["index.number_of_replicas"] == 0
    for part in (declared, restore):
        assert part["metadata"]["ownerReferences"][0]["name"] == NAME


async def test_without_the_right_nothing_is_made_and_the_status_says_it() -> None:
    world = VerifyingWorld()
    world.verifies = False
    async with world.operator():
        await world.until(lambda: world.verification().get("reason") == "VerificationDisabled", 8 * HOUR)
        await asleep(7)
    assert world.made == []
    assert world.is_ready("hourly")


@pytest.mark.parametrize(
    ("plural", "name", "again", "reason"),
    [(OBJECTS, "backups", "repository", "RepositoryNotDeclared"), (CLUSTERS, "logs", "source", "ClusterMissing")],
)
async def test_what_is_missing_is_named_and_awaited(plural: str, name: str, again: str, reason: str) -> None:
    world = VerifyingWorld()
    world.edit(verify=None)
    async with world.operator():
        await world.until(lambda: world.status("hourly").get("lastSuccess"), 2 * HOUR)
        world.remove(plural, name)
        world.edit(verify=VERIFY)
        await world.until(lambda: world.verification().get("reason") == reason, 8 * HOUR)
        assert world.made == []
        getattr(world, again)()
        await world.verified()


async def test_while_the_cluster_is_upgraded_no_verification_begins() -> None:
    world = VerifyingWorld()
    live = world.store.get(CLUSTERS, world.store.all(CLUSTERS)[0].key)
    assert live is not None
    world.context.change(live, ("status", "version"), "2.17.1")
    async with world.operator():
        await world.until(lambda: world.verification().get("reason") == "MixedVersions", 8 * HOUR)
        assert world.made == []
        world.context.change(live, ("status", "version"), "2.19.3")
        await world.verified()


async def test_a_restore_that_fails_is_told_and_the_cluster_goes() -> None:
    world = VerifyingWorld()
    world.throwaway.snapshots.breaks = True
    async with world.operator():
        await world.until(lambda: world.verification().get("lastFailure"), 8 * HOUR)
        await world.until(world.nothing_left, HOUR)
        assert world.verification().get("lastSuccess") is None
        assert world.told().count("VerificationFailed") == 1
        world.throwaway.snapshots.breaks = False
        await world.verified()


async def test_a_refused_restore_is_told_with_the_reason_of_the_database() -> None:
    world = VerifyingWorld()
    async with world.operator():
        await world.until(lambda: world.part(OBJECTS), 8 * HOUR)
        name = world.verification()["snapshot"]
        refusal = Answer(400, b'{"error": {"type": "x", "reason": "cannot restore index"}}')
        world.throwaway.refusals[f"/_snapshot/files/{name}/_restore"] = refusal
        await world.until(lambda: world.verification().get("lastFailure"), 2 * HOUR)
        assert "cannot restore index" in world.verification()["lastFailure"]["reason"]
        await world.until(world.nothing_left, HOUR)


async def test_a_cluster_that_does_not_form_is_given_up_after_the_time_limit() -> None:
    world = VerifyingWorld(verify={**VERIFY, "timeLimit": "45m"})
    world.forms = False
    async with world.operator():
        await world.until(lambda: world.made, 8 * HOUR)
        began = now()
        await world.until(lambda: world.verification().get("lastFailure"), 2 * HOUR)
        assert 45 * 60 - 30 <= now() - began <= 46 * 60
        assert "spec.verify.timeLimit" in world.verification()["lastFailure"]["reason"]
        await world.until(world.nothing_left, HOUR)
        assert len(world.made) == 1


async def test_a_cluster_of_others_that_has_the_name_is_left_alone() -> None:
    world = VerifyingWorld()
    head = {key: CLUSTER[key] for key in ("apiVersion", "kind", "spec")}
    world.server.create(CLUSTERS, HOME, {**head, "metadata": {"name": NAME}})
    theirs = world.throwaway_cluster()
    async with world.operator():
        await world.until(lambda: world.verification().get("reason") == "VerificationNameTaken", 8 * HOUR)
        await asleep(8)
        world.edit(verify=None)
        await asleep(1)
    assert theirs is not None
    found = world.throwaway_cluster()
    assert found is not None
    assert found.uid == theirs.uid
    assert world.part(RESTORES) is None


@pytest.mark.parametrize("verb", ["create", "delete"])
async def test_what_the_api_server_refuses_stops_no_snapshot_and_is_told(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = getattr(WorldApi, verb)

    async def refusing(self: WorldApi, resource: Any, *rest: Any, **more: Any) -> Any:
        if resource.kind == "OpenSearchCluster":
            raise Forbidden("exceeded quota: count/osclusters.stateward.dev")
        return await plain(self, resource, *rest, **more)

    world = VerifyingWorld(verify={**VERIFY, "timeLimit": "90m"})
    monkeypatch.setattr(WorldApi, verb, refusing)
    async with world.operator():
        await world.until(lambda: world.verification().get("reason") == "VerificationRefused", 8 * HOUR)
        assert "exceeded quota" in world.verification()["activity"]
        before = len(world.database.snapshots.began)
        await asleep(3)
        assert len(world.database.snapshots.began) == before + 3
        assert world.is_ready("hourly")
        if verb == "create":
            assert "spec.verify.timeLimit" in world.verification()["lastFailure"]["reason"]
        monkeypatch.setattr(WorldApi, verb, plain)
        await world.until(world.nothing_left, HOUR)


async def test_what_cannot_be_read_for_ever_ends_at_the_time_limit_and_keeps_no_snapshot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain, refused = WorldApi.list, [False]

    async def refusing(self: WorldApi, resource: Any, *rest: Any, **more: Any) -> Any:
        if refused[0] and resource.kind == "SearchObject":
            raise Forbidden("searchobjects may not be listed")
        return await plain(self, resource, *rest, **more)

    world = VerifyingWorld(verify={**VERIFY, "timeLimit": "90m"}, retention={"maxCount": 1})
    world.forms = False
    monkeypatch.setattr(WorldApi, "list", refusing)
    async with world.operator():
        await world.until(lambda: world.part(OBJECTS), 8 * HOUR)
        name, refused[0] = world.verification()["snapshot"], True
        world.remove(OBJECTS, NAME)
        await world.until(lambda: world.verification().get("reason") == "VerificationRefused", HOUR)
        await world.until(lambda: world.verification().get("lastFailure"), 3 * HOUR)
        assert "may not be listed" in world.verification()["lastFailure"]["reason"]
        await world.until(lambda: world.part(CLUSTERS) is None, HOUR)
        await world.until(lambda: not world.verification().get("snapshot"), HOUR)
        await world.until(lambda: name not in world.database.snapshots.repositories["files"], 3 * HOUR)


async def test_a_cluster_of_others_that_takes_the_name_meanwhile_ends_the_verification() -> None:
    world = VerifyingWorld(verify={**VERIFY, "timeLimit": "45m"}, retention={"maxCount": 1})
    async with world.operator():
        await world.until(lambda: world.part(OBJECTS), 8 * HOUR)
        name = world.verification()["snapshot"]
        world.remove(CLUSTERS)
        head = {key: CLUSTER[key] for key in ("apiVersion", "kind", "spec")}
        world.server.create(CLUSTERS, HOME, {**head, "metadata": {"name": NAME}})
        theirs = world.throwaway_cluster()
        await world.until(lambda: world.verification().get("reason") == "VerificationNameTaken", HOUR)
        await world.until(lambda: world.verification().get("lastFailure"), 2 * HOUR)
        await world.until(lambda: not world.verification().get("snapshot"), HOUR)
        await world.until(lambda: name not in world.database.snapshots.repositories["files"], 3 * HOUR)
    found = world.throwaway_cluster()
    assert theirs is not None
    assert found is not None
    assert found.uid == theirs.uid


async def test_a_schedule_that_becomes_invalid_does_not_keep_the_cluster() -> None:
    world = VerifyingWorld(verify={**VERIFY, "timeLimit": "45m"})
    world.forms = False
    async with world.operator():
        await world.until(lambda: world.made, 8 * HOUR)
        world.edit(verify={"schedule": "0 0 30 2 *", "timeLimit": "45m"})
        await world.until(lambda: world.stalled("hourly") == "InvalidSpec", HOUR)
        await world.until(world.nothing_left, 2 * HOUR)
        await asleep(13)
    assert len(world.made) == 1


@pytest.mark.parametrize("plural", [CLUSTERS, OBJECTS, RESTORES])
async def test_what_is_deleted_by_others_is_made_again(plural: str) -> None:
    world = VerifyingWorld()
    async with world.operator():
        await world.until(lambda: world.part(plural), 8 * HOUR)
        world.remove(plural)
        await world.verified()


async def test_what_is_left_of_an_earlier_cluster_is_awaited() -> None:
    world = VerifyingWorld()
    head = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    labels = {"stateward.dev/cluster": NAME, "stateward.dev/engine": "opensearch"}
    world.server.create("/persistentvolumeclaims", HOME, {**head, "metadata": {"name": "data-0", "labels": labels}})
    async with world.operator():
        await world.until(lambda: world.verification().get("reason") == "VerificationEnds", 8 * HOUR)
        assert "data-0" in world.verification()["activity"]
        assert world.made == []
        world.remove("/persistentvolumeclaims", "data-0")
        left = world.store.get("/persistentvolumeclaims", Key(HOME, "data-0"))
        assert left is not None
        assert left.terminating
        await asleep(1)
        assert world.made == []
        unused = {**left.doc, "metadata": {**left.meta, "finalizers": []}}
        world.server.update("/persistentvolumeclaims", left.key, unused)
        await world.verified()


async def test_without_the_field_what_runs_is_removed() -> None:
    world = VerifyingWorld()
    async with world.operator():
        await world.until(lambda: world.part(RESTORES), 8 * HOUR)
        world.edit(verify=None)
        await world.until(world.nothing_left, HOUR)
        await asleep(13)
    assert len(world.made) == 1


async def test_with_its_schedule_everything_goes() -> None:
    world = VerifyingWorld()
    async with world.operator():
        await world.until(lambda: world.part(RESTORES), 8 * HOUR)
        world.delete("hourly")
        await world.until(lambda: [world.part(each) for each in (CLUSTERS, OBJECTS, RESTORES)] == [None] * 3, HOUR)


async def test_a_snapshot_that_is_being_verified_does_not_expire() -> None:
    world = VerifyingWorld(schedule="*/5 * * * *", retention={"maxCount": 1})
    world.forms = False
    async with world.operator():
        await world.until(lambda: world.verification().get("snapshot"), 8 * HOUR)
        name = world.verification()["snapshot"]
        await asleep(0.5)
        assert name in world.database.snapshots.repositories["files"]
        live = world.throwaway_cluster()
        assert live is not None
        world.forms = True
        world._form(live.uid)
        assert (await world.verified())["name"] == name
        await asleep(0.25)
    assert name not in world.database.snapshots.repositories["files"]


async def test_without_its_cluster_a_verification_ends_by_itself() -> None:
    world = VerifyingWorld()
    async with world.operator():
        await world.until(lambda: world.part(RESTORES), 8 * HOUR)
        world.reachable = False
        await world.verified()


async def test_a_paused_schedule_begins_none() -> None:
    world = VerifyingWorld()
    world.edit(verify=None)
    async with world.operator():
        await world.until(lambda: world.status("hourly").get("lastSuccess"), 2 * HOUR)
        world.edit(paused=True, verify=VERIFY)
        await asleep(13)
        assert world.made == []
        assert "nextScheduleTime" not in world.status("hourly")["verification"]
        assert series(world, "verification_overdue_timestamp_seconds") is None


@pytest.mark.parametrize("writes", range(1, 17))
async def test_an_operator_that_dies_after_any_write_loses_no_result_and_leaves_nothing(writes: int) -> None:
    world = VerifyingWorld(writes)
    async with world.operator():
        await world.until(lambda: world.status("hourly").get("lastSuccess"), 2 * HOUR)
    await lives(world, writes, 60)
    async with world.operator():
        success = await world.verified()
        assert success["documents"] == 7
        await asleep(1)
    assert len(world.made) <= 2
    assert world.nothing_left()
    assert world.status("hourly")["verification"].get("lastFailure") is None
