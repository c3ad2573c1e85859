"""The sandbox enforces NetworkPolicies between pods, on one node and across nodes."""

import subprocess
from ipaddress import IPv4Network
from typing import Any

import pytest
import yaml

from sandbox import Sandbox
from sandbox.policies.decisions import known, table
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


@pytest.mark.usefixtures("sandbox")  # It installs `nft`.
def test_nftables_accepts_a_table_with_excepted_networks_and_ranges_of_ports() -> None:
    block = {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}
    rule = {"from": [{"ipBlock": block}], "ports": [{"port": 1, "endPort": 9}]}
    metadata = {"name": "p", "namespace": "data"}
    spec = {"podSelector": {}, "ingress": [rule], "egress": [{}]}
    pod = {
        "metadata": {"name": "db", "namespace": "data"},
        "spec": {"containers": []},
        "status": {"podIP": "10.244.0.2"},
    }
    spaces = [{"metadata": {"name": "data"}}]
    text = table(known([{"metadata": metadata, "spec": spec}], [pod], spaces), IPv4Network("10.244.0.0/24"))
    done = subprocess.run(["nft", "--check", "-f", "-"], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr}\n{text}"
    assert "10.1.0.0/16" in text
