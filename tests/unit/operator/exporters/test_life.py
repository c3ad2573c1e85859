"""Exporters come with rights of their own, restart only for a reason, and go without a trace."""

import asyncio

import pytest

from stateward.engines.connection.access import Access
from stateward.kube.objects.metadata import Key
from stateward.operator.objects.kinds import ELASTICSEARCH, OPENSEARCH, ClusterKind
from stateward.simulation.opensearch.stored_objects import StoredObject
from tests.unit.operator.dashboards import world as base
from tests.unit.operator.dashboards.world import HOME, NAME
from tests.unit.operator.exporters.world import Database, World

BOTH = pytest.mark.parametrize("kind", [OPENSEARCH, ELASTICSEARCH])
OBJECTS = ["/services/logs-metrics", "apps/deployments/logs-metrics"]


@BOTH
async def test_an_exporter_comes_with_a_user_that_may_read_statistics_only(kind: ClusterKind) -> None:
    world = World(kind=kind)
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        await asyncio.sleep(120)
    role = world.database.objects.by_path[world.role_path].body
    if kind is OPENSEARCH:
        assert role["cluster_permissions"] == ["cluster:monitor/health", "cluster:monitor/nodes/stats"]
        assert role["index_permissions"] == []
    else:
        assert role["cluster"] == ["monitor"]
        assert "indices" not in role
    assert world.users() == ["stateward-metrics-1"]
    assert set(OBJECTS) <= set(world.owned())
    keys = world.texts("logs-metrics-keys")
    assert keys["username"] == "stateward-metrics-1"
    assert keys["password"] not in world.everything_said()
    assert world.status()["url"] == "http://logs-metrics.prod.svc:9114/metrics"


async def test_nothing_restarts_and_nothing_is_written_while_nothing_changes() -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        await asyncio.sleep(200)
        before = world.versions()
        await asyncio.sleep(3600)
        assert world.versions() == before
        pods = {pod.uid for pod in world.pods()}
    before = world.versions()[f"{world.plural}/{NAME}"], sorted(world.told())
    async with world.operator():
        await asyncio.sleep(600)
    assert {pod.uid for pod in world.pods()} == pods
    assert (world.versions()[f"{world.plural}/{NAME}"], sorted(world.told())) == before, "nothing has happened"


@BOTH
async def test_a_rotated_user_works_before_the_one_before_is_deleted(kind: ClusterKind) -> None:
    world = World(kind=kind)
    world.ask_for(rotateCredentialsAfter="2h")
    async with world.operator():
        await world.until(world.available)
        password = world.texts("logs-metrics-keys")["password"]
        blind = list[str]()
        for _ in range(7600):
            await asyncio.sleep(1)
            blind += [pod.key.name for pod in world.pods() if not pod.terminating and not world.exporters.reads(pod)]
        await world.until(lambda: world.available() and world.users() == ["stateward-metrics-2"])
    assert not blind
    assert world.texts("logs-metrics-keys")["password"] != password
    assert "previous-username" not in world.texts("logs-metrics-keys")


async def test_a_user_that_was_made_by_a_clock_that_was_ahead_is_rotated_after_the_usual_time() -> None:
    world = World()
    world.ask_for(rotateCredentialsAfter="2h")
    async with world.operator():
        await world.until(world.available)
        password = world.texts("logs-metrics-keys")["password"]
        made = int(world.texts("logs-metrics-keys")["made-time"])
        world.rewrite_secret("logs-metrics-keys", **{"made-time": str(made + 10**8)})
        await asyncio.sleep(7000)
        assert world.texts("logs-metrics-keys")["password"] == password
        await asyncio.sleep(900)
        assert world.texts("logs-metrics-keys")["password"] != password


async def test_another_password_is_made_when_a_person_deletes_it() -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        world.rewrite_secret("logs-metrics-keys", password=None)
        await world.until(lambda: world.available() and world.users() == ["stateward-metrics-2"])


