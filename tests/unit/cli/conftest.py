"""The fake API server, and commands run against it."""

import pytest
from click.testing import CliRunner, Result

from stateward.cli.main import cli
from tests.unit.cli.fake_api import FakeApi, Run
from tests.unit.cli.samples import cluster


@pytest.fixture
def api() -> FakeApi:
    server = FakeApi()
    server.add("osclusters", cluster())
    return server


@pytest.fixture
def run(api: FakeApi) -> Run:
    """Run a command line against the fake API server."""

    def invoke(*words: str, stdin: str | bytes | None = None) -> Result:
        return CliRunner().invoke(cli, words, obj=api.open, input=stdin)

    return invoke
