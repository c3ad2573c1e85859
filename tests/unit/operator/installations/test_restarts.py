"""When an installation's plan restarts pods, and for what: one case for each thing that decides it."""

import asyncio
from typing import Any

import pytest

from bench.packages import parcel
from stateward.kube.objects.metadata import Key
from stateward.packages.format.yamltext import document, to_yaml
from stateward.packages.restarts.restarts import ANNOTATION_BECAUSE, digest_in, with_digest
from tests.unit.operator.installations.test_properties import Made, Usage
from tests.unit.operator.installations.world import HOME, World

OWN, FOREIGN = Usage("one", "a", "variable"), Usage("theirs", "a", "variable")


def made(order: str, **uses: tuple[Usage, ...]) -> Made:
    """Return a package whose ConfigMaps come in a step `before`, `with` or `after` the workloads."""
    return Made({"web": (), "worker": (), **uses}, order)


def put(world: World, name: str, value: str) -> None:
    """Write a ConfigMap as a user does."""
    live = world.get("ConfigMap", name)
    if live is None:
        world.server.create("/configmaps", HOME, {"metadata": {"name": name}, "data": {"a": value}})
        return
    world.server.update("/configmaps", Key(HOME, name), {**live, "data": {**live["data"], "a": value}})


async def installed(world: World, package: Made) -> None:
    put(world, "theirs", "0")
    world.package("made-1", package.files())
    world.install("made-1")
    await world.until(world.ready)
    world.rollouts.clear()


@pytest.mark.parametrize("order", ["before", "with", "after"])
async def test_data_of_any_step_restarts_its_users_once_and_nothing_else(order: str) -> None:
    world = World()
    async with world.operator():
        await installed(world, made(order, web=(OWN,)))
        world.install("made-1", one_a="1")
        await world.until(world.ready)
    assert world.rollouts == {"web": 1}


async def test_data_that_comes_after_its_users_restarts_them_when_a_plan_of_its_own_changes_it() -> None:
    """The first plan records at its end what the pods have started with; the second one applies no workload."""
    world, texts = World(), made("after", web=(OWN,)).files()
    operator, params = (document(texts[path].decode()) for path in ("operator.yaml", "params.yaml"))
    steps = [{"name": "data", "tasks": ["data"]}]
    operator["plans"]["tune"] = {"phases": [{"name": "main", "steps": steps}]}
    params["parameters"] = [
        each | ({"trigger": "tune"} if each["name"] == "one_a" else {}) for each in params["parameters"]
    ]
    texts |= {"operator.yaml": to_yaml(operator).encode(), "params.yaml": to_yaml(params).encode()}
    api, recorded = world.client(world.way()), list[str]()
    send = api.patch

    async def patch(resource: Any, key: Key, body: Any, **more: Any) -> Any:
        recorded.extend([key.name] if resource.plural == "deployments" else [])
        return await send(resource, key, body, **more)

    api.patch = patch
    async with world.operator(api):
        world.package("made-1", texts)
        world.install("made-1")
        await world.until(world.ready)
        assert world.rollouts == {}
        assert recorded == ["web"]
        world.install("made-1", one_a="1")
        await world.until(lambda: world.status()["run"]["plan"] == "tune" and world.ready())
    assert world.rollouts == {"web": 1}


async def test_a_template_and_data_of_one_step_are_one_restart_however_the_step_names_them() -> None:
    world = World()
    async with world.operator():
        await installed(world, made("with", web=(OWN,)))
        world.install("made-1", one_a="1", args="1")
        await world.until(world.ready)
    assert world.rollouts == {"web": 1, "worker": 1}


async def test_external_data_that_changes_while_a_plan_runs_waits_for_the_plan() -> None:
    world = World()
    async with world.operator():
        await installed(world, made("after", web=(FOREIGN,), worker=(OWN,)))
        world.healthy = False
        world.install("made-1", one_a="1", args="1")
        await world.until(lambda: world.rollouts == {"web": 1, "worker": 1})
        put(world, "theirs", "1")
        world.roll_out()
        await world.until(world.ready)
    assert world.rollouts == {"web": 1, "worker": 2}


