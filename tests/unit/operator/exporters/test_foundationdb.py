"""The exporter of FoundationDB: made once the database was, in the version that runs, and gone without a trace."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from stateward.simulation.opensearch.http import Rates
from tests.unit.operator.dashboards.test_crashes import lives
from tests.unit.operator.declared.lives import played
from tests.unit.operator.exporters.foundationdb_world import FILE, NEW, OLD, PATCH, TLS, World

OFFICIAL = "docker.io/foundationdb/foundationdb"


async def test_it_is_made_and_nothing_else_changes() -> None:
    world = World()
    world.network_policies = True
    foreign = world.versions()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        await asyncio.sleep(120)
        assert world.program() == f"{OFFICIAL}:{OLD}"
        owned = {name for name in world.owned() if not name.startswith(("/pods/", "/secrets/"))}
        assert owned == {
            "/services/logs-metrics",
            "apps/deployments/logs-metrics",
            "networking.k8s.io/networkpolicies/logs-metrics",
        }
        before = world.versions()
        await asyncio.sleep(3600)
        assert world.versions() == before
    changed = {name for name, version in world.versions().items() if foreign.get(name, version) != version}
    assert changed == {"stateward.dev/fdbclusters/logs"}
    assert world.users() == []


async def test_before_the_database_is_created_it_waits_and_makes_nothing() -> None:
    world = World()
    status = world.cluster_object()
    world.context.change(status, ("status",), {"conditions": status.doc["status"]["conditions"]})
    world.ask_for()
    async with world.operator():
        await world.until(lambda: world.reason == "MetricsWaitForDatabase")
        assert world.status()["message"] == "the database has not been created yet"
        await asyncio.sleep(60)
        assert world.deployment() is None
        world.set_status(OLD)
        await world.until(world.available)


async def test_it_follows_the_version_that_runs_and_not_the_one_that_is_asked_for() -> None:
    world = World()
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        world.upgrade(NEW, asked_only=True)
        await asyncio.sleep(300)
        assert world.program() == f"{OFFICIAL}:{OLD}"
        assert world.available()
        world.joined(log=OLD, storage=OLD)
        world.deployed = NEW  # The processes were switched, and the status does not say so yet.
        await world.until(lambda: world.reason == "MetricsUnavailable")
        world.joined(log=OLD, storage=NEW)
        image = f"{OFFICIAL}:{NEW}"
        await world.until(lambda: world.available() and len(world.pods()) == 1 and world.program() == image)


async def test_an_image_of_ones_own_follows_too() -> None:
    world = World()
    world.edit(image=f"registry.io/fdb:{OLD}-ours")
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        assert world.program() == f"registry.io/fdb:{OLD}-ours"
        world.edit(image=f"registry.io/fdb:{PATCH}-ours", version=PATCH)
        await asyncio.sleep(200)
        assert world.program() == f"registry.io/fdb:{OLD}-ours"
        world.set_status(PATCH)
        image = f"registry.io/fdb:{PATCH}-ours"
        await world.until(lambda: world.available() and len(world.pods()) == 1 and world.program() == image)


async def test_a_cluster_with_tls_is_read_with_the_clients_certificate_and_a_renewal_restarts_nothing() -> None:
    world = World(secured=True)
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        await asyncio.sleep(120)
        (pod,) = world.pods()
        mounted = [each["secret"]["secretName"] for each in pod.doc["spec"]["volumes"] if "secret" in each]
        assert {FILE, TLS} < set(mounted)
        world.rewrite_secret(TLS, **{"tls.crt": "renewed", "tls.key": "renewed"})
        world.rewrite_secret(FILE, **{"fdb.cluster": "prod_logs_x:z@logs-log-0-0.logs-members.prod.svc:4500:tls"})
        await asyncio.sleep(600)
        assert [each.uid for each in world.pods()] == [pod.uid]
        assert world.available()


async def test_a_pod_that_waits_for_a_lost_cluster_file_is_starting_and_goes_on() -> None:
    world = World()
    world.delete("/secrets", FILE)
    world.ask_for()
    async with world.operator():
        await world.until(lambda: world.pods() and world.reason == "MetricsStarting")
        await asyncio.sleep(60)
        assert not world.available()
        world.secret(FILE, **{"fdb.cluster": "prod_logs_x:y@a:4500"})
        await world.until(world.available)


async def test_a_removed_block_removes_everything_and_needs_no_database() -> None:
    world = World()
    world.network_policies = True
    foreign = {each.uid for each in world.store.everything()}
    world.ask_for()
    async with world.operator():
        await world.until(world.available)
        world.edit(metrics=None)
        await world.until(lambda: not world.status())
        await asyncio.sleep(60)
    assert world.owned() == []
    assert foreign <= {each.uid for each in world.store.everything()}


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        ({"hostNetwork": True}, "hostNetwork"),
        ({"serviceAccountName": "stateward"}, "serviceAccountName"),
        ({"volumes": [{"name": "keys", "secret": {"secretName": "others"}}]}, "secretName"),
        ({"containers": [{"name": "fdbcli", "securityContext": {"privileged": True}}]}, "privileged"),
    ],
)
async def test_the_pod_gets_no_more_than_those_of_a_cluster_may(spec: dict[str, Any], field: str) -> None:
    world = World()
    world.secret("others", password="theirs")
    world.ask_for(podTemplate={"spec": spec})
    async with world.operator():
        await world.until(lambda: world.reason == "MetricsPodNotAllowed")
        assert field in world.status()["message"]
        await asyncio.sleep(60)
        assert world.deployment() is None
        world.ask_for()
        await world.until(world.available)


@pytest.mark.parametrize("deaths", range(1, 8))
def test_a_crash_after_each_write_of_creation_upgrade_and_removal_of_an_exporter_is_survived(deaths: int) -> None:
    played(one_life(deaths))


async def one_life(deaths: int) -> None:
    world, image = World(secured=True), f"{OFFICIAL}:{NEW}"
    world.network_policies = True
    world.ask_for()
    await lives(world, deaths, 0.0)
    async with world.operator():
        await world.until(world.available)
    world.upgrade(NEW)
    await lives(world, deaths, 0.0)
    async with world.operator():
        await world.until(lambda: world.available() and len(world.pods()) == 1 and world.program() == image)
    world.edit(metrics=None)
    await lives(world, deaths, 0.0)
    async with world.operator():
        await world.until(lambda: not world.status())
    assert world.owned() == []


@dataclass(frozen=True)
class Step:
    """One event of a story, and the number of writes after which the operator dies; 0: it lives."""

    what: str
    deaths: int


STEPS = st.lists(
    st.builds(Step, st.sampled_from(["resources", "remove", "upgrade", "image"]), st.sampled_from([0, 0, 1, 2, 3, 5])),
    max_size=5,
)


@settings(max_examples=20, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(steps=STEPS, lost=st.sampled_from([0.0, 0.1, 0.3]), seed=st.integers(0, 99))
def test_exporters_of_foundationdb_end_as_the_spec_asks(steps: list[Step], lost: float, seed: int) -> None:
    played(story(steps, lost, seed))


async def story(steps: list[Step], lost: float, seed: int) -> None:
    world = World(seed)
    foreign = {each.uid for each in world.store.everything()}
    asked: dict[str, Any] = {}
    for number, step in enumerate((Step("begin", 0), *steps)):
        if step.what == "upgrade":
            world.upgrade(PATCH)
        elif step.what == "image":
            world.edit(image=f"registry.io/fdb:{world.deployed}-{number}")
        elif step.what == "resources":
            asked = {"resources": {"limits": {"memory": f"{100 + number}Mi"}}}
        if step.what == "remove":
            world.edit(metrics=None)
        else:
            world.ask_for(**asked)
        await lives(world, step.deaths, lost)
    world.ask_for(**asked)
    world.database.wire.rates = Rates()
    async with world.operator():
        await world.until(world.available, 3600)
        await asyncio.sleep(300)
        world.edit(metrics=None)
        await world.until(lambda: not world.status(), 3600)
    assert world.owned() == []
    assert all(world.store.by_uid(uid) is not None for uid in foreign)
