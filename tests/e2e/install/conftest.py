"""The sandbox with the operator as a release of Helm, and as it was for the cases of other files."""

from collections.abc import AsyncGenerator, Iterator

import pytest

from sandbox import Sandbox
from sandbox.progress import Progress
from sandbox.toolchain.programs import HELM, build_program
from tests.e2e.install.releases import CANARY, Releases, chart_of_newer, load
from tests.e2e.operators import NAMESPACE, install
from tests.integration.install.helm import Tools


@pytest.fixture(scope="module")
def helm(stateward: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Releases]:
    """Give Helm with charts and images of two versions; in the end, kubectl has installed the operator again."""
    load(stateward)
    scratch = tmp_path_factory.mktemp("helm")
    program = build_program(HELM, Progress())
    tools = Tools(program, stateward.binaries / "kubectl", stateward.kubeconfig_path, scratch)
    yield Releases(tools, chart_of_newer(scratch))
    install(stateward)


@pytest.fixture
async def release(helm: Releases) -> AsyncGenerator[Releases]:
    """Install the older version, over what kubectl has installed, and leave no release behind."""
    await helm.install("--take-ownership")
    yield helm
    for name, namespace in ((CANARY, CANARY), ("stateward", NAMESPACE)):
        await helm.uninstall(name, namespace, "--ignore-not-found")
