"""The shell completes names of clusters, and stays silent where it cannot."""

import click
import pytest
from click.shell_completion import ShellComplete

from stateward.cli.main import cli
from stateward.kube.objects.errors import TransportError
from tests.unit.cli.fake_api import FakeApi


def complete(api: FakeApi, *words: str) -> list[str]:
    """Return what the shell would offer for the last word."""
    shell = ShellComplete(cli, {"obj": api.open}, "stateward", "_X")
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


def test_commands_and_names_of_clusters_are_completed(api: FakeApi) -> None:
    assert complete(api, "stat") == ["status"]
    assert complete(api, "status", "l") == ["logs"]
    assert complete(api, "explain", "x") == []
    assert complete(api, "pause", "-n", "empty", "") == []


def test_a_server_that_does_not_answer_completes_nothing(api: FakeApi) -> None:
    api.refusal = TransportError("Connection refused")
    assert complete(api, "status", "") == []


@pytest.mark.parametrize("name", ["status", "plan", "explain", "pause", "resume", "restart"])
def test_every_command_about_a_cluster_completes_its_name(api: FakeApi, name: str) -> None:
    assert isinstance(cli, click.Group)
    assert complete(api, name, "lo") == ["logs"]
