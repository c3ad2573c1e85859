"""When an installation's plan restarts pods, and for what: one case for each thing that decides it."""

from typing import Any

import pytest

from stateward.kube.objects.metadata import Key
from stateward.packages.restarts.restarts import ANNOTATION_BECAUSE
from tests.unit.operator.installations.test_properties import Made, Usage
from tests.unit.operator.installations.town import HOME, Town

OWN, FOREIGN = Usage("one", "a", "variable"), Usage("theirs", "a", "variable")


def made(order: str, **uses: tuple[Usage, ...]) -> Made:
    """Return a package whose ConfigMaps come in a step `before`, `with` or `after` the workloads."""
    return Made({"web": (), "worker": (), **uses}, order)


def put(town: Town, name: str, value: str) -> None:
    """Write a ConfigMap as a person does."""
    live = town.get("ConfigMap", name)
    if live is None:
        town.server.create("/configmaps", HOME, {"metadata": {"name": name}, "data": {"a": value}})
        return
    town.server.update("/configmaps", Key(HOME, name), {**live, "data": {**live["data"], "a": value}})


async def installed(town: Town, package: Made) -> None:
    put(town, "theirs", "0")
    town.package("made-1", package.files())
    town.install("made-1")
    await town.until(town.ready)
    town.rollouts.clear()


@pytest.mark.parametrize("order", ["before", "with", "after"])
async def test_data_of_any_step_restarts_who_uses_it_once_and_nobody_else(order: str) -> None:
    town = Town()
    async with town.operator():
        await installed(town, made(order, web=(OWN,)))
        town.install("made-1", one_a="1")
        await town.until(town.ready)
    assert town.rollouts == {"web": 1}


async def test_a_template_and_data_of_one_step_are_one_restart_however_the_step_names_them() -> None:
    town = Town()
    async with town.operator():
        await installed(town, made("with", web=(OWN,)))
        town.install("made-1", one_a="1", args="1")
        await town.until(town.ready)
    assert town.rollouts == {"web": 1, "worker": 1}


async def test_data_of_others_that_changes_while_a_plan_runs_waits_for_whoever_asks_for_it() -> None:
    town = Town()
    async with town.operator():
        await installed(town, made("after", web=(FOREIGN,), worker=(OWN,)))
        town.healthy = False
        town.install("made-1", one_a="1", args="1")
        await town.until(lambda: town.rollouts == {"web": 1, "worker": 1})
        put(town, "theirs", "1")
        town.roll_out()
        await town.until(town.ready)
    assert town.rollouts == {"web": 1, "worker": 2}


async def test_putting_right_what_others_changed_restarts_nobody_for_data_that_has_changed_meanwhile() -> None:
    town = Town()
    async with town.operator():
        await installed(town, made("with", web=(FOREIGN,)))
        live = town.there("Deployment", "web")
        put(town, "theirs", "1")
        changed = {**live, "metadata": {**live["metadata"], "labels": {**live["metadata"]["labels"], "of": "other"}}}
        town.server.update("apps/deployments", Key(HOME, "web"), changed)
        await town.until(lambda: town.there("Deployment", "web")["metadata"]["labels"]["of"] == "l0")
    assert town.rollouts == {}


async def test_data_that_others_changed_is_put_right_before_pods_are_looked_at() -> None:
    """The disaster this prevents: pods start with a value that is gone a moment later."""
    town = Town()
    async with town.operator():
        await installed(town, made("with", web=(OWN,)))
        put(town, "one", "by hand")
        town.install("made-1", count="3")
        await town.until(lambda: town.ready() and town.there("Deployment", "web")["spec"]["replicas"] == 3)
    assert town.rollouts == {}
    assert town.there("ConfigMap", "one")["data"]["a"] == "0"


async def test_what_the_last_restart_was_for_is_said_until_the_next_one() -> None:
    town = Town()
    async with town.operator():
        await installed(town, made("with", web=(OWN,)))
        town.install("made-1", one_a="1")
        await town.until(town.ready)
        town.install("made-1", one_a="1", label="new")
        await town.until(lambda: town.ready() and town.there("Deployment", "web")["metadata"]["labels"]["of"] == "lnew")
    notes = town.there("Deployment", "web")["metadata"]["annotations"]
    assert notes[ANNOTATION_BECAUSE] == "ConfigMap/one:a"
    assert town.rollouts == {"web": 1}


async def test_a_restart_at_the_end_of_a_plan_is_of_the_workload_that_was_read() -> None:
    town = Town()
    api, patches = town.client(town.way()), list[Any]()
    send = api.patch

    async def patch(resource: Any, key: Key, body: Any, **more: Any) -> Any:
        if resource.plural == "deployments":
            patches.append(body["metadata"])
        return await send(resource, key, body, **more)

    api.patch = patch
    async with town.operator(api):
        await installed(town, made("after", web=(OWN,)))
        town.install("made-1", one_a="1")
        await town.until(town.ready)
    assert town.rollouts == {"web": 1}
    assert patches
    assert all(meta.get("resourceVersion") for meta in patches)


async def test_a_new_version_leaves_what_pods_have_seen_on_a_workload_that_says_nothing_of_its_size() -> None:
    town, sizeless = Town(), ("  replicas: {{ .Params.COUNT }}\n", "")
    async with town.operator():
        town.package("shop-1", app=sizeless)
        town.install("shop-1")
        await town.until(town.ready)
        town.package("shop-2", app=sizeless, operator=('operatorVersion: "1.2.0"', 'operatorVersion: "1.3.0"'))
        town.install("shop-2")
        await town.until(lambda: town.ready() and town.status()["installed"]["package"] == "shop-2")
        assert town.rollouts == {}
        town.install("shop-2", MODE="fast")
        await town.until(town.ready)
    assert town.rollouts == {"web": 1}
