"""The whole sandbox for end-to-end tests: three nodes, brought up once, evidence collected when a test fails."""

import os
import re
from collections.abc import Generator, Iterator
from pathlib import Path

import pytest

from sandbox import Sandbox
from sandbox.collect import collect

_ARTIFACTS = Path(__file__).parents[2] / ".artifacts"
_BROUGHT_UP = pytest.StashKey[Sandbox]()


@pytest.fixture(scope="session")
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Give the sandbox of all end-to-end tests; KEEP=1 leaves it running for the next session."""
    brought_up = Sandbox(os.environ.get("STATEWARD_TEST_SANDBOX", "stateward-test"))
    try:
        brought_up.up(nodes=3)
        request.config.stash[_BROUGHT_UP] = brought_up
        yield brought_up
    finally:
        if not os.environ.get("KEEP"):
            brought_up.down()


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
