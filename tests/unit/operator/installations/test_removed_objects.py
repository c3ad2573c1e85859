"""What a requested plan deletes stays deleted, and all the rest is kept as installed, with the shipped controller."""

import asyncio
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.api.kinds.installation import RemovedObject
from stateward.kube.objects.metadata import Key
from stateward.operator.installations.execution.worker import NotNowError
from stateward.operator.installations.removed_objects import removed_objects
from stateward.packages.format.reading import read_package
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from stateward.packages.plans.steady_state import removed_after
from stateward.packages.plans.steps import Work
from stateward.packages.rendering.objects import Identity, Rendered
from stateward.packages.rendering.rendering import Place, Use, places
from tests.unit.operator.installations.execution.test_tasks import JOB, SERVICE, package
from tests.unit.operator.installations.execution.test_work import APP, FAILED, ended
from tests.unit.operator.installations.world import HOME, World


@pytest.fixture
async def world() -> World:
    world = World()
    world.package("other-1", stopping())
    world.install("other-1")
    return world


def stopping(version: str = "1.0.0", deploy: Iterable[str] = ("one", "app")) -> dict[str, bytes]:
    """Return a package whose plan `stop` deletes the Deployment and then runs a Job."""
    tasks = [{"name": n, "kind": "Apply", "spec": {"resources": [f"{n}.yaml"]}} for n in ("one", "app", "job")]
    tasks.append({"name": "gone", "kind": "Delete", "spec": {"resources": ["app.yaml"]}})
    plans = {
        "deploy": list(deploy),
        "stop": ["gone", "job"],
        "again": ["gone", "app"],
        "restore": ["gone", "job", "app"],
        "cleanup": ["gone"],
    }
    return package(tasks, plans, version, one=SERVICE.replace("NAME", "one"), app=APP, job=JOB)


def deleted(world: World, kind: str, name: str) -> None:
    """Delete an object, as a stranger does."""
    plural = {"Service": "/services", "Deployment": "apps/deployments"}[kind]
    stored = world.store.get(plural, Key(HOME, name))
    assert stored is not None
    world.store.remove(stored)


async def test_what_a_requested_plan_deletes_stays_deleted_until_a_plan_applies_it_again(world: World) -> None:
    async with world.operator():
        await world.until(world.ready)
        world.annotate(ANNOTATION_TRIGGER, "stop/1")
        await world.until(lambda: ended(world, 2))
        assert world.status()["removed"] == [{"group": "apps", "kind": "Deployment", "name": "app"}]
        deleted(world, "Service", "one")
        await world.until(lambda: world.get("Service", "one"))
        assert world.get("Deployment", "app") is None
    async with world.operator():  # The next process knows it too.
        await asyncio.sleep(1300)
        assert world.get("Deployment", "app") is None
        world.annotate(ANNOTATION_TRIGGER, "deploy/1")
        await world.until(lambda: ended(world, 3))
        assert "removed" not in world.status() or not world.status()["removed"]
        deleted(world, "Deployment", "app")
        await world.until(lambda: world.get("Deployment", "app"))


@pytest.mark.parametrize("plan", ["stop", "restore"])
async def test_what_a_failed_request_has_deleted_is_not_recreated_and_drift_of_the_rest_is_corrected(
    world: World, plan: str
) -> None:
    """Disaster prevented: a restore stops the database and fails, and the database is started on half of its data."""
    async with world.operator():
        await world.until(world.ready)
        world.healthy = False
        world.annotate(ANNOTATION_TRIGGER, f"{plan}/1")
        await world.until(lambda: world.get("Job", "job"))
        world.say("Job", "job", FAILED)
        await world.until(lambda: world.condition("Stalled").get("reason") == "PlanFailed")
        deleted(world, "Service", "one")
        await world.until(lambda: world.get("Service", "one"))
        await asyncio.sleep(1300)
        assert world.get("Deployment", "app") is None
        assert world.condition("Stalled")["reason"] == "PlanFailed"


async def test_a_plan_that_deletes_and_recreates_leaves_nothing_removed(world: World) -> None:
    async with world.operator():
        await world.until(world.ready)
        world.annotate(ANNOTATION_TRIGGER, "again/1")
        await world.until(lambda: ended(world, 2))
        assert not world.status().get("removed")
        deleted(world, "Deployment", "app")
        await world.until(lambda: world.get("Deployment", "app"))


async def test_a_requested_cleanup_stays_cleaned_up(world: World) -> None:
    async with world.operator():
        await world.until(world.ready)
        world.annotate(ANNOTATION_TRIGGER, "cleanup/web")
        await world.until(lambda: ended(world, 2))
        await asyncio.sleep(1300)
        assert world.get("Deployment", "app") is None
        assert world.get("Service", "one")


