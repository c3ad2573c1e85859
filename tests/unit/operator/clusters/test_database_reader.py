"""A process of the operator that stands by reads databases too, finds its own way to them, and writes nothing."""

import asyncio
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from stateward.api.kinds.search import OpenSearchCluster, OpenSearchSpec, Pool
from stateward.api.kinds.security import Security, SecurityStatus
from stateward.api.kinds.status import ClusterStatus
from stateward.api.values import names
from stateward.api.values.base import Metadata
from stateward.engines import opensearch
from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Answer, Call, RefusedError, Speed, Target
from stateward.engines.search.configuration.security import TOGETHER
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import Unavailable
from stateward.kube.objects.metadata import Key, PartialObject
from stateward.kube.objects.pods import Pod
from stateward.kube.timing.clock import SystemClock
from stateward.operator.clusters.database_reader import DatabaseReader
from stateward.operator.clusters.reached_databases import ReadDatabases
from stateward.operator.databases.engine import OpenSearchFamily
from stateward.operator.objects.caches import Caches, Objects
from stateward.operator.observe import read_only_session
from stateward.operator.security.own_secrets import RAW_SECRETS
from stateward.operator.security.security import Keeper
from stateward.planning.model.database import Database, Health, Unknown
from tests.unit.kube.memory_api import MemoryApi

KEY = Key("data", "logs")
REPORT = Database("u", Health.GREEN, {})
OPERATOR = "logs-operator-tls"


class Asked:
    """A database that answers, and notes how it was reached."""

    def __init__(self) -> None:
        self.targets: list[Target] = []
        self.hangs = False

    async def observe(self, target: Target) -> Database:
        self.targets.append(target)
        if self.hangs:
            await asyncio.Event().wait()
        return REPORT

    async def recovery_speed(self, target: Target) -> Speed:
        await self.observe(target)
        return Speed(at_once=7)


def cluster(*, enabled: bool | None = None, status: ClusterStatus | None = None) -> OpenSearchCluster:
    pools = [Pool(name="all", replicas=1)]
    spec = OpenSearchSpec(version="2.19.3", pools=pools, security=Security(enabled=enabled))
    metadata = Metadata(name="logs", namespace="data", uid="u", resource_version="1")
    return OpenSearchCluster(metadata=metadata, spec=spec, status=status or ClusterStatus())


def pod(*, secured: bool) -> Pod:
    labels = {names.LABEL_CLUSTER: "logs", names.LABEL_ENGINE: "opensearch", names.LABEL_MEMBER: "logs-all-0"}
    inputs = msgspec.json.encode({TOGETHER: "x"} if secured else {}).decode()
    meta = {"name": "logs-all-0-0", "namespace": "data", "resourceVersion": "1", "labels": labels}
    meta["annotations"] = {names.ANNOTATION_INPUTS: inputs}
    return msgspec.convert({"metadata": meta, "status": {"podIP": "10.0.0.1"}}, Pod)


class Standby:
    """A process with warm caches that has had no round."""

    def __init__(self, api: MemoryApi, found: OpenSearchCluster | None, wave: str = "", *, synced: bool = True) -> None:
        self.database = Asked()
        engine: Any = self.database
        objects = Objects()
        self.caches = Caches(objects=objects, wave=wave)
        for store in (self.caches.clusters, *objects.stores()) if synced else ():
            store.feed().replace((), "0")
        if found is not None:
            self.caches.clusters.wrote(found)
        self.caches.of(kinds.PODS).wrote(pod(secured=found is not None and found.status.security is not None))
        self.reads = DatabaseReader(api, OpenSearchFamily(engine), self.caches)

    async def knows(self, api: MemoryApi, name: str) -> None:
        """Take in the metadata of a Secret, as a watch does."""
        meta = (await api.get(RAW_SECRETS, Key("data", name)))["metadata"]
        self.caches.of(kinds.SECRETS).wrote(msgspec.convert({"metadata": meta}, PartialObject))


@pytest.fixture
async def api() -> MemoryApi:
    return MemoryApi(latency=0)


async def test_it_reads_an_open_database_at_the_pods_of_its_cache(api: MemoryApi) -> None:
    process = Standby(api, cluster())
    assert await process.reads.report(KEY) == REPORT
    (target,) = process.database.targets
    assert target.endpoints == ("http://10.0.0.1:9200",)
    assert (target.access, target.proves) == (None, False)
    assert await process.reads.speed(KEY) == Speed(at_once=7)
    assert not process.database.targets[-1].proves


