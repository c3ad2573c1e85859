"""The page in the operator, as the chart installs it: reachable through its proxy, and by nothing else."""

from pathlib import Path
from typing import Any

from stateward.cli.run.chart import objects

ROOT = Path(__file__).parents[3]
BOTH = {"page": True, "networkPolicies": True}
ALL_PODS = [{"namespaceSelector": {}}]


def openings(given: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rules of the NetworkPolicy of the operator's pods, without that of metrics, webhook and view."""
    (policy,) = [
        each for each in objects(given) if (each["kind"], each["metadata"]["name"]) == ("NetworkPolicy", "stateward")
    ]
    return policy["spec"]["ingress"][1:]


def test_a_network_policy_opens_the_port_of_the_proxy_to_pods_and_not_that_of_the_page() -> None:
    assert openings(BOTH) == [{"from": ALL_PODS, "ports": [{"port": 4180, "protocol": "TCP"}]}]


def test_without_the_page_no_port_is_opened_for_it() -> None:
    assert openings({"networkPolicies": True}) == []


def test_only_the_listed_clients_reach_the_port_of_the_proxy() -> None:
    clients = [{"podSelector": {"matchLabels": {"app": "ingress"}}}]
    opened = openings({**BOTH, "pageAccess": {"port": 8443, "clients": clients}})
    assert opened == [{"from": clients, "ports": [{"port": 8443, "protocol": "TCP"}]}]


def test_an_empty_list_of_clients_closes_the_port() -> None:
    """An empty `from` of a NetworkPolicy would open it to all."""
    assert openings({**BOTH, "pageAccess": {"clients": []}}) == []