@BOTH
async def test_no_user_of_another_name_is_made_when_a_person_edits_the_secret(kind: ClusterKind) -> None:
    """The database may give more rights to a user of a name that it does not have yet; it would never be deleted."""
    world = World(kind=kind)
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        world.rewrite_secret("logs-metrics-keys", username="alice", **{"previous-username": "shop"})
        theirs = StoredObject({"attributes": {"stateward-cluster": "prod/logs"}}, 1)
        world.database.objects.by_path[f"{world.root}shop"] = theirs
        mine = "stateward-metrics-1"
        await world.until(lambda: world.available() and world.texts("logs-metrics-keys")["username"] == mine)
        await world.until(lambda: world.available() and "previous-username" not in world.texts("logs-metrics-keys"))
    assert world.users() == ["shop", mine]


@pytest.mark.parametrize("made", ["\u00b2", "9" * 5000, None])
async def test_a_user_whose_age_a_person_has_edited_is_rotated(made: str | None) -> None:
    world = World()
    world.ask_for(rotateCredentialsAfter="2h")
    async with world.operator():
        await world.until(world.available)
        world.rewrite_secret("logs-metrics-keys", **{"made-time": made})
        await world.until(lambda: world.available() and world.users() == ["stateward-metrics-2"])


@BOTH
async def test_what_others_change_in_the_database_is_written_again(kind: ClusterKind) -> None:
    world = World(kind=kind)
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        path = f"{world.root}stateward-metrics-1"
        password = world.database.objects.passwords[path]
        world.database.objects.passwords[path] = "changed-by-hand"
        await world.until(lambda: world.database.objects.passwords.get(path) == password)
        del world.database.objects.by_path[path]
        await world.until(lambda: path in world.database.objects.by_path)
        role = world.database.objects.by_path[world.role_path]
        wanted = dict(role.body)
        more = {"cluster": ["all"]} if kind is ELASTICSEARCH else {"cluster_permissions": ["*"]}
        role.body = {**role.body, **more}
        await world.until(lambda: world.database.objects.by_path[world.role_path].body == wanted)
        del world.database.objects.by_path[world.role_path]
        await world.until(lambda: world.role_path in world.database.objects.by_path)
        await world.until(world.available)


@BOTH
async def test_a_removed_block_removes_everything_and_nothing_else(kind: ClusterKind) -> None:
    world = World(kind=kind)
    world.network_policies = True
    foreign = {each.uid for each in world.store.everything()}
    world.database.objects.by_path[f"{world.root}shop"] = StoredObject({}, 1)
    world.ask_for(rotateCredentialsAfter="2h")
    async with world.operator():
        await world.until(world.available)
        assert "networking.k8s.io/networkpolicies/logs-metrics" in world.owned()
        world.edit(metrics=None)
        await world.until(lambda: not world.status())
        await asyncio.sleep(60)
    assert world.owned() == []
    assert world.traces() == []
    assert world.users() == ["shop"]
    assert foreign <= {each.uid for each in world.store.everything()}
    assert world.told().count("MetricsRemoved") == 1


async def test_a_deleted_cluster_takes_its_exporter_with_it() -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        world.delete(world.plural, NAME)
        await world.until(lambda: world.store.get(world.plural, Key(HOME, NAME)) is None)
        await asyncio.sleep(60)
    assert world.owned() == []


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


async def test_no_login_is_tried_while_the_exporter_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    world, users = World(), set[str]()
    within = Database.within

    def seen(database: Database, access: Access) -> base.Database:
        users.add(access.user)
        return within(database, access)

    monkeypatch.setattr(Database, "within", seen)
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        users.clear()
        await asyncio.sleep(300)
    assert users == {""}, "the operator's own certificate"


async def test_a_user_without_its_role_is_written_again_though_the_exporter_reports_no_trouble() -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        world.exporters.silent = True
        await world.until(lambda: world.reason == "MetricsSilent")
        (user,) = world.users()
        stored = world.database.objects.by_path[f"{world.root}{user}"]
        wanted = dict(stored.body)
        roles = next(name for name, value in stored.body.items() if isinstance(value, list) and value)
        stored.body[roles] = []
        await world.until(lambda: world.database.objects.by_path[f"{world.root}{user}"].body == wanted)
