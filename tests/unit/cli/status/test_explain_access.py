"""`explain` and `status` tell of dashboards and routes, with advice for every reason."""

import re
from pathlib import Path
from typing import Any

import stateward
from stateward.cli.status.access import ACCESS_ADVICE
from tests.unit.cli.fake_api import FakeApi, Run
from tests.unit.cli.samples import cluster

SOURCE = Path(stateward.__file__).parent
WAITS: dict[str, Any] = {
    "version": "2.17.1",
    "replicas": 2,
    "ready": 2,
    "available": True,
    "reason": "DashboardsWaitForUpgrade",
    "message": "they stay at 2.17.1 until all members run 2.19.5",
}
OFF = {"reason": "RoutesOff", "message": "spec.routes has no effect"}


def test_what_they_wait_for_is_told_with_what_ends_it(run: Run, api: FakeApi) -> None:
    api.add("osclusters", cluster(dashboards=WAITS, routes=OFF))
    said = run("explain", "logs").output
    assert "Dashboards: 2.17.1, 2 of 2 instances ready, available." in said
    assert "(DashboardsWaitForUpgrade): they stay at 2.17.1 until all members run 2.19.5." in said
    assert "Routes (RoutesOff): spec.routes has no effect." in said
    assert "--routes" in said
    shown = run("status", "logs").output
    assert "2 of 2 instances ready" in shown


def test_an_exporter_is_told_with_what_ends_its_wait(run: Run, api: FakeApi) -> None:
    url = "http://logs-metrics.prod.svc:9114/metrics"
    api.add("osclusters", cluster(metrics={"available": True, "url": url}))
    assert f"Metrics: served at {url}." in run("explain", "logs").output
    assert url in run("status", "logs").output


def test_an_exporter_that_waits_is_told_with_what_ends_it(run: Run, api: FakeApi) -> None:
    waits = {"available": False, "reason": "MetricsUnavailable", "message": "the database answers with status 401"}
    api.add("osclusters", cluster(metrics=waits))
    said = run("explain", "logs").output
    assert "Metrics: not available: the database answers with status 401." in said
    assert "(MetricsUnavailable)" in said
    assert "the exporter reads the database" in said


def test_an_exporter_of_foundationdb_is_told_too(run: Run, api: FakeApi) -> None:
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "FoundationDBCluster"}
    meta = {"name": "ledger", "namespace": "default", "uid": "u", "generation": 1}
    pools = [{"name": each, "processClass": each} for each in ("storage", "log", "stateless")]
    spec = {"version": "7.1.67", "pools": pools, "metrics": {}}
    conditions = cluster()["status"]["conditions"]
    api.add("fdbclusters", {**head, "metadata": meta, "spec": spec, "status": {"conditions": conditions}})
    assert "The operator has not observed the exporter of metrics yet." in run("explain", "ledger").output
    waits = {"reason": "MetricsWaitForDatabase", "message": "the database has not been created yet"}
    status = {"conditions": conditions, "metrics": waits}
    api.add("fdbclusters", {**head, "metadata": meta, "spec": spec, "status": status})
    assert "not available: the database has not been created yet" in run("explain", "ledger").output
    assert "the database has not been created yet" in run("status", "ledger").output


def test_remote_clusters_are_told_with_what_ends_their_waits(run: Run, api: FakeApi) -> None:
    waits = {"name": "east", "state": "Waiting", "cluster": "b/logs", "reason": "RemoteClusterNotAllowed"}
    waits |= {"message": "OpenSearchCluster b/logs does not name this cluster"}
    there = {"name": "west", "state": "Connected", "cluster": "c/logs"}
    taken = {"reason": "RemoteAccessNameTaken", "message": "Service logs-remote exists"}
    api.add("osclusters", cluster(remoteClusters=[waits, there], remoteAccess=taken))
    said = run("explain", "logs").output
    assert "Remote cluster east: Waiting (b/logs)." in said
    assert "(RemoteClusterNotAllowed): OpenSearchCluster b/logs does not name this cluster." in said
    assert "ask the owner of that cluster" in said
    assert "Remote cluster west: Connected (c/logs)." in said
    assert "Access of other clusters (RemoteAccessNameTaken): Service logs-remote exists." in said
    assert "west connected" in run("status", "logs").output


def test_each_reason_beside_the_database_has_an_advice() -> None:
    found: set[str] = set()
    words = "Dashboards|Metrics|Route|Routes|GatewayApi|RemoteCluster|RemoteAccess"
    for room in ("dashboards", "exporters", "remotes", "../engines/search/dashboards", "../engines/search/remote"):
        for file in (SOURCE / "operator" / room).rglob("*.py"):
            found |= set(re.findall(rf'"((?:{words})[A-Z]\w+)"', file.read_text()))
    told = {"DashboardsRemoved", "DashboardsAvailable", "MetricsRemoved", "MetricsAvailable"}
    told |= {"RemoteClusterConnected", "RemoteClusterRemoved", "RemoteClusterLeft"}
    assert told < found, "the pattern finds reasons"
    assert found - told == ACCESS_ADVICE.keys()
