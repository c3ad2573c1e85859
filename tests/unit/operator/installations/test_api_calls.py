"""How many requests to the API server an installation of ten objects takes: a table, so that none grows unnoticed."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator

import pytest

from bench.packages import parcel
from tests.support.requests import counted_requests
from tests.unit.operator.installations.world import HOME, World

INSTALLATIONS = "stateward.dev/swinstallations"
OUTSIDE = {"get /configmaps": 1}
"""The ConfigMap that the pods use and the package does not create: its data is read before the workload is applied."""
TOLD = {f"patch {INSTALLATIONS} status": 3, "create events.k8s.io/events": 2}
"""A plan begins, waits for pods, and ends."""


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count requests, except watches."""
    return counted_requests(monkeypatch)


@pytest.fixture
async def world(calls: Counter[str]) -> AsyncGenerator[World]:
    """Return a world with an operator and one installation of the package, so that its account and kinds are known."""
    made = World()
    made.package("parcel-1.0.0", parcel.files())
    for name in ("first", "web"):
        made.server.create("/configmaps", HOME, {"metadata": {"name": f"{parcel.OUTSIDE}-{name}"}, "data": {}})
    async with made.operator():
        made.install("parcel-1.0.0", "first")
        await settled(made, "first")
        calls.clear()
        yield made


async def settled(world: World, name: str = "web") -> None:
    await world.until(lambda: world.ready(name))
    await asyncio.sleep(60.0)


def applied(maps: int, others: int) -> dict[str, int]:
    rest = ("/secrets", "/serviceaccounts")
    made = {"apply /configmaps": maps, "apply apps/deployments": 1, "get apps/deployments": 1}
    return made | {f"apply {kind}": others for kind in rest if others}


async def test_an_installation_takes_one_apply_for_each_object_and_reads_only_the_workload(
    world: World, calls: Counter[str]
) -> None:
    world.install("parcel-1.0.0", "web")
    await settled(world)
    marks = {f"patch {INSTALLATIONS}": 1}
    assert calls == applied(parcel.SETTINGS, 1) | marks | TOLD | OUTSIDE
    assert calls.total() == 18


async def test_the_first_installation_of_an_account_asks_once_whether_each_kind_may_be_listed(
    world: World, calls: Counter[str]
) -> None:
    await asyncio.sleep(700.0)
    world.install("parcel-1.0.0", "web")
    await settled(world)
    lists = {f"list {kind}": 1 for kind in ("/configmaps", "/secrets", "/serviceaccounts", "apps/deployments")}
    assert {name: count for name, count in calls.items() if name.startswith("list")} == lists
    assert calls.total() == 22


async def test_a_changed_parameter_takes_one_apply_for_each_object_that_has_it_and_for_the_workload(
    world: World, calls: Counter[str]
) -> None:
    world.install("parcel-1.0.0", "first", LEVEL="2")
    await settled(world, "first")
    repeated = {"patch events.k8s.io/events": 1}
    assert calls == applied(parcel.SETTINGS, 0) | TOLD | OUTSIDE | repeated
    assert calls.total() == 16
    assert world.rollouts == {"first": 1}


async def test_an_installation_at_rest_asks_nothing(world: World, calls: Counter[str]) -> None:
    await asyncio.sleep(3_600.0)
    assert not calls


async def test_a_deletion_lists_each_kind_live_and_deletes_each_object_once(world: World, calls: Counter[str]) -> None:
    world.uninstall("first")
    await world.until(lambda: world.get("Installation", "first") is None)
    await asyncio.sleep(60.0)
    kinds = ("/configmaps", "/secrets", "/serviceaccounts", "apps/deployments")
    lists = {f"list {kind}": 1 for kind in kinds}
    removed = {f"delete {kind}": 1 for kind in kinds} | {"delete /configmaps": parcel.SETTINGS}
    own = {f"get {INSTALLATIONS}": 1, f"patch {INSTALLATIONS}": 1, "get /namespaces": 1}
    assert calls == lists | removed | own


async def test_an_outdated_watch_begins_no_plan(world: World, calls: Counter[str]) -> None:
    """The watch does not show yet that a user has paused the installation: the first write names the older version."""
    world.network.lags[INSTALLATIONS] = 3.0
    world.install("parcel-1.0.0", "first", LEVEL="2")
    await asyncio.sleep(2.0)
    world.install("parcel-1.0.0", "first", spec={"paused": True}, LEVEL="2")
    await asyncio.sleep(60.0)
    assert not [name for name in calls if name.startswith(("apply", "delete"))]
    assert world.condition("Stalled", "first")["reason"] == "Paused"
    assert world.there("ConfigMap", "first-0")["data"]["level"] == "1"
