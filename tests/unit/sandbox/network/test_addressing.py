"""Every node has addresses of its own, and none overlap."""

from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.errors import SandboxError
from sandbox.network.addressing import FABRIC, MAX_NODES, PODS, SERVICES, node_addresses


@given(st.integers(0, MAX_NODES))
def test_nodes_share_no_address_and_no_subnet(count: int) -> None:
    nodes = node_addresses(count)
    assert len({node.address for node in nodes}) == len({node.name for node in nodes}) == count
    assert len({node.pods for node in nodes}) == count
    assert all(node.pods.subnet_of(PODS) for node in nodes)
    assert all(IPv4Network(node.address).subnet_of(FABRIC) for node in nodes)


def test_fabric_pods_and_services_are_apart() -> None:
    assert not FABRIC.overlaps(PODS)
    assert not FABRIC.overlaps(SERVICES)
    assert not PODS.overlaps(SERVICES)


def test_zones_take_turns() -> None:
    assert [node.zone for node in node_addresses(4)] == ["zone-a", "zone-b", "zone-c", "zone-a"]


@pytest.mark.parametrize("count", [-1, MAX_NODES + 1])
def test_an_impossible_number_of_nodes_is_refused_with_the_range(count: int) -> None:
    with pytest.raises(SandboxError, match=f"--nodes {count} is out of range: ask for 0 to {MAX_NODES}"):
        node_addresses(count)
