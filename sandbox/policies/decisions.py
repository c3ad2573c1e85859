"""Which traffic of a node's pods is allowed: NetworkPolicy objects in, the text of an nftables table out.

Rules of https://kubernetes.io/docs/concepts/services-networking/network-policies/: a pod is isolated in a direction
when a policy of its namespace selects it for that direction; then only what some such policy allows may pass.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Any

Object = dict[str, Any]

TABLE = "sandbox_policies"
INGRESS, EGRESS = "Ingress", "Egress"
_PEER = {INGRESS: ("from", "saddr"), EGRESS: ("to", "daddr")}


@dataclass(frozen=True)
class Known:
    """What there is: the policies, the pods that have an address, and the labels of each namespace."""

    policies: Sequence[Object]
    pods: Sequence[Object]
    namespaces: Mapping[str, Mapping[str, str]]


def known(policies: Sequence[Object], pods: Sequence[Object], namespaces: Sequence[Object]) -> Known:
    """Return what counts of three lists of the API server: pods on the node's own network have no policy."""
    labels = {each["metadata"]["name"]: each["metadata"].get("labels", {}) for each in namespaces}
    return Known(policies, [pod for pod in pods if _has_address(pod)], labels)


def table(found: Known, subnet: IPv4Network) -> str:
    """Return the commands that replace the table, for the pods whose addresses are in `subnet`."""
    chains, jumps = list[str](), list[str]()
    for pod in found.pods:
        address = _address(pod)
        if IPv4Address(address) not in subnet:
            continue
        for direction, own in ((INGRESS, "daddr"), (EGRESS, "saddr")):
            selecting = [policy for policy in found.policies if _isolates(policy, pod, direction)]
            if selecting:
                name = f"{direction.lower()}_{address.replace('.', '_')}"
                jumps.append(f"ip {own} {address} jump {name}")
                chains.append(_chain(name, [*_rules(selecting, pod, direction, found), "drop"]))
    forward = [
        "type filter hook forward priority filter; policy accept;",
        "ct state established,related accept",
        *jumps,
    ]
    body = "\n".join([*chains, _chain("forward", forward)])
    # Declared, deleted and recreated in one transaction: there is no moment without rules.
    return f"table ip {TABLE}\ndelete table ip {TABLE}\ntable ip {TABLE} {{\n{body}\n}}\n"


def selects(selector: Object, labels: Mapping[str, str]) -> bool:
    """Return whether a label selector, which may be empty, selects these labels."""
    if any(labels.get(key) != value for key, value in selector.get("matchLabels", {}).items()):
        return False
    return all(_holds(each, labels) for each in selector.get("matchExpressions", []))


def _holds(expression: Object, labels: Mapping[str, str]) -> bool:
    key, values = expression["key"], expression.get("values", [])
    match expression["operator"]:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case other:
            raise ValueError(f"operator {other!r} of a selector: In, NotIn, Exists or DoesNotExist")


def _isolates(policy: Object, pod: Object, direction: str) -> bool:
    spec = policy["spec"]
    types = spec.get("policyTypes") or [INGRESS, *([EGRESS] if "egress" in spec else [])]
    return (
        direction in types
        and policy["metadata"]["namespace"] == pod["metadata"]["namespace"]
        and selects(spec.get("podSelector", {}), _labels(pod))
    )


def _rules(policies: Sequence[Object], pod: Object, direction: str, found: Known) -> Iterator[str]:
    word, field = _PEER[direction]
    for policy in policies:
        for rule in policy["spec"].get(direction.lower(), []):
            named = _named(rule, [pod] if direction == INGRESS else found.pods)
            ports = [text for port in rule.get("ports", []) for text in _port(port, named)]
            # No peers, no ports: all of them. Ports that no container has: none.
            peers = (
                [text for peer in rule[word] for text in _peer(peer, policy, field, found)] if rule.get(word) else [""]
            )
            for peer in peers:
                for port in ports if rule.get("ports") else [""]:
                    yield " ".join(part for part in (peer, port, "return") if part)


def _peer(peer: Object, policy: Object, field: str, found: Known) -> Iterator[str]:
    if (block := peer.get("ipBlock")) is not None:
        without = block.get("except", [])
        yield f"ip {field} {block['cidr']}" + (f" ip {field} != {{ {', '.join(without)} }}" if without else "")
        return
    home = policy["metadata"]["namespace"]
    spaces = peer.get("namespaceSelector")
    addresses = [
        _address(pod)
        for pod in found.pods
        if selects(peer.get("podSelector", {}), _labels(pod))
        and (
            pod["metadata"]["namespace"] == home
            if spaces is None
            else selects(spaces, found.namespaces.get(pod["metadata"]["namespace"], {}))
        )
    ]
    if addresses:
        yield f"ip {field} {{ {', '.join(sorted(addresses))} }}"


def _named(rule: Object, pods: Sequence[Object]) -> dict[tuple[str, str], set[int]]:
    """Return the numbers of the ports that a rule calls by a name, by protocol and name."""
    names = {each.get("port") for each in rule.get("ports", []) if isinstance(each.get("port"), str)}
    numbers = dict[tuple[str, str], set[int]]()
    for pod in pods if names else ():
        for container in pod["spec"]["containers"]:
            for port in container.get("ports", []):
                if port.get("name") in names:
                    numbers.setdefault((port.get("protocol", "TCP"), port["name"]), set()).add(port["containerPort"])
    return numbers


def _port(port: Object, named: Mapping[tuple[str, str], set[int]]) -> list[str]:
    protocol, wanted = port.get("protocol", "TCP"), port.get("port")
    if wanted is None:
        return [f"meta l4proto {protocol.lower()}"]
    if isinstance(wanted, str):
        return [f"{protocol.lower()} dport {number}" for number in sorted(named.get((protocol, wanted), ()))]
    end = port.get("endPort")
    return [f"{protocol.lower()} dport {wanted}" + (f"-{end}" if end else "")]


def _chain(name: str, lines: Sequence[str]) -> str:
    return "\n".join([f"chain {name} {{", *(f"  {line}" for line in lines), "}"])


def _has_address(pod: Object) -> bool:
    status = pod.get("status", {})
    ended = status.get("phase") in {"Succeeded", "Failed"}
    return bool(status.get("podIP")) and not ended and not pod["spec"].get("hostNetwork", False)


def _address(pod: Object) -> str:
    return str(pod["status"]["podIP"])


def _labels(pod: Object) -> dict[str, str]:
    return pod["metadata"].get("labels", {})
