"""Fixtures of the tests on real OpenSearch: the operator in the sandbox, and a namespace of one's own for clusters."""

from collections.abc import AsyncGenerator
from uuid import uuid4

import pytest

from sandbox import Sandbox
from stateward.kube import resources as kinds
from stateward.kube.config import connect
from stateward.kube.http_client import HttpApi
from tests.e2e.clusters import Clusters
from tests.e2e.operators import OperatorPods, install, kubectl


@pytest.fixture(scope="session")
def stateward(sandbox: Sandbox) -> Sandbox:
    """The sandbox with the operator of this tree running in it."""
    install(sandbox)
    return sandbox


@pytest.fixture
def images(request: pytest.FixtureRequest, stateward: Sandbox) -> None:
    """Load the images that the test names with its `images` mark."""
    for mark in request.node.iter_markers("images"):
        for name in mark.args:
            stateward.load_image(name)


@pytest.fixture
async def api(stateward: Sandbox) -> AsyncGenerator[HttpApi]:
    async with HttpApi(connect(kubeconfig=str(stateward.kubeconfig_path))) as client:
        yield client


@pytest.fixture
async def clusters(api: HttpApi, stateward: Sandbox, images: None) -> AsyncGenerator[Clusters]:
    """A namespace of its own; it goes with everything in it, volumes included, when the test ends."""
    namespace = f"e2e-{uuid4().hex[:6]}"
    await api.create(kinds.NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    yield Clusters(api, namespace)
    kubectl(stateward, "delete", "namespace", namespace, "--wait=true", "--timeout=180s")


@pytest.fixture
def operator(api: HttpApi) -> OperatorPods:
    return OperatorPods(api)
