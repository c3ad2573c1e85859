"""The page in the operator, as the chart installs it: reachable through its proxy, and by nothing else."""

import re
from pathlib import Path
from typing import Any

import yaml

from stateward.api.pod_policy import Level, violations
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


def example() -> dict[str, Any]:
    """Return the values that docs/dashboard.md shows for the page behind a proxy."""
    shown = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/dashboard.md").read_text(), re.DOTALL)
    (values,) = [each for each in map(yaml.safe_load, shown) if "page" in each]
    return values


def deployment(given: dict[str, Any]) -> dict[str, Any]:
    (found,) = [each for each in objects(given) if each["kind"] == "Deployment"]
    return found["spec"]["template"]


def services(given: dict[str, Any]) -> list[dict[str, Any]]:
    found = [each for each in objects(given) if each["kind"] == "Service"]
    return [each for each in found if each["metadata"]["name"] == "stateward-page"]


def test_the_documented_proxy_is_admitted_where_only_restricted_pods_are() -> None:
    assert violations(Level.RESTRICTED, deployment(example())) == ()


def test_the_documented_proxy_is_reached_by_the_service_and_allowed_by_the_network_policy() -> None:
    given = {**example(), "networkPolicies": True}
    (service,), template = services(given), deployment(given)
    (proxy,) = template["spec"]["containers"][1:]
    listening = {port["containerPort"] for port in proxy["ports"]}
    assert {port["targetPort"] for port in service["spec"]["ports"]} == listening
    assert {port["port"] for rule in openings(given) for port in rule["ports"]} == listening
    assert service["spec"]["selector"].items() <= template["metadata"]["labels"].items()
    (address,) = [arg for arg in proxy["args"] if arg.startswith("--http-address=")]
    assert int(address.rpartition(":")[2]) in listening


def test_volumes_that_the_documented_proxy_mounts_exist() -> None:
    pod = deployment(example())["spec"]
    assert any(each["name"] == "proxy" for each in pod["volumes"])
    for container in pod["containers"]:
        assert {each["name"] for each in container["volumeMounts"]} <= {each["name"] for each in pod["volumes"]}


def test_the_service_is_made_with_the_page_and_unless_it_is_not_wanted() -> None:
    assert services({}) == []
    (made,) = services({"page": True})
    assert made["spec"]["type"] == "ClusterIP"
    assert services({"page": True, "pageAccess": {"service": {"enabled": False}}}) == []


def test_more_volumes_are_mounted_into_the_operators_container() -> None:
    volume, mount = {"name": "ca", "configMap": {"name": "ca"}}, {"name": "ca", "mountPath": "/ca"}
    pod = deployment({"extraVolumes": [volume], "extraVolumeMounts": [mount]})["spec"]
    assert volume in pod["volumes"]
    assert mount in pod["containers"][0]["volumeMounts"]
    assert len(pod["volumes"]) == len(pod["containers"][0]["volumeMounts"]) == 2
