"""`list`: clusters of each kind, found by name."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from rich.console import Console

from stateward.api.parse import convert_cluster
from stateward.cli.status.clusters import table
from tests.unit.cli.fake_api import FakeApi, Run
from tests.unit.cli.samples import cluster


def test_list_shows_one_line_per_cluster(run: Run, api: FakeApi) -> None:
    other = cluster(version="2.19.5", health="green", ready="3/3", activity="the cluster matches its spec")
    other["metadata"] |= {"name": "audit", "namespace": "prod"}
    other["spec"]["update"] = {"paused": True}
    api.add("osclusters", other)
    assert run("list", "-A").output == (
        "NAMESPACE  NAME   ENGINE      VERSION          HEALTH  READY  AGE    DOING\n"
        "default    logs   opensearch  2.17.1 → 2.19.5  yellow  2/3    3h00m  logs-hot-1 restarts to apply version\n"
        "prod       audit  opensearch  2.19.5           green   3/3    3h00m  paused; the cluster matches its spec\n"
    )
    assert [found["metadata"]["name"] for found in json.loads(run("list", "-A", "-o", "json").output)] == [
        "logs",
        "audit",
    ]


def test_a_stalled_cluster_is_recognized_and_each_cluster_is_one_line_of_a_terminal(run: Run, api: FakeApi) -> None:
    told = cluster(activity="logs-hot-0 does not start: " + "because " * 60)
    told["status"]["conditions"] = [{"type": "Stalled", "status": "True", "reason": "MemberDoesNotStart"}]
    api.add("osclusters", told)
    _, line = run("list").output.splitlines()
    assert "stalled; logs-hot-0 does not start" in line
    drawn = Console(width=100, record=True).render_lines(table([convert_cluster(told)], 0.0))
    assert len(drawn) == 2
    shown = "".join(part.text for part in drawn[1])
    assert shown.startswith("default    logs  opensearch  2.17.1 → 2.19.5  yellow")
    assert shown.rstrip().endswith("…")


def drawn(width: int, name: str = "logs", *, wide: bool = False) -> list[str]:
    """Return the lines of the list on a terminal so wide, without the blanks at their ends."""
    found = cluster()
    found["metadata"] |= {"name": name, "labels": {"team": "search"}}
    lines = Console(width=width).render_lines(table([convert_cluster(found)], 0.0, wide=wide))
    assert all(sum(part.cell_length for part in line) <= width for line in lines)
    return ["".join(part.text for part in line).rstrip() for line in lines]


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("width", range(8, 150))
def test_the_name_is_whole_on_each_terminal_and_the_last_columns_give_way_first(width: int, wide: bool) -> None:
    whole, narrow = drawn(300, wide=wide)[0].split(), drawn(width, wide=wide)
    assert len(narrow) == 2, "each cluster has one line"
    head = narrow[0].split()
    kept = whole[: len(head)] if head[0] == "NAMESPACE" else whole[1 : len(head) + 1]
    assert head == kept
    assert narrow[1].split()[head.index("NAME")] == "logs"


def test_a_narrow_list_has_what_fits_whole_and_a_part_of_the_next_column_if_it_is_readable() -> None:
    assert drawn(46) == ["NAMESPACE  NAME  ENGINE      VERSION", "default    logs  opensearch  2.17.1 → 2.19.5"]
    assert drawn(40) == ["NAMESPACE  NAME  ENGINE      VERSION", "default    logs  opensearch  2.17.1 → 2…"]
    assert drawn(36) == ["NAMESPACE  NAME  ENGINE", "default    logs  opensearch"]
    assert drawn(14) == ["NAME", "logs"]


def test_a_name_that_is_longer_than_the_terminal_has_several_lines() -> None:
    assert drawn(12, "observability-logs") == ["NAME", "observabilit", "y-logs"]
    assert drawn(24, "observability-logs") == ["NAME", "observability-logs"]


def elasticsearch() -> dict[str, Any]:
    """Return an Elasticsearch cluster that has the name of the OpenSearch cluster."""
    document = cluster(version="8.17.0", health="green", ready="3/3", activity="the cluster matches its spec")
    return document | {"kind": "ElasticsearchCluster", "spec": {**document["spec"], "version": "8.19.4"}}


def test_clusters_of_both_kinds_are_listed_and_found_by_name(run: Run, api: FakeApi) -> None:
    document = elasticsearch()
    document["metadata"] |= {"name": "search"}
    api.add("esclusters", document)
    assert "search  elasticsearch  8.17.0 → 8.19.4" in run("list").output
    assert "logs" not in run("list", "--kind", "elasticsearch").output
    assert "search  ElasticsearchCluster in namespace default" in run("status", "search").output
    assert run("pause", "search").exit_code == 0
    assert run("restart", "search").exit_code == 0


def test_one_name_for_two_kinds_asks_which(run: Run, api: FakeApi) -> None:
    api.add("esclusters", elasticsearch())
    for command in ("status", "explain", "plan", "pause", "restart"):
        result = run(command, "logs")
        assert result.exit_code == 1
        assert "there is an OpenSearchCluster and an ElasticsearchCluster called 'logs'" in result.output
        assert "--kind" in result.output
    assert not api.patches
    assert "ElasticsearchCluster" in run("status", "logs", "--kind", "elasticsearch").output
    assert "OpenSearchCluster" in run("status", "logs", "--kind", "opensearch").output


def test_a_cluster_of_another_kind_is_not_the_one_that_is_meant(run: Run) -> None:
    result = run("status", "logs", "--kind", "elasticsearch")
    assert result.exit_code == 1
    assert "there is no ElasticsearchCluster 'logs'" in result.output


def test_a_kind_that_is_not_installed_has_no_clusters(run: Run, api: FakeApi) -> None:
    api.served.remove("esclusters")
    assert run("status", "logs").exit_code == 0
    assert run("list").output.count("opensearch") == 1


END = {"metadata": {"resourceVersion": "7", "annotations": {"k8s.io/initial-events-end": "true"}}}


def watched(*events: tuple[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the events of a watch that ends with an interrupt, each object with a version of its own."""
    found = [{"type": "ADDED", "object": cluster()}, {"type": "BOOKMARK", "object": END}]
    for number, (kind, body) in enumerate(events):
        body["metadata"]["resourceVersion"] = str(8 + number)
        found.append({"type": kind, "object": body})
    return found


