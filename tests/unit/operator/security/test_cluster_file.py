"""The cluster file is in a Secret and nowhere else: moved there from where it was, and never made up."""

import asyncio
import base64
import random
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.status import BootstrapStatus, ClusterStatus
from stateward.engines.connection.base import GarbledError
from stateward.engines.foundationdb.database.commands import Printed, judge
from stateward.engines.foundationdb.database.status import parse_status
from stateward.engines.foundationdb.spec.connection import ConnectionStringError, parse_connection_string
from stateward.engines.foundationdb.spec.identity import description
from stateward.kube.client.client import ApplyOptions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError, Unavailable
from stateward.kube.objects.metadata import Key, PartialObject
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.workloads import StatefulSet
from stateward.operator.databases.foundationdb import uses_config_map
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import FOUNDATIONDB
from stateward.operator.objects.ownership import NotOwnedError
from stateward.operator.security.cluster_file import ClusterFiles, delete_config_map, with_cluster_file
from stateward.planning.model.observation import Database, Health, Unknown
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.store import Store
from stateward.simulation.apiserver.writing.writes import Server
from stateward.simulation.timing.loop import WorldClock
from tests.unit.engines import search_clusters
from tests.unit.engines.foundationdb_model import cluster
from tests.unit.kube.memory_api import MemoryApi

NAME = "ledger-cluster-file"
FORMED = BootstrapStatus(member="", volume="", formed=True)
ANSWERS = Database("bank_ledger_01234567", Health.GREEN, nodes={}, connection="said:now@z.a:4500")


class Unreadable(WorldApi):
    """An API server that can be kept from showing Secrets."""

    silent = False

    async def get(self, resource: Resource[Any], key: Key) -> Any:
        if resource.plural == "secrets" and self.silent:
            raise Unavailable("the Secret cannot be read now")
        return await super().get(resource, key)


@pytest.fixture
async def api() -> Unreadable:
    clock = WorldClock(asyncio.get_running_loop())
    store = Store(clock.monotonic, clock.now)
    made = Unreadable(Server(store), ChangeSignal(store), Network(random.Random(0), lambda _: None))  # noqa: S311
    await made.create(kinds.NAMESPACES, {"metadata": {"name": "bank"}})
    return made


def existing(**status: Any) -> ClusterObjects:
    of = msgspec.structs.replace(cluster(), status=ClusterStatus(**status))
    return ClusterObjects(of, (), (), (), (), {}, {})


def named(generation: str) -> str:
    return f"{description(cluster())}:{generation}@ledger-log-0-0.ledger-members.bank.svc:4500"


async def give(api: WorldApi, text: str) -> None:
    meta = {
        "name": NAME,
        "namespace": "bank",
        "labels": {"stateward.dev/cluster": "ledger", "stateward.dev/engine": "foundationdb"},
    }
    data = {"fdb.cluster": base64.b64encode(f"{text}\n".encode()).decode()}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": data}
    await api.apply(kinds.SECRETS, Key("bank", NAME), body, ApplyOptions("stateward"))


async def known(api: WorldApi, **status: Any) -> str | None:
    return (await ClusterFiles(api, Caches(FOUNDATIONDB)).known(existing(**status))).connection


async def test_a_new_cluster_begins_with_its_first_coordinators(api: Unreadable) -> None:
    assert await known(api) == ""


async def test_what_the_secret_says_is_what_is_known(api: Unreadable) -> None:
    await give(api, named("kept"))
    assert await known(api, bootstrap=FORMED) == named("kept")


async def test_a_cluster_that_is_created_again_does_not_take_the_file_of_the_earlier_one(api: Unreadable) -> None:
    """The operator has read it, and it is not deleted yet: the new database would join the old one's coordinators."""
    caches, first = Caches(FOUNDATIONDB), existing()
    owned = {"name": NAME, "namespace": "bank", "labels": {"stateward.dev/cluster": "ledger"}}
    reference = {
        "apiVersion": "v1",
        "kind": "C",
        "name": "ledger",
        "uid": first.cluster.metadata.uid,
        "controller": True,
    }
    data = {"fdb.cluster": base64.b64encode(named("one").encode()).decode()}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": {**owned, "ownerReferences": [reference]}, "data": data}
    await api.apply(kinds.SECRETS, Key("bank", NAME), body, ApplyOptions("stateward"))
    caches.of(kinds.SECRETS).wrote(await api.get(kinds.SECRETS, Key("bank", NAME)))
    files = ClusterFiles(api, caches)
    assert (await files.known(first)).connection == named("one")
    metadata = msgspec.structs.replace(first.cluster.metadata, uid="another")
    again = replace(first, cluster=msgspec.structs.replace(first.cluster, metadata=metadata))
    with pytest.raises(NotOwnedError):
        await files.known(again)


