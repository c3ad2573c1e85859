"""The addresses inside a sandbox. They exist only in its own namespaces, so every sandbox uses the same.

The fabric is the wire between the machines (control plane and nodes); each node has a subnet of pods.
"""

from dataclasses import dataclass
from ipaddress import IPv4Network

from sandbox.errors import SandboxError

FABRIC = IPv4Network("10.250.0.0/24")
PODS = IPv4Network("10.244.0.0/16")
SERVICES = IPv4Network("10.96.0.0/16")

CONTROL_PLANE_ADDRESS = str(FABRIC[1])
API_SERVICE_ADDRESS = str(SERVICES[1])
DNS_SERVICE_ADDRESS = str(SERVICES[10])
API_PORT = 6443
CLUSTER_DOMAIN = "cluster.local"
REGION = "sandbox"
ZONES = ("zone-a", "zone-b", "zone-c")
MAX_NODES = 100

_FIRST_NODE = 11


@dataclass(frozen=True)
class NodeAddress:
    """What tells one node from another; `index` counts from 1."""

    index: int

    @property
    def name(self) -> str:
        """The node's name in Kubernetes."""
        return f"n{self.index}"

    @property
    def address(self) -> str:
        """The node's address on the fabric."""
        return str(FABRIC[_FIRST_NODE + self.index - 1])

    @property
    def pods(self) -> IPv4Network:
        """The subnet of the node's pods."""
        return IPv4Network((int(PODS.network_address) + self.index * 256, 24))

    @property
    def zone(self) -> str:
        """The zone the node plays; the zones take turns."""
        return ZONES[(self.index - 1) % len(ZONES)]


def node_addresses(count: int) -> tuple[NodeAddress, ...]:
    """Return the first `count` nodes; raise SandboxError if there are no addresses for so many."""
    if not 0 <= count <= MAX_NODES:
        raise SandboxError(f"--nodes {count} is out of range: ask for 0 to {MAX_NODES}")
    return tuple(NodeAddress(index) for index in range(1, count + 1))
