"""The order in which the objects of an installation are removed, with the shipped controller."""

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import pytest

from stateward.api.kinds.installation import Installation, InstallationSpec
from stateward.api.values.base import Metadata
from stateward.kube.objects.metadata import Key
from stateward.operator.installations import deletion
from stateward.operator.installations.execution.service_account import Accounts
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from stateward.packages.plans.steady_state import removal_turn
from stateward.packages.rendering.objects import Identity
from stateward.simulation.apiserver.writing.deletion import GarbageCollector
from tests.unit.operator.installations.execution.test_tasks import JOB, SERVICE, package
from tests.unit.operator.installations.execution.test_work import APP
from tests.unit.operator.installations.world import HOME, World

USER = "apiVersion: stateward.dev/v1alpha1\nkind: SearchUser\nmetadata: {name: one, finalizers: [example.com/end]}\n"


@pytest.fixture
async def world() -> World:
    return World()


def controlled(deploy: list[str], version: str = "1.0.0") -> dict[str, bytes]:
    """Return a package with a controller and a resource that only this controller can end."""
    tasks = [{"name": n, "kind": "Apply", "spec": {"resources": [f"{n}.yaml"]}} for n in ("app", "one", "other")]
    return package(tasks, {"deploy": deploy}, version, app=APP, one=USER, other=SERVICE.replace("NAME", "other"))


def end_user(world: World) -> None:
    """Do what the controller does: end the resource."""
    stored = world.store.get("stateward.dev/searchusers", Key(HOME, "one"))
    assert stored is not None
    world.store.remove(stored)


async def test_a_controller_stays_until_its_resources_are_gone(world: World) -> None:
    """Disaster prevented: the controller goes first, and its resources and the installation stay forever."""
    world.package("other-1", controlled(["app", "one"]))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        world.uninstall()
        await world.until(lambda: "SearchUser" in world.status().get("activity", ""))
        await asyncio.sleep(60)
        assert world.get("Deployment", "app")
        end_user(world)
        await world.until(lambda: world.get("Installation", "web") is None)
    assert world.get("Deployment", "app") is None


async def test_the_next_version_is_pruned_in_the_same_order(world: World) -> None:
    world.package("other-1", controlled(["app", "one"]))
    world.package("other-2", controlled(["other"], "2.0.0"))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        world.install("other-2")
        await world.until(lambda: "SearchUser" in world.status().get("activity", ""))
        assert world.get("Deployment", "app")
        end_user(world)
        await world.until(world.ready)
    assert world.get("Deployment", "app") is None


@pytest.mark.parametrize(
    ("group", "kind", "turn"),
    [
        ("example.com", "Widget", 0),
        ("cluster.x-k8s.io", "Cluster", 0),
        ("stateward.dev", "OpenSearchCluster", 0),
        ("", "Service", 1),
        ("apps", "Deployment", 1),
        ("rbac.authorization.k8s.io", "ClusterRole", 1),
        ("stateward.dev", "Installation", 2),
    ],
)
def test_custom_resources_go_first_and_other_packages_last(group: str, kind: str, turn: int) -> None:
    assert removal_turn(Identity(group, kind, "", "one")) == turn


async def test_with_the_namespace_everything_outside_goes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its controller is gone: to wait for one resource would only keep the others."""
    there = [("example.com", "Widget"), ("rbac.authorization.k8s.io", "ClusterRole")]
    owned = [SimpleNamespace(identity=Identity(*kind, "", "one"), kind=kind, body=dict) for kind in there]
    removed: list[Any] = []

    async def listed(*_: Any, **__: Any) -> list[Any]:
        return owned

    async def remove(kind: Any, _body: Any) -> str:
        removed.append(kind)
        return f"{kind} is being deleted"

    monkeypatch.setattr(deletion, "owned_objects", listed)
    applier, tools = cast("Any", SimpleNamespace(remove=remove)), cast("Any", SimpleNamespace(api=None, kinds=None))
    installation = Installation(metadata=Metadata(name="web"), spec=InstallationSpec(package="other-1"))
    await deletion.remove_objects(tools, applier, installation, outside=True)
    assert removed == there
    removed.clear()
    await deletion.remove_objects(tools, applier, installation)
    assert removed == there[:1]


async def test_a_namespace_goes_although_an_installation_in_it_has_no_account_any_more(world: World) -> None:
    """Disaster prevented: the operator's default account was taken away since, and the namespace stays forever."""
    world.package("other-1", controlled(["app"]))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
    async with world.operator(accounts=Accounts(default="")):
        world.forsake(HOME)
        world.uninstall()
        await world.until(lambda: world.get("Installation", "web") is None)
    assert world.get("Deployment", "app"), "it goes with its namespace"


async def test_a_step_that_removes_a_workload_is_not_done_before_its_pods_are_gone(world: World) -> None:
    """Disaster prevented: a plan stops a database, and its next step writes to the volume while the process stops."""
    GarbageCollector(world.store, lambda seconds, do: world.context.later(seconds, do) and None)
    tasks: list[Any] = [
        {"name": "app", "kind": "Apply", "spec": {"resources": ["app.yaml"]}},
        {"name": "stop", "kind": "Delete", "spec": {"resources": ["app.yaml"]}},
        {"name": "job", "kind": "Apply", "spec": {"resources": ["job.yaml"]}},
    ]
    world.package("other-1", package(tasks, {"deploy": ["app"], "restore": ["stop", "job"]}, app=APP, job=JOB))
    world.install("other-1")
    async with world.operator():
        await world.until(world.ready)
        by = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "app", "blockOwnerDeletion": True}
        owner = by | {"uid": world.there("Deployment", "app")["metadata"]["uid"], "controller": True}
        meta = {"name": "app-1", "ownerReferences": [owner], "finalizers": ["example.com/stops"]}
        world.server.create("/pods", HOME, {"metadata": meta, "spec": {"containers": []}})
        world.annotate(ANNOTATION_TRIGGER, "restore/1")
        await world.until(lambda: "deletionTimestamp" in world.there("Pod", "app-1")["metadata"])
        await asyncio.sleep(20)
        assert world.get("Job", "job") is None
        pod = world.store.get("/pods", Key(HOME, "app-1"))
        assert pod is not None
        world.store.remove(pod)
        await world.until(lambda: world.get("Job", "job"))
    assert world.get("Deployment", "app") is None
