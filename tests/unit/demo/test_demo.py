"""The parts of the demo that need no cluster: its cluster, its view, its last line, and where it happens."""

import io
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from demo.__main__ import main
from demo.install import resource_of, unavailable
from demo.ledger import Ledger
from demo.place import NoPlaceError, place
from demo.story import manifest, settled
from demo.verdict import Verdict
from demo.view import View, screen
from stateward.api.parse import convert_cluster
from stateward.api.validation import errors, validate
from stateward.cli.run.chart import objects
from tests.unit.cli.samples import cluster


def test_the_cluster_of_the_demo_is_valid() -> None:
    for version, size in (("2.17.1", 3), ("2.19.5", 2)):
        assert errors(validate(convert_cluster(manifest("demo", version, size)))) == []


def test_every_manifest_has_a_path_in_the_api() -> None:
    paths = {resource_of(document).path(document["metadata"].get("namespace", "")) for document in objects({})}
    assert "/apis/apiextensions.k8s.io/v1/customresourcedefinitions" in paths
    assert "/apis/apps/v1/namespaces/stateward-system/deployments" in paths
    assert "/api/v1/namespaces" in paths


def test_one_is_settled_only_with_the_newest_spec_and_version() -> None:
    ready = [{"type": "Ready", "status": "True"}]
    assert not settled(convert_cluster(cluster()))
    assert not settled(convert_cluster(cluster(conditions=ready)))
    assert settled(convert_cluster(cluster(conditions=ready, version="2.19.5")))
    assert not settled(convert_cluster(cluster(conditions=ready, version="2.19.5", observedGeneration=1)))


def deployment(**status: Any) -> dict[str, Any]:
    return {"metadata": {"generation": 2}, "spec": {"replicas": 1}, "status": {"observedGeneration": 2, **status}}


def test_a_deployment_is_waited_for_until_its_newest_pod_is_ready() -> None:
    assert unavailable(deployment(observedGeneration=1)) == "its newest change has not been looked at"
    assert unavailable(deployment(updatedReplicas=1, replicas=2, availableReplicas=1)) == "an old pod is still there"
    waiting = [{"status": "False", "message": "does not have minimum availability"}]
    assert unavailable(deployment(updatedReplicas=1, replicas=1, conditions=waiting)) == waiting[0]["message"]
    assert unavailable(deployment(updatedReplicas=1, replicas=1, availableReplicas=1)) == ""


def test_plain_output_is_lines_with_the_time() -> None:
    out = io.StringIO()
    with View(Console(file=out, width=200), 1_000.0, lambda: 1_065.0) as view:
        view.step("upgrading")
        view.seen(convert_cluster(cluster()))
        ledger = Ledger()
        for second in range(100):
            ledger.acknowledge(f"d{second}", 965.0 + second)
        view.watch(ledger)
        view.tick()
    lines = out.getvalue().splitlines()
    assert lines[0] == "[01:05] == upgrading"
    assert "[01:05] version 2.17.1 → 2.19.5" in lines
    assert lines[-1] == "[01:05] 1 writes/s, 100 acknowledged, 0 errors, longest time without a write 1.0 s"


def test_the_screen_shows_members_versions_health_and_writes() -> None:
    ledger = Ledger()
    ledger.refuse("HTTP 503: no shard available")
    console = Console(file=io.StringIO(), width=160, record=True)
    console.print(screen("upgrading", convert_cluster(cluster()), ledger, 10.0))
    text = console.export_text()
    assert all(part in text for part in ("logs-hot-1", "Restarting", "yellow", "0 writes/s", "no shard available"))


def test_the_last_line_has_the_four_numbers() -> None:
    kept = Verdict(acknowledged=5120, missing=0, unread=0, longest_gap=1.23, took=421.0)
    assert str(kept) == (
        "5120 documents acknowledged, 5120 found, longest time without a successful write 1.2 s, took 7 min 01 s"
    )
    assert kept.kept
    assert not Verdict(acknowledged=10, missing=1, unread=0, longest_gap=0, took=1).kept
    assert not Verdict(acknowledged=0, missing=0, unread=0, longest_gap=0, took=1).kept


def test_ones_own_cluster_is_used_when_it_is_named_in_full() -> None:
    own = place("x", {"KUBECONFIG": "/k", "STATEWARD_IMAGE": "registry.example/stateward:1"})
    assert (own.kubeconfig, own.image) == ("", "registry.example/stateward:1")
    with pytest.raises(NoPlaceError, match="KUBECONFIG is not"):
        place("x", {"STATEWARD_IMAGE": "registry.example/stateward:1"})


def test_what_does_not_work_is_one_line() -> None:
    result = CliRunner(env={"STATEWARD_IMAGE": "x", "KUBECONFIG": "/nowhere/config"}).invoke(main)
    assert result.exit_code == 1
    assert result.stderr.startswith("demo: no kubeconfig found (looked for /nowhere/config)")
