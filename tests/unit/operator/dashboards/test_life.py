"""Dashboards come, follow the cluster, scale, restart only for a reason, and go."""

import asyncio

import pytest

from stateward.kube.objects.metadata import Key
from stateward.operator.objects.kinds import ELASTICSEARCH, OPENSEARCH, ClusterKind
from tests.support.requests import counted_requests
from tests.unit.operator.dashboards.world import HOME, NAME, USER_PATH, World

BOTH = pytest.mark.parametrize(
    ("kind", "old", "new"), [(OPENSEARCH, "2.19.1", "2.19.3"), (ELASTICSEARCH, "8.17.0", "8.19.4")]
)


@BOTH
async def test_dashboards_come_with_credentials_of_their_own(kind: ClusterKind, old: str, new: str) -> None:
    assert old < new
    world = World(kind=kind, version=old)
    world.ask_for(replicas=2)
    async with world.operator():
        await world.until(lambda: world.available(old, 2))
        before = world.server.store.log("apps/deployments")
        assert before is not None
        await asyncio.sleep(600)
    assert {each.split("/")[-1].rsplit("-", 1)[0] for each in world.owned()} >= {"logs-dashboards"}
    assert "policy/poddisruptionbudgets/logs-dashboards" in world.owned()
    keys = world.texts("logs-dashboards-keys")
    assert world.status()["url"] == "https://logs-dashboards.prod.svc:5601"
    for secret in ("password", "token", "session-key", "objects-key", "tls.key"):
        if keys.get(secret):
            assert keys[secret] not in world.everything_said()
    if kind is OPENSEARCH:
        body = world.database.objects.by_path[USER_PATH].body
        assert body["opendistro_security_roles"] == ["kibana_server"]


@BOTH
async def test_the_version_follows_once_all_members_have_it(kind: ClusterKind, old: str, new: str) -> None:
    world = World(kind=kind, version=old)
    world.ask_for(replicas=3)
    async with world.operator():
        await world.until(lambda: world.available(old, 3))
        world.edit(version=new)
        await world.until(lambda: world.reason == "DashboardsWaitForUpgrade")
        await asyncio.sleep(300)
        assert world.status().get("available")
        assert world.status()["version"] == old
        world.set_status(new)
        await world.until(lambda: world.reason == "DashboardsStopping")
        await world.until(lambda: world.available(new, 3))
    assert world.instances.objects_version == new


async def test_zero_instances_keep_everything_but_the_pods_and_come_back() -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(lambda: world.available(instances=1))
        keys = world.texts("logs-dashboards-keys")
        world.ask_for(replicas=0)
        await world.until(lambda: world.available(instances=0) and not world.pods())
        world.edit(version="2.19.3")
        world.set_status("2.19.3")
        await world.until(lambda: world.available("2.19.3", 0))
        world.ask_for(replicas=1)
        await world.until(lambda: world.available("2.19.3", 1))
        assert world.texts("logs-dashboards-keys") == keys


async def test_nothing_restarts_and_nothing_is_written_while_nothing_changes() -> None:
    world = World()
    world.ask_for(replicas=2)
    async with world.operator():
        await world.until(lambda: world.available(instances=2))
        await asyncio.sleep(200)
        before = world.versions()
        await asyncio.sleep(3600)
        assert world.versions() == before
        pods = {pod.uid for pod in world.pods()}
    async with world.operator():
        await asyncio.sleep(600)
    assert {pod.uid for pod in world.pods()} == pods


async def test_a_process_that_has_not_reached_the_database_yet_says_nothing_new() -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
    world.known = False
    before = world.versions()
    async with world.operator():
        await asyncio.sleep(120)
        assert world.versions() == before
        world.known = True
        await asyncio.sleep(120)
    assert world.available()
    assert world.told().count("DashboardsAvailable") == 1


async def test_a_changed_setting_restarts_the_instances_one_after_the_other() -> None:
    world = World()
    world.ask_for(replicas=2)
    async with world.operator():
        await world.until(lambda: world.available(instances=2))
        before = {pod.uid for pod in world.pods()}
        world.ask_for(replicas=2, config={"logging": {"verbose": True}})
        await world.until(lambda: world.available(instances=2) and not before & {pod.uid for pod in world.pods()})
        settings = world.settings(world.pods()[0])
        assert settings is not None
        assert settings["logging.verbose"] is True
        await world.until(lambda: sum(each.startswith("/secrets/") for each in world.owned()) == 2)