async def test_it_reads_a_secured_database_with_the_secret_of_the_operator_and_writes_nothing(api: MemoryApi) -> None:
    status = ClusterStatus(security=SecurityStatus(enabled=True))
    found = cluster(status=status)
    kept = await Keeper(api, Caches(), SystemClock()).keep(found)
    process = Standby(api, found)
    await process.knows(api, OPERATOR)
    api.calls.clear()
    assert await process.reads.report(KEY) == REPORT
    (target,) = process.database.targets
    assert kept.access is not None
    assert target.access == kept.access
    assert target.endpoints == ("https://10.0.0.1:9200",)
    assert {(verb, key.name) for verb, _, key in api.calls} == {("get", OPERATOR)}


async def test_without_its_secret_a_secured_database_is_not_known(api: MemoryApi) -> None:
    found = cluster(enabled=True)
    await Keeper(api, Caches(), SystemClock()).keep(found)
    process = Standby(api, found)
    await process.knows(api, OPERATOR)
    api.before = lambda verb, key: Unavailable(f"{verb} {key} is not possible now")
    answer = await process.reads.report(KEY)
    assert isinstance(answer, Unknown)
    assert "credentials" in answer.why
    assert await process.reads.speed(KEY) == Speed()
    assert process.database.targets == []


async def test_the_way_of_the_last_round_comes_first(api: MemoryApi) -> None:
    process, known = Standby(api, cluster()), Target(("http://10.9.9.9:9200",), "logs")
    assert await process.reads.report(KEY, known) == REPORT
    assert process.database.targets == [replace(known, proves=False)]


@pytest.mark.parametrize("wave", ["", "early"])
async def test_a_cluster_that_it_does_not_manage_is_not_asked(api: MemoryApi, wave: str) -> None:
    process = Standby(api, cluster() if wave else None, wave)
    assert await process.reads.report(KEY) is None
    assert await process.reads.speed(KEY) == Speed()
    assert process.database.targets == []


async def test_a_database_that_does_not_answer_is_not_known(api: MemoryApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read_only_session, "PATIENCE", 0.01)
    monkeypatch.setattr("stateward.operator.clusters.database_reader.PATIENCE", 0.01)
    process = Standby(api, cluster())
    process.database.hangs = True
    assert isinstance(await process.reads.report(KEY), Unknown)
    assert await process.reads.speed(KEY) == Speed()


@pytest.mark.parametrize("found", [None, cluster()])
async def test_a_process_that_does_not_know_all_clusters_yet_says_so(
    api: MemoryApi, found: OpenSearchCluster | None
) -> None:
    process = Standby(api, found, synced=False)
    answer = await process.reads.report(KEY)
    assert isinstance(answer, Unknown)
    assert "does not know all clusters yet" in answer.why
    assert process.database.targets == []


async def test_a_secured_database_without_credentials_is_not_taken_for_an_open_one(api: MemoryApi) -> None:
    process = Standby(api, cluster(status=ClusterStatus(security=SecurityStatus(enabled=True))))
    answer = await process.reads.report(KEY)
    assert isinstance(answer, Unknown)
    assert "has no credentials" in answer.why


class Recording:
    """A transport to a database that greets, and takes everything."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def within(self, access: Access) -> "Recording":
        assert access
        return self

    async def send(self, call: Call) -> Answer:
        self.calls.append(call)
        greeting = {"cluster_name": "data.logs", "cluster_uuid": "uuid", "master_node": "n0", "blocks": {}}
        return Answer(200, msgspec.json.encode(greeting))


async def test_other_controllers_read_a_database_without_the_lease_and_cannot_write_to_it(api: MemoryApi) -> None:
    database = Recording()
    engine = opensearch.driver(database)
    process = Standby(api, cluster(status=ClusterStatus(cluster_uuid="uuid")))
    process.reads = DatabaseReader(api, OpenSearchFamily(engine), process.caches)
    controller: Any = SimpleNamespace(family=OpenSearchFamily(engine), caches=process.caches, way=process.reads.target)
    read = ReadDatabases({"opensearch": controller})
    assert read.cluster("OpenSearchCluster", KEY) is not None
    assert await read.way("FoundationDBCluster", KEY) is None
    way = await read.way("OpenSearchCluster", KEY)
    assert isinstance(way, Target)
    answer = await read.read("OpenSearchCluster", way, lambda session: session.command("GET", "/_alias"))
    assert answer.status == 200
    for method in ("POST", "PUT", "DELETE"):
        with pytest.raises(RefusedError, match="only reads"):
            await read.read("OpenSearchCluster", way, lambda session, how=method: session.command(how, "/_alias"))
    assert {call.method for call in database.calls} == {"GET"}