async def test_what_the_next_version_does_not_have_is_not_recorded_any_longer(world: World) -> None:
    world.package("other-2", stopping("2.0.0", deploy=["one"]))
    async with world.operator():
        await world.until(world.ready)
        world.annotate(ANNOTATION_TRIGGER, "stop/1")
        await world.until(lambda: ended(world, 2))
        world.install("other-2")
        await world.until(lambda: ended(world, 3))
        assert not world.status().get("removed")


@pytest.mark.parametrize(("edit", "reason"), [({"NO": "such"}, "ParametersInvalid"), (None, "PackageMissing")])
async def test_drift_is_corrected_while_an_edit_is_refused(
    world: World, edit: dict[str, str] | None, reason: str
) -> None:
    async with world.operator():
        await world.until(world.ready)
        world.install("other-1" if edit else "nothing-1", **(edit or {}))
        await world.until(lambda: world.condition("Stalled").get("reason") == reason)
        deleted(world, "Service", "one")
        await world.until(lambda: world.get("Service", "one"))
        assert world.condition("Stalled")["reason"] == reason


async def test_what_stands_in_the_way_is_told_once_and_stays_told(world: World) -> None:
    """Without its package nothing can be put right; each look used to say Ready first, and then that again."""
    async with world.operator():
        await world.until(world.ready)
        stored = world.store.get("stateward.dev/swpackages", Key(HOME, "other-1"))
        assert stored is not None
        world.store.remove(stored)
        world.install("nothing-1")
        await world.until(lambda: world.condition("Stalled").get("reason") == "PackageMissing")
        deleted(world, "Service", "one")
        await world.until(lambda: "cannot be reverted" in world.condition("Stalled")["message"])
        before = world.there("Installation", "web")["metadata"]["resourceVersion"]
        await asyncio.sleep(1300)
        assert world.there("Installation", "web")["metadata"]["resourceVersion"] == before
        world.package("other-1", stopping())
        world.install("other-1")
        await world.until(world.ready)
        assert world.there("Service", "one")


async def test_a_plan_begins_only_when_it_is_known_what_it_deletes(world: World) -> None:
    """Without a process for rendering it is not known, and the installation says that it waits for that."""
    busy = True

    async def sometimes(job: Any) -> Any:
        if busy:
            raise NotNowError("packages cannot be processed now")
        return job.do()

    async with world.operator(background=sometimes):
        await world.until(lambda: world.condition("Stalled").get("reason") == "StepRetried")
        assert "run" not in world.status()
        busy = False
        await world.until(world.ready)


async def test_what_may_be_an_object_of_the_plan_deploy_is_recorded_if_that_cannot_be_rendered() -> None:
    package = read_package(stopping())
    use, gone = Use(package, "web", HOME), Work((), made("a"), ())

    async def renderable(_use: Use, _plan: str) -> dict[Place, Work]:
        return {}

    steps: Any = SimpleNamespace(renderable=renderable)
    works = {next(places(package, "stop")): gone}
    found = await removed_objects(steps, use, works, [], done=False)
    assert found == [RemovedObject(group="", kind="Service", name="a")]


NAMES = "abc"
STEPS = st.lists(st.tuples(st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES))), max_size=4)


def made(names: Iterable[str]) -> tuple[Rendered, ...]:
    return tuple(
        Rendered("t.yaml", {"apiVersion": "v1", "kind": "Service", "metadata": {"name": n}}) for n in sorted(names)
    )


@given(STEPS, st.sets(st.sampled_from(NAMES)), st.none() | st.sets(st.sampled_from(NAMES)))
def test_only_what_a_plan_applies_last_is_there_again(
    steps: list[tuple[set[str], set[str]]], before: set[str], deployed: set[str] | None
) -> None:
    works = [Work(made(applied - gone), made(gone), ()) for applied, gone in steps]
    earlier = [RemovedObject(group="", kind="Service", name=name) for name in before]
    known = None if deployed is None else {Identity("", "Service", "", name) for name in deployed}
    begun = {found.name for found in removed_after(earlier, works, done=False, deployed=known)}
    done = {found.name for found in removed_after(earlier, works, done=True, deployed=known)}
    for name in NAMES:
        words = [("gone" if name in gone else "there") for applied, gone in steps if name in applied | gone]
        recorded = deployed is None or name in deployed
        assert (name in begun) == (recorded and (name in before or "gone" in words))
        last = words[-1] if words else ("gone" if name in before else "there")
        assert (name in done) == (recorded and last == "gone")