async def test_correcting_drift_restarts_no_workload_for_data_that_has_changed_meanwhile() -> None:
    world = World()
    async with world.operator():
        await installed(world, made("with", web=(FOREIGN,)))
        live = world.there("Deployment", "web")
        put(world, "theirs", "1")
        changed = {**live, "metadata": {**live["metadata"], "labels": {**live["metadata"]["labels"], "of": "other"}}}
        world.server.update("apps/deployments", Key(HOME, "web"), changed)
        await world.until(lambda: world.there("Deployment", "web")["metadata"]["labels"]["of"] == "l0")
    assert world.rollouts == {}


async def test_data_that_others_changed_is_put_right_before_pods_are_checked() -> None:
    """The disaster this prevents: pods start with a value that is gone a moment later."""
    world = World()
    async with world.operator():
        await installed(world, made("with", web=(OWN,)))
        put(world, "one", "by hand")
        world.install("made-1", count="3")
        await world.until(lambda: world.ready() and world.there("Deployment", "web")["spec"]["replicas"] == 3)
    assert world.rollouts == {}
    assert world.there("ConfigMap", "one")["data"]["a"] == "0"


async def test_what_the_last_restart_was_for_is_reported_until_the_next_one() -> None:
    world = World()
    async with world.operator():
        await installed(world, made("with", web=(OWN,)))
        world.install("made-1", one_a="1")
        await world.until(world.ready)
        world.install("made-1", one_a="1", label="new")
        await world.until(
            lambda: world.ready() and world.there("Deployment", "web")["metadata"]["labels"]["of"] == "lnew"
        )
    notes = world.there("Deployment", "web")["metadata"]["annotations"]
    assert notes[ANNOTATION_BECAUSE] == "ConfigMap/one:a"
    assert world.rollouts == {"web": 1}


async def test_a_restart_at_the_end_of_a_plan_is_of_the_workload_that_was_read() -> None:
    world = World()
    api, patches = world.client(world.way()), list[Any]()
    send = api.patch

    async def patch(resource: Any, key: Key, body: Any, **more: Any) -> Any:
        if resource.plural == "deployments":
            patches.append(body["metadata"])
        return await send(resource, key, body, **more)

    api.patch = patch
    async with world.operator(api):
        await installed(world, made("after", web=(OWN,)))
        world.install("made-1", one_a="1")
        await world.until(world.ready)
    assert world.rollouts == {"web": 1}
    assert patches
    assert all(meta.get("resourceVersion") for meta in patches)


async def test_a_new_version_leaves_what_pods_have_seen_on_a_workload_that_says_nothing_of_its_size() -> None:
    world, sizeless = World(), ("  replicas: {{ .Params.COUNT }}\n", "")
    async with world.operator():
        world.package("shop-1", app=sizeless)
        world.install("shop-1")
        await world.until(world.ready)
        world.package("shop-2", app=sizeless, operator=('operatorVersion: "1.2.0"', 'operatorVersion: "1.3.0"'))
        world.install("shop-2")
        await world.until(lambda: world.ready() and world.status()["installed"]["package"] == "shop-2")
        assert world.rollouts == {}
        world.install("shop-2", MODE="fast")
        await world.until(world.ready)
    assert world.rollouts == {"web": 1}


async def test_a_digest_that_restart_control_has_changed_stays_when_the_workload_is_applied_again() -> None:
    """The disaster this prevents: an apply sets the digest that the operator wrote last, and all pods restart."""
    world = World()
    texts = parcel.files()
    world.package("parcel-1.0.0", texts)
    later = texts["operator.yaml"].replace(b"1.0.0", b"1.0.1")
    world.package("parcel-1.0.1", {**texts, "operator.yaml": later})
    put(world, "outside-web", "0")
    async with world.operator():
        world.install("parcel-1.0.0")
        await world.until(world.ready)
        await asyncio.sleep(30.0)
        live = world.there("Deployment", "web")
        world.server.update("apps/deployments", Key(HOME, "web"), with_digest(live, "of-restart-control"))
        await asyncio.sleep(30.0)
        world.install("parcel-1.0.1")
        await world.until(lambda: world.status()["installed"]["version"] == "1.0.1")
    assert digest_in(world.there("Deployment", "web")) == "of-restart-control"
    assert world.rollouts == {"web": 1}
