"""Checks peers of a NetworkPolicy: what the API server would refuse is refused here, with its field."""

import re
from collections.abc import Iterator
from ipaddress import ip_network

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.network import AddressBlock, LabelOperator, LabelSelector, Peer
from stateward.api.values.problem import Problem

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_DOMAIN = re.compile(r"(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LISTED = {LabelOperator.IN, LabelOperator.NOT_IN}


def check(cluster: Cluster) -> Iterator[Problem]:
    """Yield what is wrong with `spec.networkPolicy`."""
    access = cluster.spec.network_policy
    for i, peer in enumerate(access.clients or ()) if access is not None else ():
        yield from _peer(f"spec.networkPolicy.clients[{i}]", peer)


def _peer(path: str, peer: Peer) -> Iterator[Problem]:
    selectors = {"podSelector": peer.pod_selector, "namespaceSelector": peer.namespace_selector}
    given = [name for name, selector in selectors.items() if selector is not None]
    if not given and peer.ip_block is None:
        yield Problem(path, {}, "must have podSelector, namespaceSelector or ipBlock")
    if given and peer.ip_block is not None:
        yield Problem(f"{path}.ipBlock", peer.ip_block.cidr, f"cannot be set together with {given[0]}")
    for name, selector in selectors.items():
        if selector is not None:
            yield from _selector(f"{path}.{name}", selector)
    if peer.ip_block is not None:
        yield from _block(f"{path}.ipBlock", peer.ip_block)


def _selector(path: str, selector: LabelSelector) -> Iterator[Problem]:
    for key, value in (selector.match_labels or {}).items():
        yield from _key(f"{path}.matchLabels", key)
        yield from _value(f"{path}.matchLabels[{key}]", value)
    for i, required in enumerate(selector.match_expressions or ()):
        at = f"{path}.matchExpressions[{i}]"
        yield from _key(f"{at}.key", required.key)
        listed = required.operator in _LISTED
        if listed is not bool(required.values):
            said = "must have one or more values" if listed else "must be left out"
            yield Problem(f"{at}.values", required.values, f"{said} with the operator {required.operator.value}")
        for value in required.values or ():
            yield from _value(f"{at}.values", value)


def _key(path: str, key: str) -> Iterator[Problem]:
    domain, slash, name = key.rpartition("/")
    if not _NAME.fullmatch(name) or (slash and not _DOMAIN.fullmatch(domain)):
        yield Problem(path, key, "must be the key of a label, for example app or example.com/team")


def _value(path: str, value: str) -> Iterator[Problem]:
    if value and not _NAME.fullmatch(value):
        yield Problem(path, value, "must be the value of a label: 63 letters, digits, dashes, dots or underscores")


def _block(path: str, block: AddressBlock) -> Iterator[Problem]:
    problems = [*_addresses(f"{path}.cidr", block.cidr)]
    for i, inner in enumerate(block.without or ()):
        problems += _addresses(f"{path}.except[{i}]", inner)
    yield from problems
    if problems:
        return
    whole = ip_network(block.cidr)
    for i, inner in enumerate(block.without or ()):
        part = ip_network(inner)
        if part.version != whole.version or part == whole or not part.subnet_of(whole):  # type: ignore[arg-type]
            yield Problem(f"{path}.except[{i}]", inner, f"must be a part of {block.cidr}")


def _addresses(path: str, text: str) -> Iterator[Problem]:
    try:
        ip_network(text)
    except ValueError:
        good = False
    else:
        # Python also reads a netmask and an address with a zone, and the API server does not.
        good = re.fullmatch(r"[^%/]+/[0-9]{1,3}", text) is not None
    if not good:
        yield Problem(path, text, "must be a block of addresses without host bits, for example 10.1.0.0/16")
