"""The operator in its own image opens a package, applies it with the rights of its account, and takes it away again."""

import pytest

from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.resources import CONFIG_MAPS
from tests.e2e.packages.package_namespace import PackageNamespace, plans
from tests.integration.rights.tenants import package

pytestmark = pytest.mark.e2e


async def test_a_package_is_installed_and_removed(place: PackageNamespace) -> None:
    greeting = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "greeting"}, "data": {"word": "hello"}}
    await place.install(await place.package(package(greeting)), "app")
    assert plans(await place.ready("app")) == [("deploy", "Done")]
    assert (await place.api.get(CONFIG_MAPS.raw(), place.key("greeting")))["data"] == {"word": "hello"}
    await place.uninstall("app")
    with pytest.raises(NotFound):
        await place.api.get(CONFIG_MAPS.raw(), place.key("greeting"))
