"""One object, and two installations that make it: the first has it, the second waits, with the shipped controller."""

import asyncio
from typing import Any

import pytest

from stateward.kube.objects.errors import NotFound
from stateward.packages.plans.steps import LABEL_INSTALLATION
from tests.unit.operator.installations.test_lost_key import CONFIG
from tests.unit.operator.installations.test_tasks import SERVICE, package
from tests.unit.operator.installations.town import Town


@pytest.fixture
async def town() -> Town:
    return Town()


def services(*names: str, version: str = "1.0.0") -> dict[str, bytes]:
    tasks: list[Any] = [{"name": name, "kind": "Apply", "spec": {"resources": [f"{name}.yaml"]}} for name in names]
    texts = {name: SERVICE.replace("NAME", name) for name in names}
    return package(tasks, {"deploy": list(names)}, version, **texts)


def owner(town: Town, name: str) -> str:
    return town.there("Service", name)["metadata"]["labels"][LABEL_INSTALLATION]


def waits_for(town: Town, name: str) -> str:
    return town.condition("Stalled", name).get("message", "")


@pytest.mark.parametrize("adopt", [False, True])
async def test_the_second_waits_names_the_first_and_neither_changes_nor_prunes_what_is_its(
    town: Town, *, adopt: bool
) -> None:
    town.package("other-1", services("shared"))
    town.package("other-2", services("own", "shared", version="2.0.0"))
    town.package("other-3", services("own", version="3.0.0"))
    town.install("other-1", "first")
    async with town.operator():
        await town.until(lambda: town.ready("first"))
        before = town.there("Service", "shared")
        town.install("other-2", "second", spec={"adopt": adopt})
        await town.until(lambda: waits_for(town, "second"))
        said = waits_for(town, "second")
        assert said.startswith("main/shared: Service prod/shared belongs to installation prod/first")
        assert owner(town, "own") == "second"
        town.install("other-3", "second", spec={"adopt": adopt})  # It does without: what it never had stays.
        await town.until(lambda: town.ready("second"))
        assert town.there("Service", "shared") == before
        town.install("other-2", "second", spec={"adopt": adopt})
        await town.until(lambda: waits_for(town, "second"))
        town.uninstall("second")
        await town.until(lambda: town.get("Installation", "second") is None)
        assert town.there("Service", "shared") == before
        assert town.get("Service", "own") is None


async def test_a_task_that_deletes_takes_away_nothing_of_others(town: Town) -> None:
    """Disaster prevented: a package removes what it calls its own, and it is another installation's, or a person's."""
    names = ("shared", "person")
    tasks: list[Any] = [{"name": "away", "kind": "Delete", "spec": {"resources": [f"{name}.yaml" for name in names]}}]
    texts = {name: SERVICE.replace("NAME", name) for name in names}
    town.package("other-1", services("shared"))
    town.package("other-2", package(tasks, {"deploy": ["away"]}, "2.0.0", **texts))
    town.server.create("/services", "prod", {"metadata": {"name": "person"}, "spec": {"ports": [{"port": 80}]}})
    town.install("other-1", "first")
    async with town.operator():
        await town.until(lambda: town.ready("first"))
        town.install("other-2", "second", spec={"adopt": True})
        await town.until(lambda: town.ready("second"))
    assert owner(town, "shared") == "first"
    assert town.there("Service", "person")


async def test_what_the_first_gives_up_the_second_makes(town: Town) -> None:
    town.package("other-1", services("shared"))
    town.install("other-1", "first")
    async with town.operator():
        await town.until(lambda: town.ready("first"))
        town.install("other-1", "second")
        await town.until(lambda: waits_for(town, "second"))
        town.uninstall("first")
        await town.until(lambda: town.ready("second"))
    assert owner(town, "shared") == "second"
    assert town.get("Installation", "first") is None


async def test_two_that_begin_at_once_do_not_both_find_nothing(town: Town) -> None:
    town.package("other-1", services("shared"))
    town.install("other-1", "first")
    town.install("other-1", "second")

    class Slow:
        """A client whose answers are old when they arrive."""

        def acting_as(self, _user: str) -> Any:
            return self

        def __getattr__(self, name: str) -> Any:
            return getattr(town.api, name)

        async def get(self, resource: Any, key: Any) -> Any:
            found = town.get("Service", "shared") if resource.kind == "Service" else None
            if resource.kind != "Service":
                return await town.api.get(resource, key)
            await asyncio.sleep(1.0)
            if found is None:
                raise NotFound("there was no such service a second ago")
            return found

    async with town.operator(Slow()):
        await town.until(lambda: town.ready("first") or town.ready("second"))
        had = owner(town, "shared")
        other = "second" if had == "first" else "first"
        await town.until(lambda: f"belongs to installation prod/{had}" in waits_for(town, other))
        await asyncio.sleep(60)
        assert owner(town, "shared") == had
        assert not town.ready(other)


async def test_what_a_person_makes_between_the_look_and_the_making_is_not_taken_from_them(town: Town) -> None:
    tasks: list[Any] = [{"name": "config", "kind": "Apply", "spec": {"resources": ["config.yaml"]}}]
    town.package("other-1", package(tasks, {"deploy": ["config"]}, config=CONFIG))
    town.install("other-1", "first")

    class Late:
        """A client that sees a ConfigMap of a person's only when it looks for the second time."""

        looked = False

        def acting_as(self, _user: str) -> Any:
            return self

        def __getattr__(self, name: str) -> Any:
            return getattr(town.api, name)

        async def get(self, resource: Any, key: Any) -> Any:
            if resource.kind != "ConfigMap" or self.looked:
                return await town.api.get(resource, key)
            self.looked = True
            mine = {"metadata": {"name": "config"}, "data": {"of": "person"}}
            town.server.create("/configmaps", "prod", mine)
            raise NotFound("there was no such map a moment ago")

    async with town.operator(Late()):
        await town.until(lambda: "already exists" in waits_for(town, "first"))
    assert town.there("ConfigMap", "config")["data"] == {"of": "person"}
