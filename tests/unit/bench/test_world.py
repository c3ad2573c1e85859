"""The stand-in database is believed by the real driver: what it answers is a healthy cluster of exactly its pods."""

import msgspec
import pytest

from bench.clusters import fleet
from bench.clusters.world.answers import INDICES
from bench.clusters.world.databases import Database
from bench.clusters.world.volumes import volume
from stateward.api.values import names
from stateward.engines import opensearch
from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Answer, Call, Target
from stateward.engines.search.database import driver
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.storage import PersistentVolumeClaim
from stateward.planning.model.observation import Allocation, Health, Unknown
from stateward.planning.model.observation import Database as Picture


class InProcess:
    """A transport that asks a stand-in without a network."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def within(self, access: Access) -> "InProcess":
        return self

    async def send(self, call: Call) -> Answer:
        body = msgspec.json.encode(call.body)
        asks = call.method == "GET"
        found = self._database.answer(call.path) if asks else self._database.write(call.method, call.path, body)
        assert found is not None, call.path
        return Answer(200, found)


def target_of(database: Database) -> Target:
    return Target(("http://127.64.0.1:1",), f"{fleet.NAMESPACE}.{database.cluster}")


async def seen(database: Database) -> Picture | Unknown:
    return await opensearch.driver(InProcess(database)).observe(target_of(database))


def pod(pool: str, number: int, *, ready: bool = True, granted: bool = False, candidate: bool = False) -> Pod:
    roles = "voting" if pool == "managers" else "data"
    member = f"c-0001-{pool}-{number}"
    annotations = {names.ANNOTATION_VERSION: fleet.VERSION}
    if granted:
        annotations[names.ANNOTATION_BOOTSTRAP] = "granted"
    if candidate:
        annotations[names.ANNOTATION_BOOTSTRAP_CANDIDATE] = "true"
    body = {
        "metadata": {"name": f"{member}-0", "labels": {names.LABEL_ROLES: roles}, "annotations": annotations},
        "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "False"}]},
    }
    return msgspec.convert(body, Pod)


def whole() -> Database:
    database = Database("c-0001")
    for pool in fleet.POOLS:
        for number in range(pool["replicas"]):
            name = str(pool["name"])
            granted = (name, number) == ("managers", 0)
            database.tell(f"c-0001-{name}-{number}", pod(name, number, granted=granted))
    return database


async def test_a_database_is_unformed_until_one_of_its_members_is_granted_it() -> None:
    database = Database("c-0001")
    database.tell("c-0001-managers-0", pod("managers", 0))
    picture = await seen(database)
    assert isinstance(picture, Unknown)
    assert "not formed yet" in picture.why


@pytest.mark.parametrize(("ready", "granted"), [(True, False), (False, True)])
async def test_it_is_formed_by_leave_or_by_a_candidate_that_is_ready_without(*, ready: bool, granted: bool) -> None:
    database = Database("c-0001")
    database.tell("c-0001-managers-0", pod("managers", 0, ready=False, candidate=True))
    assert isinstance(await seen(database), Unknown)
    database.tell("c-0001-managers-0", pod("managers", 0, ready=ready, granted=granted, candidate=True))
    assert database.formed


async def test_all_ready_members_make_a_green_cluster() -> None:
    picture = await seen(whole())
    assert isinstance(picture, Picture)
    assert picture.health is Health.GREEN
    assert len(picture.nodes) == fleet.MEMBERS
    assert len(picture.voters) == 3
    assert len(picture.units) == INDICES
    assert {node.version for node in picture.nodes.values()} == {fleet.VERSION}
    assert all(len({copy.member for copy in unit.copies}) == 2 for unit in picture.units)


async def test_a_member_that_is_not_ready_or_gone_has_left_the_cluster() -> None:
    database = whole()
    database.tell("c-0001-hot-5", pod("hot", 5, ready=False))
    database.tell("c-0001-hot-4", None)
    picture = await seen(database)
    assert isinstance(picture, Picture)
    assert "c-0001-hot-5" not in picture.nodes
    assert "c-0001-hot-4" not in picture.nodes


async def test_what_a_stand_in_does_not_know_it_does_not_answer() -> None:
    assert whole().answer("/_cat/indices") is None
    assert whole().write("POST", "/_cluster/reroute", b"{}") is None


async def test_a_limit_of_the_allocation_is_seen_until_it_is_restored() -> None:
    database = whole()
    engine, target = opensearch.driver(InProcess(database)), target_of(database)
    await engine.limit_allocation(target, Allocation.PRIMARIES)
    picture = await seen(database)
    assert isinstance(picture, Picture)
    assert picture.allocation is Allocation.PRIMARIES
    await engine.flush(target)
    await engine.restore_allocation(target)
    assert msgspec.json.decode(database.answer(driver.SETTINGS) or b"") == {"persistent": {}, "transient": {}}


@pytest.mark.parametrize("index", [0, 249, 250, 499])
def test_every_cluster_has_a_loopback_address_of_its_own(index: int) -> None:
    address = fleet.address(fleet.name(index))
    assert address.startswith("127.")
    assert fleet.cluster_at(address) == fleet.name(index)


def test_a_volume_is_meant_for_one_claim() -> None:
    meta = {"name": "data-x", "namespace": "bench", "uid": "u1"}
    claim = {"metadata": meta, "spec": {"resources": {"requests": {"storage": "1Gi"}}}}
    made = volume(msgspec.convert(claim, PersistentVolumeClaim))
    assert made["spec"]["claimRef"]["uid"] == "u1"
    assert made["spec"]["capacity"] == {"storage": "1Gi"}
