"""Observations of clusters in order, and of the same clusters with another spec."""

import copy
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.parse import convert_cluster
from stateward.engines import opensearch
from stateward.forecast.forecast import run_forecast
from stateward.planning.model.observation import Copy, CopyState, Database, Observation, Unit, Unknown

NOW = 1_000.0
DATA = ("logs-hot-0", "logs-hot-1", "logs-hot-2")
SPEC: dict[str, Any] = {
    "version": "2.17.1",
    "pools": [
        {"name": "managers", "replicas": 3, "roles": ["cluster_manager"]},
        {"name": "hot", "replicas": 3, "roles": ["data", "ingest"], "storage": {"size": "20Gi"}},
        {"name": "gateway", "replicas": 1, "roles": []},
    ],
}


def typed(spec: dict[str, Any], version: str = "") -> OpenSearchCluster:
    """Return a cluster with this spec, in which `version` is deployed."""
    meta = {"name": "logs", "namespace": "default", "uid": "u"}
    status = {"version": version} if version else {}
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster"}
    found = convert_cluster({**head, "metadata": meta, "spec": spec, "status": status})
    assert isinstance(found, OpenSearchCluster)
    return found


def new() -> Observation:
    """Return a cluster of which nothing is there yet."""
    return Observation(
        name="logs",
        namespace="default",
        uid="u",
        generation=1,
        desired=opensearch.desired(typed(SPEC)),
        members=(),
        database=Unknown("not formed yet"),
    )


def running(copies: int = 2) -> Observation:
    """Return the cluster after everything has come up, with an index of six shards on three zones."""
    end = run_forecast(new(), NOW).end
    assert isinstance(end.database, Database)
    members = tuple(
        replace(
            m,
            pod=replace(m.pod, zone="abc"[m.ordinal]) if m.pod is not None else None,
            claim=replace(m.claim, data=m.name in DATA) if m.claim is not None else None,
        )
        for m in end.members
    )
    return replace(end, members=members, database=replace(end.database, units=units(copies)))


def units(copies: int) -> tuple[Unit, ...]:
    """Return six shards, spread over the data members."""
    return tuple(
        Unit(
            f"docs[{i}]",
            copies,
            tuple(Copy(CopyState.STARTED, primary=c == 0, member=DATA[(i + c) % 3]) for c in range(copies)),
        )
        for i in range(6)
    )


def changed(edit: Callable[[dict[str, Any]], object], start: Observation | None = None) -> Observation:
    """Return the running cluster with an edited spec."""
    spec = copy.deepcopy(SPEC)
    edit(spec)
    return replace(start or running(), desired=opensearch.desired(typed(spec, "2.17.1")))