@BOTH
async def test_a_removed_block_removes_its_objects_and_nothing_else(kind: ClusterKind, old: str, new: str) -> None:
    assert new
    world = World(kind=kind, version=old)
    world.network_policies = True
    world.ask_for(replicas=2)
    async with world.operator():
        await world.until(lambda: world.available(instances=2))
        others = {each.uid for each in world.store.everything() if f"/{NAME}-dashboards" not in f"/{each.key.name}"}
        keys = world.texts("logs-dashboards-keys")
        world.edit(dashboards=None)
        await world.until(lambda: not world.status())
        await asyncio.sleep(60)
    assert world.owned() == ["/secrets/logs-dashboards-keys"]
    kept = world.texts("logs-dashboards-keys")
    assert kept["objects-key"] == keys["objects-key"]
    assert not {"password", "token", "token-name"} & kept.keys()
    assert USER_PATH not in world.database.objects.by_path
    assert world.database.tokens == {}
    there = {each.uid for each in world.store.everything()}
    assert all(uid in there or world.store.by_uid(uid) is None for uid in others)
    assert world.told().count("DashboardsRemoved") == 1


@BOTH
async def test_credentials_whose_secret_is_gone_are_removed_from_the_database(
    kind: ClusterKind, old: str, new: str
) -> None:
    assert new
    world = World(kind=kind, version=old)
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
    world.delete("/secrets", "logs-dashboards-keys")
    world.edit(dashboards=None)
    async with world.operator():
        await world.until(lambda: not world.status())
    assert USER_PATH not in world.database.objects.by_path
    assert world.database.tokens == {}
    assert world.owned() == []


async def test_a_deleted_cluster_takes_its_dashboards_with_it() -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        world.delete(world.plural, NAME)
        await world.until(lambda: world.store.get(world.plural, Key(HOME, NAME)) is None)
        await asyncio.sleep(60)
    assert world.owned() == []


async def test_a_password_is_rotated_and_the_instances_restart_with_the_new_one() -> None:
    world = World()
    world.ask_for(rotateCredentialsAfter="2h")
    async with world.operator():
        await world.until(world.available)
        first = world.database.objects.passwords[USER_PATH]
        await asyncio.sleep(7300)
        await world.until(world.available)
        assert world.database.objects.passwords[USER_PATH] != first


async def test_a_password_that_was_made_by_a_clock_that_was_ahead_is_rotated_after_the_usual_time() -> None:
    world = World()
    world.ask_for(rotateCredentialsAfter="2h")
    async with world.operator():
        await world.until(world.available)
        first = world.database.objects.passwords[USER_PATH]
        made = int(world.texts("logs-dashboards-keys")["made-time"])
        world.rewrite_secret("logs-dashboards-keys", **{"made-time": str(made + 10**8)})
        await asyncio.sleep(7000)
        assert world.database.objects.passwords[USER_PATH] == first
        await asyncio.sleep(900)
        assert world.database.objects.passwords[USER_PATH] != first


async def test_a_token_is_rotated_and_the_one_before_is_deleted_when_no_instance_uses_it() -> None:
    world = World(kind=ELASTICSEARCH, version="8.19.4")
    world.ask_for(rotateCredentialsAfter="2h")
    async with world.operator():
        await world.until(world.available)
        first = set(world.database.tokens)
        await asyncio.sleep(7300)
        await world.until(lambda: world.available() and len(world.database.tokens) == 1)
        assert not first & set(world.database.tokens)


async def test_tokens_that_were_rotated_while_no_instance_was_available_are_deleted_when_one_is() -> None:
    world = World(kind=ELASTICSEARCH, version="8.19.4")
    world.ask_for(rotateCredentialsAfter="2h")
    async with world.operator():
        await world.until(world.available)
        world.instances.broken = True
        await world.until(lambda: len(world.database.tokens) == 3, 15000)
        world.instances.broken = False
        await world.until(lambda: world.available() and len(world.database.tokens) == 1)
        assert set(world.database.tokens) == {world.texts("logs-dashboards-keys")["token-name"]}


@pytest.mark.parametrize("lost", ["everything", "tls.crt", "damaged"])
async def test_dashboards_whose_certificate_was_lost_get_another_one(lost: str) -> None:
    """The disaster this prevents: without it, no round comes as far as making another one."""
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        before = world.texts("logs-dashboards-keys")["tls.crt"]
        if lost == "everything":
            world.delete("/secrets", "logs-dashboards-keys")
        else:
            world.rewrite_secret("logs-dashboards-keys", **{"tls.crt": None if lost == "tls.crt" else "no certificate"})
        await asyncio.sleep(120)
        await world.until(world.available)
        assert world.texts("logs-dashboards-keys")["tls.crt"].startswith("-----BEGIN")
        assert world.texts("logs-dashboards-keys")["tls.crt"] != before


async def test_dashboards_that_serve_get_https_later() -> None:
    world = World()
    world.ask_for(tls={"enabled": False})
    async with world.operator():
        await world.until(world.available)
        assert "tls.crt" not in world.texts("logs-dashboards-keys")
        world.ask_for(tls={"enabled": True})
        await world.until(lambda: world.texts("logs-dashboards-keys").get("tls.crt"))
        await world.until(world.available)


