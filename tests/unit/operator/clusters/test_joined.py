"""A change of one cluster begins a round of those that name it, too, and whose members may trust it; of no other."""

from typing import Any

import pytest

from stateward.api.kinds.cluster import Cluster
from stateward.api.parse import convert_cluster
from stateward.kube.cache.deltas import Change, Delta
from stateward.kube.objects.metadata import Key
from stateward.operator.clusters.joined import concerned

HERE = Key("a", "logs")
LETS: dict[str, Any] = {"remoteAccess": {"from": [{"name": "events", "namespace": "b"}, {"name": "shop"}]}}
ASKS: dict[str, Any] = {"remoteClusters": [{"name": "west", "cluster": {"name": "orders", "namespace": "c"}}]}
SECURED = {"security": {"enabled": True, "certificatesDigest": "one"}}


def cluster(status: dict[str, Any] | None = None, **spec: Any) -> Cluster:
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster"}
    body = {"version": "2.19.5", "pools": [{"name": "all", "replicas": 1}], **spec}
    meta = {"name": HERE.name, "namespace": HERE.namespace}
    return convert_cluster({**head, "metadata": meta, "spec": body, "status": status or {}})


def begun(old: Cluster | None, new: Cluster | None) -> set[str]:
    delta = Delta(Change.CHANGED, HERE, old, new)
    assert list(concerned(delta, lambda _: None)) == []
    assert list(concerned(delta, lambda key: named(key, Key("elsewhere", "logs")))) == []
    return {str(key) for key in concerned(delta, lambda key: named(key, HERE))}


def named(key: Key, other: Key) -> Cluster:
    """Return the cluster with a key, which names another one."""
    spec: dict[str, Any] = {"version": "2.19.5", "pools": [{"name": "all", "replicas": 1}]}
    body = {**spec, "remoteAccess": {"from": [{"name": other.name, "namespace": other.namespace}]}}
    meta = {"name": key.name, "namespace": key.namespace}
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster"}
    return convert_cluster({**head, "metadata": meta, "spec": body})


@pytest.mark.parametrize(
    ("old", "new", "keys"),
    [
        (None, cluster(**LETS), {"b/events", "a/shop"}),
        (cluster(), cluster(**ASKS), {"c/orders"}),
        (cluster(**LETS), cluster(), {"b/events", "a/shop"}),
        (cluster(**LETS), None, {"b/events", "a/shop"}),
        (cluster(**LETS), cluster(**ASKS), {"b/events", "a/shop", "c/orders"}),
        (cluster(**LETS), cluster(SECURED, **LETS), {"b/events", "a/shop"}),
        (cluster(SECURED, **LETS), cluster({**SECURED, "activity": "it waits"}, **LETS), set()),
        (cluster(**LETS), cluster(**LETS, config={"a": "b"}), set()),
        (None, cluster(), set()),
        (None, cluster(remoteAccess={"from": [{"name": "logs"}]}), set()),
    ],
)
def test_others_look_again(old: Cluster | None, new: Cluster | None, keys: set[str]) -> None:
    assert begun(old, new) == keys
