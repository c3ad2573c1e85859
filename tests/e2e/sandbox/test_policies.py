"""The sandbox enforces NetworkPolicies between pods, on one node and across nodes."""

from typing import Any

import pytest
import yaml

from sandbox import Sandbox
from tests.e2e.callers import Callers

pytestmark = pytest.mark.e2e


def policy(namespace: str, name: str, **spec: Any) -> str:
    head = {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy"}
    return yaml.safe_dump({**head, "metadata": {"name": name, "namespace": namespace}, "spec": spec})


def test_a_pod_that_is_selected_is_reached_by_those_that_are_named_and_by_no_others(
    sandbox: Sandbox, namespace: str
) -> None:
    callers = Callers(sandbox, namespace)
    address = callers.start("served", 8000, 9000, node="n1")
    callers.start("beside", 7000, node="n1")
    friend = callers.start("friend", 7000, node="n2")
    both = [8000, 9000]
    for name in ("beside", "friend"):
        callers.until(name, address, both, both)
    served = {"matchLabels": {"app": "served"}}
    sandbox.kubectl("apply", "-f", "-", stdin=policy(namespace, "closed", podSelector=served, ingress=[]))
    for name in ("beside", "friend"):
        callers.until(name, address, both, [])
    # Its own connections and those of others go on.
    callers.until("served", friend, [7000], [7000])
    rule = {"from": [{"podSelector": {"matchLabels": {"app": "friend"}}}], "ports": [{"port": 9000}]}
    sandbox.kubectl("apply", "-f", "-", stdin=policy(namespace, "friends", podSelector=served, ingress=[rule]))
    callers.until("friend", address, both, [9000])
    callers.until("beside", address, both, [])
    sandbox.kubectl("delete", "networkpolicy", "-n", namespace, "closed", "friends")
    callers.until("beside", address, both, both)