async def test_dashboards_follow_a_cluster_that_is_secured_later() -> None:
    world = World()
    world.secured = False
    world.set_status("2.19.1")
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        assert world.status()["url"].startswith("http://")
        world.secured = True
        world.set_status("2.19.1")
        await world.until(lambda: world.available() and world.status()["url"].startswith("https://"))


async def test_a_token_of_a_lost_secret_is_deleted_when_no_instance_uses_it() -> None:
    world = World(kind=ELASTICSEARCH, version="8.19.4")
    world.ask_for(rotateCredentialsAfter="2h")
    async with world.operator():
        await world.until(lambda: "stateward-b24247fe-2" in world.database.tokens, 8000)
        await world.until(lambda: world.available() and len(world.database.tokens) == 1)
        world.delete("/secrets", "logs-dashboards-keys")
        await world.until(lambda: len(world.database.tokens) == 2)
        await world.until(lambda: set(world.database.tokens) == {"stateward-b24247fe-1"})
        assert world.available()


async def test_a_token_that_is_to_be_deleted_may_be_gone_and_one_that_cannot_be_deleted_is_not_forgotten() -> None:
    world, key = World(kind=ELASTICSEARCH, version="8.19.4"), "previous-token-name"
    world.ask_for()

    def is_told() -> bool:
        live = world.store.get("/secrets", Key(HOME, "logs-dashboards-keys"))
        assert live is not None
        return key in live.doc["data"]

    async with world.operator():
        await world.until(world.available)
        world.rewrite_secret("logs-dashboards-keys", **{key: "gone"})
        await world.until(lambda: not is_told(), 3600)
        world.database.tokens["stays"] = "value"
        world.database.kept.add("stays")
        world.rewrite_secret("logs-dashboards-keys", **{key: "stays"})
        await asyncio.sleep(3600)
        assert is_told()
        world.database.kept.clear()
        await world.until(lambda: not is_told(), 3600)
    assert "stays" not in world.database.tokens


async def test_a_user_that_was_deleted_or_changed_in_the_database_is_written_again() -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        world.database.objects.by_path.pop(USER_PATH)
        password = world.database.objects.passwords.pop(USER_PATH)
        await world.until(lambda: world.database.objects.passwords.get(USER_PATH) == password)
        world.database.objects.passwords[USER_PATH] = "changed-by-hand"
        await world.until(lambda: world.database.objects.passwords.get(USER_PATH) == password)
        await world.until(world.available)


async def test_a_deleted_user_is_written_again_though_no_instance_reports_trouble() -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        world.instances.silent = True
        await world.until(lambda: bool(world.reason))
        assert world.reason not in ("DashboardsUnavailable", "DashboardsStarting"), "no login is doubted"
        world.database.objects.by_path.pop(USER_PATH)
        password = world.database.objects.passwords.pop(USER_PATH)
        await world.until(lambda: world.database.objects.passwords.get(USER_PATH) == password)


async def test_the_instances_of_a_database_that_has_no_users_any_more_serve_http_and_log_in_nowhere() -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        assert world.texts("logs-dashboards-keys")["password"]
        world.secured = False
        world.set_status(world.deployed)
        await world.until(lambda: world.status()["url"] == "http://logs-dashboards.prod.svc:5601" and world.available())
        (settings,) = {str(world.settings(pod)) for pod in world.pods()}
        assert "opensearch.username" not in settings
        assert "opensearch.password" not in settings


async def test_a_certificate_is_renewed_before_it_ends() -> None:
    world = World()
    world.edit(security={"enabled": True, "certificateLifetime": "3h"})
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        first = world.texts("logs-dashboards-keys")["tls.crt"]
        await asyncio.sleep(7300)
        await world.until(lambda: world.available() and world.texts("logs-dashboards-keys")["tls.crt"] != first)


async def test_a_cluster_that_asks_for_no_dashboards_is_never_read_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Deployment with its label, such as one that an earlier cluster has left, wakes its round."""
    world, calls = World(), counted_requests(monkeypatch)
    labels = {"stateward.dev/engine": OPENSEARCH.engine, "stateward.dev/dashboards-of": "logs"}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "x"}]}}
    spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
    async with world.operator():
        await asyncio.sleep(10)
        world.server.create("apps/deployments", HOME, {"metadata": {"name": "left", "labels": labels}, "spec": spec})
        await asyncio.sleep(60)
        assert not [name for name in calls if name.startswith("get")]
        world.ask_for()
        await world.until(world.available)
        assert [name for name in calls if name.startswith("get")]


async def test_the_user_of_instances_with_trouble_is_not_written_again_while_its_password_is_right() -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        world.instances.broken = True
        await world.until(lambda: world.reason == "DashboardsUnavailable")
        sent = world.database.writes
        await asyncio.sleep(300)
    assert world.database.writes == sent
