"""The whole sandbox for end-to-end tests: three nodes, brought up once for each process of the run.

When a test fails, evidence is collected.

Tests on real databases find the operator in it, and a namespace of their own for clusters.
"""

import os
import re
from collections.abc import AsyncGenerator, Generator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from sandbox import Sandbox
from sandbox.collect import collect
from stateward.kube.access.config import connect
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects import resources as kinds
from stateward.operator.objects.kinds import OPENSEARCH, ClusterKind
from tests.e2e import witness
from tests.e2e.clusters import Clusters
from tests.e2e.operators import OperatorPods, install, kubectl, secure_new_clusters
from tests.support import case_report
from tests.support.own import own_name

_ROOT = Path(__file__).parents[2]
_ARTIFACTS = _ROOT / ".artifacts"
_COMMIT = pytest.StashKey[str]()
_BROUGHT_UP = pytest.StashKey[Sandbox]()


def pytest_configure(config: pytest.Config) -> None:
    """Note the commit under test; RESUME=1 leaves out cases that have passed on it."""
    config.stash[_COMMIT] = case_report.commit_of(_ROOT)
    if not hasattr(config, "workerinput"):
        # Only in the process that runs the workers: it hears of all cases.
        config.pluginmanager.register(case_report.Reporter(_ARTIFACTS / "e2e", config.stash[_COMMIT]))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what need not run again."""
    if not os.environ.get("RESUME"):
        return
    known = case_report.latest(_ARTIFACTS / "e2e", config.stash[_COMMIT])
    done = [item for item in items if item.nodeid in known and known[item.nodeid].outcome == "passed"]
    config.hook.pytest_deselected(items=done)
    items[:] = [item for item in items if item not in done]


@pytest.fixture(autouse=True)
def figures(request: pytest.FixtureRequest) -> Iterator[None]:
    """Collect what the witnesses of a case see, for the report."""
    witness.FIGURES = seen = case_report.Figures()
    yield
    images = [str(name) for mark in request.node.iter_markers("images") for name in mark.args]
    texts = {"versions": ", ".join(images), **seen.texts()}
    request.node.user_properties.extend((name, text) for name, text in texts.items() if text)


@pytest.fixture(scope="session")
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Give the sandbox of all end-to-end tests; KEEP=1 leaves it running for the next session."""
    brought_up = Sandbox(own_name(os.environ.get("STATEWARD_TEST_SANDBOX", "stateward-test")))
    try:
        brought_up.clear()
        brought_up.up(nodes=3)
        request.config.stash[_BROUGHT_UP] = brought_up
        yield brought_up
    finally:
        if not os.environ.get("KEEP"):
            brought_up.down()


@pytest.fixture
def namespace(sandbox: Sandbox) -> Iterator[str]:
    """Give a namespace of one's own, removed with everything in it."""
    name = f"sandbox-{uuid4().hex[:8]}"
    sandbox.kubectl("create", "namespace", name)
    yield name
    sandbox.kubectl("delete", "namespace", name, "--wait=false")


@pytest.fixture(autouse=True)
def whole_nodes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a test did to the nodes is undone before the next one: one bad test does not fail them all."""
    yield
    brought_up = request.config.stash.get(_BROUGHT_UP, None)
    if brought_up is not None and "sandbox" in request.fixturenames:
        brought_up.up(nodes=3)
        for node in brought_up.nodes:
            brought_up.node_uncordon(node)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Collect the cluster's objects, events and logs when a test fails, and say where they are."""
    report = yield
    brought_up = item.config.stash.get(_BROUGHT_UP, None)
    if report.failed and brought_up is not None:
        directory = _ARTIFACTS / re.sub(r"[^\w.-]+", "_", item.nodeid)
        collect(brought_up.layout, brought_up.api, directory)
        report.sections.append(("evidence", f"objects, events and logs are in {directory}"))
    return report


@pytest.fixture(scope="session")
def stateward(sandbox: Sandbox) -> Sandbox:
    """The sandbox with the operator of this tree running in it."""
    install(sandbox)
    return sandbox


@pytest.fixture
def securing(stateward: Sandbox) -> Iterator[Sandbox]:
    """The sandbox with an operator that secures new clusters, as it does by default outside of these tests."""
    secure_new_clusters(stateward, "true")
    yield stateward
    secure_new_clusters(stateward, "false")


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
def cluster_kind() -> ClusterKind:
    """The kind of cluster that a test is about; folders of other engines say another one."""
    return OPENSEARCH


@pytest.fixture
async def clusters(
    api: HttpApi, stateward: Sandbox, images: None, cluster_kind: ClusterKind
) -> AsyncGenerator[Clusters]:
    """A namespace of its own; it goes with everything in it, volumes included, when the test ends."""
    namespace = f"e2e-{uuid4().hex[:6]}"
    await api.create(kinds.NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
    yield Clusters(api, namespace, cluster_kind)
    kubectl(stateward, "delete", "namespace", namespace, "--wait=true", "--timeout=180s")


@pytest.fixture
def operator(api: HttpApi) -> OperatorPods:
    return OperatorPods(api)
