"""Two real secured OpenSearch processes on loopback: one searches the other, with the operator's files and requests."""

import asyncio
import os
import random
import shutil
import ssl
import tempfile
import time
import zipfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import pytest

from sandbox.images import pins
from sandbox.images.maven import fetch
from sandbox.progress import Progress
from stateward.api.kinds.access.remote import OtherCluster, RemoteAccess, RemoteCluster
from stateward.api.kinds.search import OpenSearchCluster, OpenSearchSpec, Pool
from stateward.api.kinds.security import Security, SecurityStatus
from stateward.api.kinds.status import ClusterStatus
from stateward.api.values.base import Metadata
from stateward.engines import opensearch
from stateward.engines.connection.access import Access
from stateward.engines.connection.base import EngineError, Target
from stateward.engines.connection.http import HttpTransport
from stateward.engines.search.database.session import Session, at_any_node
from stateward.engines.search.objects.shared import SEEDS_FILE, seed_lines
from stateward.engines.search.remote import requests
from stateward.engines.search.remote.decision import Do, Wanted
from stateward.engines.search.spec.consent import place_of
from stateward.operator.security.material import Material, Stored, desired_material
from tests.integration.clusters.opensearch_processes import Node

pytestmark = [pytest.mark.integration]
VERSION = "2.19.3"
PATIENCE = 240.0
"""Seconds, for processes that start on a busy machine."""
DOCUMENTS = 12
PASSWORD = "a-long-and-random-word-1X"
T = TypeVar("T")


class Secured:
    """One secured cluster of one member, with the files that the operator would give it."""

    def __init__(self, root: Path, name: str, address: str, **remote: Any) -> None:
        self.root, self.address = root, address
        pools = [Pool(name="all", replicas=1)]
        spec = OpenSearchSpec(version=VERSION, pools=pools, security=Security(enabled=True), **remote)
        metadata = Metadata(name=name, namespace=f"test{os.getpid()}", uid=name)
        status = ClusterStatus(security=SecurityStatus(enabled=True))
        self.cluster = OpenSearchCluster(metadata=metadata, spec=spec, status=status)
        self.node = Node(root, VERSION, self.cluster, 0, address)
        self.material = self.made(Stored())

    def made(self, stored: Stored) -> Material:
        found = desired_material(self.cluster, stored, time.time()).material
        assert found is not None
        return found

    def lay_out(self, distribution: Path) -> None:
        self.node.lay_out(distribution)
        shutil.copytree(distribution / "security-config", self.node.home / "config" / "opensearch-security")
        (self.root / "tls").mkdir()
        (self.root / "seeds" / SEEDS_FILE).write_text(seed_lines([self.address]))
        (self.root / "pod" / "bootstrap").write_text("granted")
        self.write()

    def write(self) -> None:
        """Write the members' Secret into the pod, as the kubelet does."""
        for name, text in self.material.files[1].items():
            path = self.root / "tls" / name
            path.with_suffix(".new").write_text(text)
            path.with_suffix(".new").chmod(0o644)
            path.with_suffix(".new").rename(path)

    def trust(self, *others: "Secured") -> None:
        """Trust the CAs of these clusters, and no others."""
        authority, members, operator = self.material.files
        bundles = {place_of(other.cluster): other.material.authority.bundle for other in others}
        self.material = self.made(Stored(authority, members, operator, others=bundles))
        self.write()

    @property
    def target(self) -> Target:
        access: Access = self.material.access(self.cluster)
        return Target((f"https://{self.address}:9200",), opensearch.cluster_name(self.cluster), access=access)

    def log(self) -> str:
        return self.node.log.read_text(errors="replace")[-6000:]


@pytest.fixture(scope="module")
def two() -> Iterator[tuple[Secured, Secured]]:
    """Give a cluster that searches, and one that lets it."""
    plugin = pins.opensearch_security(VERSION)
    assert plugin is not None
    archives = [fetch(each, Progress(quiet=True)) for each in (pins.opensearch_home(VERSION), plugin)]
    root = Path(tempfile.mkdtemp(prefix="stateward-remote-"))
    root.chmod(0o755)
    with zipfile.ZipFile(archives[0]) as packed:
        packed.extractall(root)
    distribution = root / f"opensearch-{VERSION}"
    with zipfile.ZipFile(archives[1]) as packed:
        packed.extractall(distribution / "plugins" / "opensearch-security")
    shutil.move(distribution / "plugins" / "opensearch-security" / "config", distribution / "security-config")
    network = f"127.{random.randint(16, 250)}.{random.randint(1, 250)}"  # noqa: S311 - only to stay apart
    asks = {"remote_clusters": [RemoteCluster(name="east", cluster=OtherCluster(name="events"))]}
    lets = {"remote_access": RemoteAccess(clusters=[OtherCluster(name="logs")])}
    logs = Secured(root / "logs", "logs", f"{network}.1", **asks)
    events = Secured(root / "events", "events", f"{network}.2", **lets)
    try:
        for each in (logs, events):
            each.lay_out(distribution)
            each.node.start()
        yield logs, events
    finally:
        for each in (logs, events):
            each.node.stop()
        shutil.rmtree(root)


