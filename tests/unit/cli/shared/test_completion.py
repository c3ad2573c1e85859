"""The shell completes names of clusters, and stays silent where it cannot."""

from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from stateward.cli.main import cli
from stateward.kube.objects.errors import TransportError
from tests.unit.cli.fake_api import FakeApi
from tests.unit.cli.samples import cluster


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


@pytest.mark.parametrize(
    "name", ["status", "plan", "explain", "pause", "resume", "restart", "timeline", "events", "logs", "diagnose"]
)
def test_every_command_about_a_cluster_completes_its_name(api: FakeApi, name: str) -> None:
    assert isinstance(cli, click.Group)
    assert complete(api, name, "lo") == ["logs"]


def test_members_and_pools_are_completed_of_the_cluster_that_is_named(api: FakeApi) -> None:
    other = cluster()
    other["metadata"] |= {"name": "audit"}
    other["status"]["memberStates"] = [{"name": "audit-all-0"}]
    other["status"]["pools"] = [{"name": "all"}]
    api.add("osclusters", other)
    assert complete(api, "explain", "logs", "logs-h") == ["logs-hot-0", "logs-hot-1"]
    assert complete(api, "explain", "audit", "") == ["audit-all-0"]
    assert complete(api, "explain", "logs", "h") == ["hot-0", "hot-1"]
    assert complete(api, "replace", "h") == []
    assert complete(api, "restart", "logs", "--member", "h") == []
    assert complete(api, "logs", "logs", "logs-m") == ["logs-managers-0"]
    assert complete(api, "restart", "logs", "--pool", "") == ["hot", "managers"]
    assert complete(api, "restart", "logs", "--member", "logs-m") == ["logs-managers-0"]


@pytest.mark.parametrize("verb", ["stop", "start", "replace", "keep"])
def test_commands_about_a_member_complete_members_of_all_clusters(api: FakeApi, verb: str) -> None:
    assert complete(api, verb, "logs-hot") == ["logs-hot-0", "logs-hot-1"]


@pytest.mark.parametrize("verb", ["status", "restart", "package upgrade", "validate"])
def test_namespaces_are_completed_where_the_viewer_may_list_them(api: FakeApi, verb: str) -> None:
    for name in ("logging", "login", "search"):
        api.add("namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    assert complete(api, *verb.split(), "-n", "lo") == ["logging", "login"]
    assert complete(api, *verb.split(), "--namespace", "s") == ["search"]
    api.denied = {"namespaces"}
    assert complete(api, *verb.split(), "-n", "lo") == []


def test_contexts_are_completed_from_the_kubeconfig(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = tmp_path / "config", tmp_path / "other"
    file.write_text("contexts: [{name: prod-a}, {name: prod-b}, {name: test}]")
    other.write_text("contexts: [{name: prod-c}]")
    monkeypatch.setenv("KUBECONFIG", f"{file}:{tmp_path}/absent")
    api.refusal = TransportError("no server is asked")
    assert complete(api, "status", "--context", "prod") == ["prod-a", "prod-b"]
    assert complete(api, "status", "--kubeconfig", str(other), "--context", "") == ["prod-c"]
    file.write_text("contexts: 7")
    assert complete(api, "status", "--context", "") == []
