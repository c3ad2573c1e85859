"""The sandbox enforces NetworkPolicies: which rules follow from which policies, by the documents of Kubernetes."""

from ipaddress import IPv4Network
from typing import Any

import pytest

from sandbox.policies.decisions import known, selects, table

SUBNET = IPv4Network("10.244.0.0/24")
SPACES = [
    {"metadata": {"name": "data", "labels": {"kubernetes.io/metadata.name": "data"}}},
    {"metadata": {"name": "ops", "labels": {"kubernetes.io/metadata.name": "ops"}}},
]
EVERYTHING: dict[str, Any] = {}


def pod(name: str, address: str, namespace: str = "data", **more: Any) -> dict[str, Any]:
    labels = {"app": name}
    ports = [{"name": "http", "containerPort": 9200}]
    spec = {"containers": [{"name": "a", "ports": ports}], **more}
    return {
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": spec,
        "status": {"podIP": address},
    }


PODS = [pod("db", "10.244.0.2"), pod("web", "10.244.1.3"), pod("tool", "10.244.1.4", "ops")]


def policy(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", "namespace": "data"}, "spec": {"podSelector": EVERYTHING, **spec}}


def chains(*policies: dict[str, Any]) -> dict[str, list[str]]:
    """Return the lines of each chain of the node's table."""
    found: dict[str, list[str]] = {}
    name = ""
    for line in table(known(policies, PODS, SPACES), SUBNET).splitlines():
        if line.startswith("chain "):
            name = line.split()[1]
            found[name] = []
        elif line.startswith("  "):
            found[name].append(line.strip())
    return found


def ingress(*rules: dict[str, Any], selector: dict[str, Any] | None = None) -> list[str] | None:
    """Return the rules for what comes to the pod `db`, None where it is not isolated."""
    asked = policy(podSelector=selector or EVERYTHING, policyTypes=["Ingress"], ingress=list(rules))
    return chains(asked).get("ingress_10_244_0_2")


def test_without_a_policy_everything_passes() -> None:
    assert list(chains()) == ["forward"]
    assert chains()["forward"][0].endswith("policy accept;")


def test_a_pod_that_is_selected_gets_only_what_is_allowed_and_answers_to_what_it_asked() -> None:
    found = chains(policy(ingress=[]))
    assert found["ingress_10_244_0_2"] == ["drop"]
    assert found["forward"][1:] == [
        "ct state established,related accept",
        "ip daddr 10.244.0.2 jump ingress_10_244_0_2",
    ]
    assert ingress(selector={"matchLabels": {"app": "web"}}) is None


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ({}, ["return"]),
        ({"from": [{"podSelector": {}}]}, ["ip saddr { 10.244.0.2, 10.244.1.3 } return"]),
        ({"from": [{"namespaceSelector": {}}]}, ["ip saddr { 10.244.0.2, 10.244.1.3, 10.244.1.4 } return"]),
        ({"from": [{"podSelector": {"matchLabels": {"app": "tool"}}}]}, []),
        (
            {
                "from": [
                    {
                        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "ops"}},
                        "podSelector": {"matchLabels": {"app": "tool"}},
                    }
                ],
                "ports": [{"port": 9443}],
            },
            ["ip saddr { 10.244.1.4 } tcp dport 9443 return"],
        ),
        (
            {"from": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}], "ports": [{"protocol": "UDP"}]},
            ["ip saddr 10.0.0.0/8 ip saddr != { 10.1.0.0/16 } meta l4proto udp return"],
        ),
        ({"ports": [{"port": 4500, "endPort": 4515}]}, ["tcp dport 4500-4515 return"]),
        ({"ports": [{"port": "http"}]}, ["tcp dport 9200 return"]),
        ({"ports": [{"port": "nothing-is-called-so"}]}, []),
    ],
)
def test_what_a_rule_allows(rule: dict[str, Any], expected: list[str]) -> None:
    assert ingress(rule) == [*expected, "drop"]


def test_what_a_pod_may_connect_to() -> None:
    found = chains(policy(egress=[{"to": [{"podSelector": {"matchLabels": {"app": "web"}}}]}]))
    assert found["egress_10_244_0_2"] == ["ip daddr { 10.244.1.3 } return", "drop"]
    assert "ingress_10_244_0_2" in found, "a policy without policyTypes is for ingress in any case"


def test_pods_of_other_nodes_and_of_the_nodes_own_network_are_not_checked() -> None:
    beside = pod("proxy", "10.244.0.9", hostNetwork=True)
    text = table(known([policy()], [*PODS, beside], SPACES), SUBNET)
    assert "10_244_1_3" not in text
    assert "10_244_0_9" not in text


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ({"key": "app", "operator": "In", "values": ["db", "x"]}, True),
        ({"key": "app", "operator": "NotIn", "values": ["db"]}, False),
        ({"key": "other", "operator": "NotIn", "values": ["db"]}, True),
        ({"key": "app", "operator": "Exists"}, True),
        ({"key": "app", "operator": "DoesNotExist"}, False),
    ],
)
def test_label_selectors(expression: dict[str, Any], *, expected: bool) -> None:
    assert selects({"matchExpressions": [expression]}, {"app": "db"}) is expected


def test_an_operator_that_there_is_not_is_an_error() -> None:
    with pytest.raises(ValueError, match="Like"):
        selects({"matchExpressions": [{"key": "app", "operator": "Like"}]}, {})


def test_a_pod_without_an_address_has_no_rules() -> None:
    waiting = pod("new", "")
    assert not known([], [waiting], SPACES).pods