@pytest.fixture
async def transport() -> AsyncGenerator[HttpTransport]:
    async with aiohttp.ClientSession() as session:
        yield HttpTransport(session)


async def until(of: Secured, holds: Callable[[], Awaitable[T]]) -> T:
    """Return the first true result; fails with the end of the log."""
    deadline, last = time.monotonic() + PATIENCE, "nothing"
    while time.monotonic() < deadline:
        try:
            if found := await holds():
                return found
        except EngineError as error:
            last = str(error)
        await asyncio.sleep(1)
    pytest.fail(f"waited in vain; last: {last}\n{of.log()}")


async def found(of: Secured, alias: str = "east") -> int:
    """Return what a user finds in the other cluster; -1 if the search fails or leaves it out."""
    name = of.target.access.name if of.target.access is not None else ""
    trusted = ssl.create_default_context(cadata=of.material.authority.bundle)
    headers = {"Authorization": aiohttp.encode_basic_auth("person", PASSWORD)}
    url = f"https://{of.address}:9200/{alias}:orders/_search?size=0&track_total_hits=true"
    async with (
        aiohttp.ClientSession() as session,
        session.get(url, headers=headers, ssl=trusted, server_hostname=name) as answer,
    ):
        said = await answer.json()
    if answer.status != 200 or said["_clusters"]["successful"] != 1:
        print(answer.status, said)  # noqa: T201 - shown if the test fails
        return -1
    return int(said["hits"]["total"]["value"])


async def test_one_finds_the_documents_of_the_other_and_what_was_set_is_removed(
    two: tuple[Secured, Secured], transport: HttpTransport
) -> None:
    logs, events = two
    engine = opensearch.driver(transport)

    async def ask(of: Secured, work: Callable[[Session], Awaitable[T]]) -> T:
        return await at_any_node(transport, of.target, work)

    async def is_up(session: Session) -> bool:
        return bool(await session.get(dict[str, Any], "/_cluster/health", {"wait_for_status": "yellow"}))

    for each in two:
        await until(each, lambda each=each: ask(each, is_up))
        await until(each, lambda each=each: added(engine, each))

    async def indexed(session: Session) -> None:
        for number in range(DOCUMENTS):
            await session.command("PUT", f"/orders/_doc/{number}", {"refresh": "true"}, {"n": number})

    await ask(events, indexed)
    wanted = Wanted(f"{events.address}:9300", skip_unavailable=True)

    # Before the CAs are exchanged, the members do not talk to each other.
    async def set_up(session: Session) -> Do:
        return (await requests.settle("east", wanted, wanted.address, session))[0]

    async def awake(session: Session) -> bool:
        said = await requests.wake(session, "east")
        print(said)  # noqa: T201 - shown if the test fails
        return (await requests.connected(session)).get("east", False)

    async def finds() -> bool:
        return await found(logs) == DOCUMENTS

    assert await ask(logs, set_up) is Do.SET
    assert await ask(logs, set_up) is Do.NOTHING
    assert await ask(logs, awake) is False
    assert await found(logs) == -1

    # Both load the CA of the other while they run.
    logs.trust(events)
    events.trust(logs)
    await until(logs, lambda: ask(logs, awake))
    await until(logs, finds)

    # The other one comes back.
    events.node.stop()
    assert await found(logs) == -1
    events.node.start()
    await until(events, lambda: ask(events, is_up))
    await until(logs, lambda: ask(logs, awake))
    await until(logs, finds)

    async def removed(session: Session) -> Do:
        return (await requests.settle("east", None, wanted.address, session))[0]

    assert await ask(logs, removed) is Do.CLEAR
    assert (await ask(logs, requests.read)) == {}
    assert await ask(logs, requests.connected) == {}
    assert await found(logs) == -1


async def added(engine: Any, of: Secured) -> bool:
    await engine.add_user(of.target, "person", PASSWORD)
    return True
