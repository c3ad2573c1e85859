"""Many new objects take one list of names, and a name that another owner has is found by a read of that object."""

import pytest
from msgspec import structs

from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from stateward.operator.objects.ownership import NotOwnedError, TakenNames
from tests.support.moved_clock import MovedClock
from tests.unit.engines.search_clusters import cluster
from tests.unit.kube.memory_api import MemoryApi


class Setting:
    """A namespace with some Secrets of others, and what is asked about it."""

    def __init__(self, foreign: int = 0) -> None:
        self.api, self.time = MemoryApi(latency=0), MovedClock()
        self.taken = TakenNames(self.api, self.time)
        for i in range(foreign):
            self.add(f"foreign-{i}")

    def add(self, name: str, namespace: str = "prod") -> None:
        body = {"metadata": {"name": name, "namespace": namespace, "uid": name, "resourceVersion": "1"}}
        self.api.objects["secrets", Key(namespace, name)] = body

    async def asks(self, name: str, namespace: str = "prod", uid: str = "u-1") -> bool:
        found = cluster()
        asking = structs.replace(found, metadata=structs.replace(found.metadata, uid=uid))
        return await self.taken.exists(kinds.SECRETS, Key(namespace, name), asking)

    @property
    def requests(self) -> list[str]:
        return self.api.verbs("secrets")


async def test_one_name_is_one_read_and_many_are_one_list_more() -> None:
    setting = Setting(foreign=3)
    assert not await setting.asks("logs-0")
    assert setting.requests == ["get"]
    for i in range(1, 9):
        assert not await setting.asks(f"logs-{i}")
    assert setting.requests == ["get", "list"]


async def test_a_name_of_another_owner_is_found_however_many_are_asked() -> None:
    setting = Setting()
    setting.add("logs-7")
    for i in range(7):
        assert not await setting.asks(f"logs-{i}")
    with pytest.raises(NotOwnedError, match="logs-7"):
        await setting.asks("logs-7")


async def test_a_list_counts_for_seconds_and_then_names_are_read_again() -> None:
    setting = Setting()
    for i in range(3):
        assert not await setting.asks(f"logs-{i}")
    setting.add("logs-9")
    setting.time.later(TakenNames.SECONDS)
    with pytest.raises(NotOwnedError):
        await setting.asks("logs-9")
    assert setting.requests == ["get", "list", "get"]


async def test_a_name_that_has_become_free_is_free_at_once() -> None:
    """A person who removes the object that is in the way does not wait for the next list."""
    setting = Setting()
    setting.add("logs-1")
    for name in ("logs-0", "logs-2"):
        assert not await setting.asks(name)
    del setting.api.objects["secrets", Key("prod", "logs-1")]
    assert not await setting.asks("logs-1")


async def test_each_namespace_and_kind_has_a_list_of_its_own() -> None:
    setting = Setting()
    setting.add("logs-1", namespace="other")
    for name in ("logs-0", "logs-1"):
        assert not await setting.asks(name)
    with pytest.raises(NotOwnedError):
        await setting.asks("logs-1", namespace="other")
    setting.api.objects["configmaps", Key("prod", "logs-2")] = {
        "metadata": {"name": "logs-2", "namespace": "prod", "uid": "x", "resourceVersion": "1"}
    }
    with pytest.raises(NotOwnedError):
        await setting.taken.exists(kinds.CONFIG_MAPS, Key("prod", "logs-2"), cluster())


async def test_a_cluster_that_is_created_again_finds_the_objects_of_the_earlier_one() -> None:
    """The list of names is older than they are."""
    setting = Setting()
    for i in range(3):
        assert not await setting.asks(f"logs-{i}")
    setting.add("logs-1")
    assert not await setting.asks("logs-0", uid="u-2")
    with pytest.raises(NotOwnedError):
        await setting.asks("logs-1", uid="u-2")


async def test_in_a_namespace_with_more_than_a_page_each_name_is_read() -> None:
    setting = Setting(foreign=TakenNames.PAGE + 1)
    setting.add("logs-3")
    for i in range(3):
        assert not await setting.asks(f"logs-{i}")
    with pytest.raises(NotOwnedError):
        await setting.asks("logs-3")
    assert setting.requests == ["get", "list", "get", "get", "get"]
