"""One object, and two installations that make it: the first has it, the second waits, with the shipped controller."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.packages.plans.steps import LABEL_INSTALLATION
from tests.unit.operator.installations.execution.test_tasks import SERVICE, package
from tests.unit.operator.installations.test_lost_key import CONFIG
from tests.unit.operator.installations.world import World


@pytest.fixture
async def world() -> World:
    return World()


def services(*names: str, version: str = "1.0.0") -> dict[str, bytes]:
    tasks: list[Any] = [{"name": name, "kind": "Apply", "spec": {"resources": [f"{name}.yaml"]}} for name in names]
    texts = {name: SERVICE.replace("NAME", name) for name in names}
    return package(tasks, {"deploy": list(names)}, version, **texts)


def owner(world: World, name: str) -> str:
    return world.there("Service", name)["metadata"]["labels"][LABEL_INSTALLATION]


def waits_for(world: World, name: str) -> str:
    return world.condition("Stalled", name).get("message", "")


@pytest.mark.parametrize("adopt", [False, True])
async def test_the_second_waits_names_the_first_and_neither_changes_nor_prunes_what_is_its(
    world: World, *, adopt: bool
) -> None:
    world.package("other-1", services("shared"))
    world.package("other-2", services("own", "shared", version="2.0.0"))
    world.package("other-3", services("own", version="3.0.0"))
    world.install("other-1", "first")
    async with world.operator():
        await world.until(lambda: world.ready("first"))
        before = world.there("Service", "shared")
        world.install("other-2", "second", spec={"adopt": adopt})
        await world.until(lambda: waits_for(world, "second"))
        said = waits_for(world, "second")
        assert said.startswith("main/shared: Service prod/shared belongs to installation prod/first")
        assert owner(world, "own") == "second"
        world.install("other-3", "second", spec={"adopt": adopt})  # It does without: what it never had stays.
        await world.until(lambda: world.ready("second"))
        assert world.there("Service", "shared") == before
        world.install("other-2", "second", spec={"adopt": adopt})
        await world.until(lambda: waits_for(world, "second"))
        world.uninstall("second")
        await world.until(lambda: world.get("Installation", "second") is None)
        assert world.there("Service", "shared") == before
        assert world.get("Service", "own") is None


async def test_a_task_that_deletes_takes_away_nothing_of_others(world: World) -> None:
    """Disaster prevented: a package removes an object of another installation or of a user."""
    names = ("shared", "person")
    tasks: list[Any] = [{"name": "away", "kind": "Delete", "spec": {"resources": [f"{name}.yaml" for name in names]}}]
    texts = {name: SERVICE.replace("NAME", name) for name in names}
    world.package("other-1", services("shared"))
    world.package("other-2", package(tasks, {"deploy": ["away"]}, "2.0.0", **texts))
    world.server.create("/services", "prod", {"metadata": {"name": "person"}, "spec": {"ports": [{"port": 80}]}})
    world.install("other-1", "first")
    async with world.operator():
        await world.until(lambda: world.ready("first"))
        world.install("other-2", "second", spec={"adopt": True})
        await world.until(lambda: world.ready("second"))
    assert owner(world, "shared") == "first"
    assert world.there("Service", "person")


async def test_what_the_first_gives_up_the_second_makes(world: World) -> None:
    world.package("other-1", services("shared"))
    world.install("other-1", "first")
    async with world.operator():
        await world.until(lambda: world.ready("first"))
        world.install("other-1", "second")
        await world.until(lambda: waits_for(world, "second"))
        world.uninstall("first")
        await world.until(lambda: world.ready("second"))
    assert owner(world, "shared") == "second"
    assert world.get("Installation", "first") is None


async def test_two_that_begin_at_once_do_not_both_find_nothing(world: World) -> None:
    world.package("other-1", services("shared"))
    world.install("other-1", "first")
    world.install("other-1", "second")

    class Slow:
        """A client whose answers are old when they arrive."""

        def acting_as(self, _user: str) -> Any:
            return self

        def __getattr__(self, name: str) -> Any:
            return getattr(world.api, name)

        async def get(self, resource: Any, key: Any) -> Any:
            found = world.get("Service", "shared") if resource.kind == "Service" else None
            if resource.kind != "Service":
                return await world.api.get(resource, key)
            await asyncio.sleep(1.0)
            if found is None:
                raise NotFound("there was no such service a second ago")
            return found

    async with world.operator(Slow()):
        await world.until(lambda: world.ready("first") or world.ready("second"))
        had = owner(world, "shared")
        other = "second" if had == "first" else "first"
        await world.until(lambda: f"belongs to installation prod/{had}" in waits_for(world, other))
        await asyncio.sleep(60)
        assert owner(world, "shared") == had
        assert not world.ready(other)


class Late:
    """A client that a user overtakes: right before the next apply to a ConfigMap, once `next` is set, they do `act`."""

    def __init__(self, world: World, act: Callable[[], None]) -> None:
        self.next = False
        self._world, self._act = world, act

    def acting_as(self, _user: str) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world.api, name)

    async def apply(self, resource: Any, key: Any, body: Any, options: Any) -> Any:
        if resource.kind == "ConfigMap" and self.next:
            self.next = False
            self._act()
        return await self._world.api.apply(resource, key, body, options)


@pytest.mark.parametrize("mine", [{"of": "person"}, {"of": "first"}, {"another": "field"}])
async def test_what_a_user_makes_right_before_the_apply_is_not_taken_from_them(
    world: World, mine: dict[str, str]
) -> None:
    tasks: list[Any] = [{"name": "config", "kind": "Apply", "spec": {"resources": ["config.yaml"]}}]
    world.package("other-1", package(tasks, {"deploy": ["config"]}, config=CONFIG))
    world.install("other-1", "first")

    def made() -> None:
        world.server.create("/configmaps", "prod", {"metadata": {"name": "config"}, "data": mine})

    late = Late(world, made)
    late.next = True
    async with world.operator(late):
        await world.until(lambda: "already exists" in waits_for(world, "first"))
    theirs = world.there("ConfigMap", "config")
    assert theirs["data"] == mine
    assert "labels" not in theirs["metadata"]


@pytest.mark.parametrize("missing", [False, True])
async def test_what_a_user_puts_in_the_place_of_an_object_is_not_taken_by_its_repair(
    world: World, *, missing: bool
) -> None:
    """A user removes an object, or another client changes it; a user makes an own one right before it is repaired."""
    tasks: list[Any] = [{"name": "config", "kind": "Apply", "spec": {"resources": ["config.yaml"]}}]
    world.package("other-1", package(tasks, {"deploy": ["config"]}, config=CONFIG))
    world.install("other-1", "first")
    place = Key("prod", "config")

    def removed() -> None:
        exact = DeleteOptions(Preconditions(world.there("ConfigMap", "config")["metadata"]["uid"]))
        world.server.delete("/configmaps", place, exact)

    def made() -> None:
        if not missing:
            removed()
        world.server.create("/configmaps", "prod", {"metadata": {"name": "config"}, "data": {"their": "own"}})

    late = Late(world, made)
    async with world.operator(late):
        await world.until(lambda: world.ready("first"))
        late.next = True
        live = world.there("ConfigMap", "config")
        if missing:
            removed()
        else:
            world.server.update("/configmaps", place, {**live, "data": {"of": "another"}})
        await world.until(lambda: "already exists" in waits_for(world, "first"))
    theirs = world.there("ConfigMap", "config")
    assert theirs["data"] == {"their": "own"}
    assert "labels" not in theirs["metadata"]