async def test_what_an_operator_of_before_has_put_into_the_status_is_newer(api: Unreadable) -> None:
    await give(api, named("kept"))
    assert await known(api, connection=named("status")) == named("status")


async def test_it_is_not_made_up_while_the_secret_cannot_be_read(api: Unreadable) -> None:
    await give(api, named("kept"))
    api.silent = True
    with pytest.raises(ApiError):
        await known(api)


@pytest.mark.parametrize("wrong", ["", "no cluster file", "other:one@db-0.bank.svc:4500"])
async def test_one_that_is_lost_is_reported_and_comes_back_by_the_databases_word(api: Unreadable, wrong: str) -> None:
    if wrong:
        await give(api, wrong)
    held = await ClusterFiles(api, Caches(FOUNDATIONDB)).known(existing(bootstrap=FORMED))
    assert held.connection is None
    lost, refused = with_cluster_file(held, Unknown("no process answers"))
    assert lost.connection is None
    assert [each.reason for each in refused] == ["ClusterFileLost"]
    assert all(wrong not in each.message for each in refused if wrong)
    found, refused = with_cluster_file(held, ANSWERS)
    assert (found.connection, refused) == ("said:now@z.a:4500", ())


async def test_what_the_database_says_counts_more_than_what_was_kept(api: Unreadable) -> None:
    await give(api, named("kept"))
    held = await ClusterFiles(api, Caches(FOUNDATIONDB)).known(existing(bootstrap=FORMED))
    assert with_cluster_file(held, ANSWERS)[0].connection == "said:now@z.a:4500"
    assert with_cluster_file(held, Unknown("no process answers"))[0].connection == named("kept")
    without = msgspec.structs.replace(ANSWERS, connection="")
    assert with_cluster_file(held, without)[0].connection == named("kept")


def test_it_is_not_shown_with_the_holdings() -> None:
    held, _ = with_cluster_file(existing(), ANSWERS)
    assert "said:now" not in repr(held)


@pytest.mark.parametrize("volume", [{"configMap": {"name": NAME}}, {"secret": {"secretName": NAME}}])
def test_pods_and_templates_that_mount_the_config_map_of_before_are_known(volume: dict[str, Any]) -> None:
    spec = {"volumes": [{"name": "cluster", **volume}]}
    held = existing()
    of: Any = held.cluster
    body = {"spec": spec}
    pod = msgspec.structs.replace(msgspec.convert(body, Pod))
    sets = msgspec.convert({"spec": {"template": body}}, StatefulSet)
    for each in (
        ClusterObjects(of, (), (pod,), (), (), {}, {}),
        ClusterObjects(of, (sets,), (), (), (), {}, {}),
    ):
        assert uses_config_map(of, each) is ("configMap" in volume)


def test_errors_do_not_reveal_it() -> None:
    with pytest.raises(ConnectionStringError) as garbled:
        parse_connection_string("desc:secret1@a b")
    assert "secret1" not in str(garbled.value)
    with pytest.raises(GarbledError) as strange:
        parse_status("The file says desc:secret1@10.0.0.1:4500")
    assert "secret1" not in str(strange.value)
    _, words = judge(Printed(1, "ERROR: cannot use desc:secret1@10.0.0.1:4500"))
    assert "secret1" not in words
    assert "10.0.0.1:4500" in words


async def test_what_was_read_of_a_cluster_that_is_gone_is_read_again_and_that_of_others_is_not(api: Unreadable) -> None:
    await give(api, named("kept"))
    caches = Caches(FOUNDATIONDB)
    caches.of(kinds.SECRETS).wrote(await api.get(kinds.SECRETS, Key("bank", NAME)))
    files = ClusterFiles(api, caches)
    assert (await files.known(existing())).connection == named("kept")
    api.silent = True
    files.forget(Key("other", "ledger"))
    files.forget(Key("bank", "journal"))
    assert (await files.known(existing())).connection == named("kept"), "it is remembered"
    files.forget(Key("bank", "ledger"))
    with pytest.raises(ApiError):
        await files.known(existing())


async def test_a_search_cluster_has_no_config_map_to_delete() -> None:
    of = search_clusters.cluster()
    meta = {
        "name": f"{of.metadata.name}-cluster-file",
        "namespace": of.metadata.namespace,
        "uid": "theirs",
        "resourceVersion": "1",
    }
    owner = {"apiVersion": "v1", "kind": of.kind, "name": of.metadata.name, "uid": of.metadata.uid, "controller": True}
    caches, api = Caches(), MemoryApi()
    caches.of(kinds.CONFIG_MAPS).wrote(
        msgspec.convert({"metadata": {**meta, "ownerReferences": [owner]}}, PartialObject)
    )
    assert await delete_config_map(api, caches, ClusterObjects(of, (), (), (), (), {}, {})) is None
    assert api.calls == []
