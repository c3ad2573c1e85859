"""The objects of a cluster, its history and its events, as the API server has them."""

from typing import Any

from stateward.api.parse import convert_cluster
from stateward.timeline.advance import advance
from stateward.timeline.history import History, encode
from tests.unit.cli.fake_api import NOW, FakeApi
from tests.unit.cli.samples import cluster

LABELS = {"stateward.dev/cluster": "logs", "stateward.dev/engine": "opensearch"}
OPERATOR_LABELS = {"app.kubernetes.io/name": "stateward", "app.kubernetes.io/component": "operator"}
OPERATOR_LOG = "/api/v1/namespaces/stateward-system/pods/stateward-0/log"
MEMBER_LOG = "/api/v1/namespaces/default/pods/logs-hot-1-0/log"
OPERATOR_LINES = """\
starting
{"timestamp": "2026-11-21T11:59:40.1Z", "level": "info", "event": "action", "member": "h1", "cluster": "default/logs"}
{"timestamp": "2026-11-21T11:59:41.1Z", "level": "info", "event": "action", "cluster": "prod/logs"}
{"timestamp": "2026-11-21T11:59:42.1Z", "level": "warning", "event": "looking again", "cluster": "default/logs"}
"""


def pod(name: str = "logs-hot-1-0", **more: Any) -> dict[str, Any]:
    """Return a pod of the cluster."""
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "labels": LABELS}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {"containers": []}, "status": {}, **more}


def event(about: dict[str, str], at: str, note: str, reason: str = "Started", kind: str = "Normal") -> dict[str, Any]:
    """Return an event, as newer writers make it."""
    meta = {"name": f"event-{at}", "namespace": "default"}
    return {"metadata": meta, "involvedObject": about, "eventTime": at, "message": note, "reason": reason, "type": kind}


def with_history(api: FakeApi) -> None:
    """Add the ConfigMap that the operator has written a minute ago."""
    found, now = convert_cluster(cluster()), int(NOW.timestamp())
    before = convert_cluster(cluster(health="green", memberStates=[], waiting=[]))
    history = advance(History(), before, before.status, now - 600)
    history = advance(history, found, found.status, now - 10)
    owner = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster", "name": "logs", "uid": "u-1"}
    meta = {"name": "logs-history", "namespace": "default", "ownerReferences": [{**owner, "controller": True}]}
    api.add("configmaps", {"kind": "ConfigMap", "metadata": meta, "data": {"history.jsonl": encode(history).decode()}})


def with_operator(api: FakeApi, lines: str = OPERATOR_LINES, name: str = "stateward-0") -> None:
    """Add a pod of the operator, and its log."""
    meta = {"name": name, "namespace": "stateward-system", "labels": OPERATOR_LABELS}
    api.add("pods", {"kind": "Pod", "metadata": meta, "spec": {}, "status": {"phase": "Running"}})
    api.requests[OPERATOR_LOG.replace("stateward-0", name)] = lines