def interrupted(api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    """End the watch as Ctrl-C does, when all events were given."""
    given = api.watch

    async def watch(*words: Any) -> AsyncGenerator[Any, None]:
        found = given(*words)
        for _ in api.watched:
            yield await anext(found)
        await asyncio.sleep(0.05)
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "watch", watch)


def test_watch_appends_each_line_that_changes(run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    api.served = {"osclusters"}
    api.watched = watched(
        ("MODIFIED", cluster(lastProgressTime="2026-11-21T12:00:00Z")),
        ("MODIFIED", cluster(health="green", ready="3/3", activity="the cluster matches its spec")),
        ("DELETED", cluster()),
    )
    interrupted(api, monkeypatch)
    result = run("list", "--watch")
    assert [line.split()[:7] for line in result.stdout.splitlines()] == [
        ["NAMESPACE", "NAME", "ENGINE", "VERSION", "HEALTH", "READY", "AGE"],
        ["default", "logs", "opensearch", "2.17.1", "→", "2.19.5", "yellow"],
        ["default", "logs", "opensearch", "2.17.1", "→", "2.19.5", "green"],
    ]
    assert result.stderr == "logs in namespace default is deleted\n"


def test_watch_redraws_the_list_on_a_terminal(run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    api.served = {"osclusters"}
    api.watched = watched(("MODIFIED", cluster(health="green")))
    interrupted(api, monkeypatch)
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    shown = run("list", "--watch").stdout
    assert "yellow" in shown
    assert "green" in shown.rpartition("yellow")[2]
    assert "\x1b[" in shown


def test_watch_appends_each_version_for_programs(run: Run, api: FakeApi, monkeypatch: pytest.MonkeyPatch) -> None:
    api.served = {"osclusters"}
    api.watched = watched(("MODIFIED", cluster(health="green")))
    interrupted(api, monkeypatch)
    lines = run("list", "-w", "-A", "-o", "json").stdout.splitlines()
    assert [json.loads(line)["status"]["health"] for line in lines] == ["yellow", "green"]


def test_list_says_where_it_searched_for_nothing(run: Run) -> None:
    result = run("list", "-n", "empty")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == "there is no cluster in namespace 'empty'; --all-namespaces searches all namespaces\n"
