"""The operator in its own image opens a package, applies it with the rights of its account, and takes it away again."""

import pytest

from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.resources import CONFIG_MAPS
from tests.e2e.packages.ground import Ground, plans
from tests.integration.tenants import package

pytestmark = pytest.mark.e2e


async def test_a_package_is_installed_and_removed(ground: Ground) -> None:
    greeting = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "greeting"}, "data": {"word": "hello"}}
    await ground.install(await ground.package(package(greeting)), "app")
    assert plans(await ground.ready("app")) == [("deploy", "Done")]
    assert (await ground.api.get(CONFIG_MAPS.raw(), ground.key("greeting")))["data"] == {"word": "hello"}
    await ground.uninstall("app")
    with pytest.raises(NotFound):
        await ground.api.get(CONFIG_MAPS.raw(), ground.key("greeting"))
