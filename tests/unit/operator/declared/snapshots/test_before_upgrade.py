"""The snapshot before an upgrade: of this database, successful, with all indices, and proven by the database."""

from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search import OpenSearchCluster
from stateward.engines import opensearch
from stateward.engines.connection.base import Target
from stateward.kube.objects.metadata import Key
from stateward.operator.declared.snapshots.before_upgrade import needed, read_saved
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.planning.model.observation import Saved, Unknown
from tests.unit.operator.declared.snapshots.test_first_restore import api_of
from tests.unit.operator.declared.world import CLUSTER, HOME, World

TODAY = 2e9
"""Later than all that is taken here, in seconds since the epoch."""
GATE = {"repository": "files", "maxAge": "24h"}


def existing(version: str = "2.19.5", **update: Any) -> ClusterObjects:
    """Return a cluster that runs 2.19.3 and is to run another version."""
    update = update or {"snapshotBeforeUpgrade": GATE}
    made = {**CLUSTER, "spec": {**CLUSTER["spec"], "version": version, "update": update}}
    cluster = msgspec.convert(made, OpenSearchCluster)
    return ClusterObjects(cluster, sets=(), pods=(), claims=(), secrets=(), nodes={}, classes={})


async def saved_of(world: World, asked: ClusterObjects | None = None, *, late: float = 0.0) -> Saved | Unknown | None:
    engine = opensearch.driver(world.database)
    target = Target(("http://10.0.0.1:9200",), "prod-logs", "uuid-1")
    return await read_saved(api_of(world), engine, asked or existing(), target, TODAY - late)


async def world_with_one(kind: str = "SearchSnapshot", **spec: Any) -> World:
    """Return a world in which a snapshot of the index `orders` has been taken."""
    world = World(kind=kind)
    world.database.snapshots.repositories["files"] = {}
    world.database.snapshots.add_index("orders", 7)
    world.declare(repository="files", **spec)
    async with world.operator():
        await world.until(lambda: world.is_ready() and bool(world.status().keys() & {"state", "lastSuccess"}))
    return world


@pytest.mark.parametrize(
    ("kind", "spec"),
    [("SearchSnapshot", {}), ("SearchSnapshotSchedule", {"schedule": "* * * * *"})],
    ids=["by hand", "schedule"],
)
async def test_a_successful_one_of_this_database_counts_with_the_time_of_its_start(
    kind: str, spec: dict[str, Any]
) -> None:
    world = await world_with_one(kind, **spec)
    (taken,) = world.database.snapshots.repositories["files"].values()
    found = await saved_of(world)
    assert isinstance(found, Saved)
    assert (found.name, found.why) == (taken.name, "")
    assert abs(found.time - taken.began) < 1.0


async def test_one_that_lacks_an_index_which_was_there_does_not_count() -> None:
    world = await world_with_one()
    (taken,) = world.database.snapshots.repositories["files"].values()
    world.database.snapshots.add_index("later", 1)
    world.database.snapshots.indices["later"].created = int((taken.began + 60) * 1000)
    found = await saved_of(world)
    assert isinstance(found, Saved)
    assert found.name == taken.name, "an index that was created after it cannot be in it"
    world.database.snapshots.indices["later"].created = int((taken.began - 60) * 1000)
    assert await saved_of(world) == Saved(why="one does not have later")
    world.database.snapshots.add_index("new", 1)
    world.declare("two", repository="files", indices=["orders", "new"])
    async with world.operator():
        await world.until(lambda: world.is_ready("two"))
    assert await saved_of(world) == Saved(why="two does not have later"), "the newest one is told"


async def test_one_that_is_dated_in_the_future_has_an_unknown_age() -> None:
    world = await world_with_one()
    (taken,) = world.database.snapshots.repositories["files"].values()
    assert isinstance(found := await saved_of(world, late=TODAY - taken.began + 60.0), Saved)
    assert found.name == "one", "clocks differ a little"
    late = TODAY - taken.began + 3600.0
    assert await saved_of(world, late=late) == Saved(why="one is dated in the future, so its age is not known")


async def test_only_what_the_database_confirms_counts() -> None:
    world = await world_with_one()
    stored = world.database.snapshots.repositories["files"]
    taken = stored["one"]
    for change in ({"state": "PARTIAL"}, {"metadata": {"by": "another client"}}):
        before = {name: getattr(taken, name) for name in change}
        for name, value in change.items():
            setattr(taken, name, value)
        assert await saved_of(world) == Saved()
        for name, value in before.items():
            setattr(taken, name, value)
    del stored["one"]
    assert await saved_of(world) == Saved()
    del world.database.snapshots.repositories["files"]
    assert isinstance(await saved_of(world), Unknown)


@pytest.mark.parametrize(
    ("kind", "spec"),
    [("SearchSnapshot", {}), ("SearchSnapshotSchedule", {"schedule": "* * * * *"})],
    ids=["by hand", "schedule"],
)
async def test_one_of_an_earlier_database_or_of_another_cluster_or_repository_saves_nothing(
    kind: str, spec: dict[str, Any]
) -> None:
    world = await world_with_one(kind, **spec)
    assert isinstance(found := await saved_of(world), Saved)
    assert found.name
    live = world.store.get(world.plural, Key(HOME, "one"))
    assert live is not None
    other = existing(snapshotBeforeUpgrade={**GATE, "repository": "others"})
    assert await saved_of(world, other) == Saved()
    world.change_status("clusterUUID", "an earlier one")
    assert await saved_of(world) == Saved()


async def test_nothing_is_asked_when_no_upgrade_is_due() -> None:
    world = await world_with_one()
    calls = len(world.database.calls)
    for quiet in (existing("2.19.3"), existing(paused=False)):
        assert needed(quiet) is None
        assert await saved_of(world, quiet) is None
    assert len(world.database.calls) == calls
