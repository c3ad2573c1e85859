"""Installations on a real API server: plans, restarts, drift, what is pruned, and their end."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects.errors import Invalid
from stateward.kube.objects.resources import CONFIG_MAPS, SERVICES
from stateward.operator.installations.objects.views import INSTALLATIONS, PACKAGES
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from stateward.packages.restarts.restarts import ANNOTATION_BECAUSE
from tests.integration.api_server import JOBS, ROOT, define, own_namespace
from tests.integration.packaged import DEPLOYMENTS, Place

pytestmark = pytest.mark.integration


@pytest.fixture
async def place(control_plane: Path) -> AsyncGenerator[Place]:
    async with own_namespace(control_plane, "packages") as (api, namespace):
        await define(api, PACKAGES, INSTALLATIONS)
        yield Place(api, namespace)


async def test_the_life_of_an_installation(place: Place) -> None:
    await place.package("shop-1.2.0")
    await place.install("shop-1.2.0", COUNT=2)
    async with place.operator():
        body = await place.ready()
        assert [(run["plan"], run["stage"]) for run in body["status"]["history"]] == [("deploy", "Done")]
        first = (await place.there(DEPLOYMENTS, "web"))["spec"]["template"]

        await place.change(parameters={"COUNT": 3})
        await place.ready()
        live = await place.there(DEPLOYMENTS, "web")
        assert live["spec"]["replicas"] == 3
        assert live["spec"]["template"] == first

        await place.change(parameters={"MODE": "fast"})
        await place.ready()
        live = await place.there(DEPLOYMENTS, "web")
        assert live["spec"]["template"] != first
        assert live["metadata"]["annotations"][ANNOTATION_BECAUSE] == "ConfigMap/web-config:mode"
        second = live["spec"]["template"]

        await place.package("shop-1.3.0", operator=('operatorVersion: "1.2.0"', 'operatorVersion: "1.3.0"'))
        await place.change(package="shop-1.3.0")
        body = await place.ready()
        assert body["status"]["installed"]["version"] == "1.3.0"
        assert (await place.there(DEPLOYMENTS, "web"))["spec"]["template"] == second

        await place.annotate(ANNOTATION_TRIGGER, "backup/1")
        await place.until(INSTALLATIONS, "web", lambda body: body and body["status"].get("lastRequest") == "backup/1")
        await place.ready()
        assert await place.there(JOBS, "backup-job")

        body = await place.there(INSTALLATIONS, "web")
        await place.api.delete(INSTALLATIONS, place.key("web"), DeleteOptions(Preconditions(body["metadata"]["uid"])))
        await place.until(INSTALLATIONS, "web", lambda body: body is None)
        assert await place.get(DEPLOYMENTS, "web") is None
        assert await place.get(CONFIG_MAPS, "web-config") is None


async def test_what_others_change_is_put_right_and_what_is_not_rendered_any_more_goes(place: Place) -> None:
    await place.package("shop-1.2.0")
    await place.install("shop-1.2.0", EXTRA=True)
    async with place.operator():
        await place.ready()
        before = (await place.there(DEPLOYMENTS, "web"))["spec"]["template"]
        await place.api.patch(CONFIG_MAPS, place.key("web-config"), {"data": {"mode": "x"}}, kind=PatchKind.MERGE)
        await place.until(CONFIG_MAPS, "web-config", lambda body: body and body["data"]["mode"] == "slow")
        found = await place.there(SERVICES, "web-extra")
        exact = DeleteOptions(Preconditions(found["metadata"]["uid"]))
        await place.api.delete(SERVICES, place.key("web-extra"), exact)
        await place.until(SERVICES, "web-extra", lambda body: body)
        assert (await place.there(DEPLOYMENTS, "web"))["spec"]["template"] == before

        await place.package(
            "shop-1.4.0", operator=('operatorVersion: "1.2.0"', 'operatorVersion: "1.4.0"'), extra=("-extra}", "-more}")
        )
        await place.change(package="shop-1.4.0")
        await place.ready()
        assert await place.there(SERVICES, "web-more")
        assert await place.get(SERVICES, "web-extra") is None


async def test_a_package_cannot_be_changed(place: Place) -> None:
    await place.package("shop-1.2.0")
    patch = {"spec": {"version": "1.2.1"}}
    with pytest.raises(Invalid, match="a package cannot be changed"):
        await place.api.patch(PACKAGES, place.key("shop-1.2.0"), patch, kind=PatchKind.MERGE)


GIVEN = next((p / "shared/data/packages" for p in ROOT.parents if (p / "shared/data/packages").exists()), None)
"""Packages that are given to who builds this, where they are."""


@pytest.mark.parametrize("name", ["cowsay", "first-operator", "mysql", "redis"])
async def test_packages_of_others_are_installed_as_they_are(place: Place, name: str) -> None:
    if GIVEN is None:
        pytest.skip("the packages of others are not on this machine (../shared/data/packages)")
    content = {str(path.relative_to(GIVEN / name)): path.read_bytes() for path in (GIVEN / name).rglob("*.yaml")}
    await place.package(name, content)
    await place.install(name)
    async with place.operator():
        body = await place.ready()
    assert [(run["plan"], run["stage"]) for run in body["status"]["history"]] == [("deploy", "Done")]
