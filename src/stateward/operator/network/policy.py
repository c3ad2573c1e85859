"""The NetworkPolicy of one cluster: a manifest, made without I/O.

It names the clients that may connect to the members; connections of the members are not limited. Network plug-ins allow
traffic from the node itself, such as the kubelet's probes.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.network import NetworkAccess
from stateward.api.kinds.search import SearchCluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.exporter import objects as exporter
from stateward.engines.foundationdb.spec.identity import PORT as FOUNDATIONDB_PORT
from stateward.engines.pods import agent
from stateward.engines.pods.objects import shared_metadata
from stateward.engines.search.dashboards import objects as dashboards
from stateward.engines.search.spec.consent import Place, admitted
from stateward.engines.search.spec.flavor import HTTP_PORT, TRANSPORT_PORT
from stateward.operator.objects.kinds import FOUNDATIONDB

MOST_PROCESSES = 16
"""Processes of a member of FoundationDB at most: `processesPerMember`."""
CLOSED = frozenset({("TCP", agent.API_PORT), ("TCP", agent.PROBES_PORT), ("TCP", TRANSPORT_PORT)})
"""Ports that no spec opens to clients."""


@dataclass(frozen=True, slots=True)
class EnginePorts:
    """Ports of one kind of database: those between members, for clients, and for the operator beside the agent's."""

    members: tuple[Json, ...]
    clients: tuple[Json, ...]
    operator: tuple[Json, ...] = ()


def policy_name(cluster: Cluster) -> str:
    """Return the name of the cluster's NetworkPolicy."""
    return f"{cluster.metadata.name}-members"


def network_policy(cluster: Cluster, engine: str, namespace: str) -> Json:
    """Return the NetworkPolicy of a cluster whose operator runs in a namespace."""
    labels = {names.LABEL_CLUSTER: cluster.metadata.name, names.LABEL_ENGINE: engine}
    door = engine_ports(engine)
    more = [port(protocol, number) for protocol, number in sorted(declared_ports(cluster) - CLOSED - open_ports(door))]
    access = cluster.spec.network_policy or NetworkAccess()
    ingress: list[Json] = [
        {"from": [{"podSelector": {"matchLabels": labels}}], "ports": list(door.members)},
        {"from": [operator_pods(namespace)], "ports": [port("TCP", agent.API_PORT), *door.operator]},
    ]
    if guests := [members_of(place, engine) for place in _guests(cluster)]:
        ingress.append({"from": guests, "ports": list(door.members)})
    peers = [{"podSelector": {"matchLabels": pods}} for pods in _beside(cluster, engine)]
    ingress += [{"from": [peer], "ports": list(door.clients)} for peer in peers]
    if access.clients is None:
        ingress.append({"ports": [*door.clients, *more]})
    elif access.clients:
        ingress.append({"from": msgspec.to_builtins(access.clients), "ports": [*door.clients, *more]})
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": shared_metadata(
            cluster, policy_name(cluster), {"app.kubernetes.io/managed-by": "stateward", **labels}
        ),
        "spec": {"podSelector": {"matchLabels": labels}, "policyTypes": ["Ingress"], "ingress": ingress},
    }


def _beside(cluster: Cluster, engine: str) -> Iterator[dict[str, str]]:
    """Yield the labels of pods beside the cluster that connect to it."""
    if isinstance(cluster, SearchCluster) and cluster.spec.dashboards is not None:
        yield dashboards.selector(cluster, engine)
    if exporter.asked_of(cluster) is not None:
        yield exporter.selector(cluster, engine)


def _guests(cluster: Cluster) -> list[Place]:
    """Return the clusters whose members may connect to the port between members, because the spec lets them search."""
    return sorted(admitted(cluster)) if isinstance(cluster, SearchCluster) else []


def members_of(place: Place, engine: str) -> Json:
    """Return the members of another cluster, as a peer."""
    return {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": place.namespace}},
        "podSelector": {"matchLabels": {names.LABEL_CLUSTER: place.name, names.LABEL_ENGINE: engine}},
    }


def operator_pods(namespace: str) -> Json:
    """Return the pods of the operator and of the detection Jobs, as a peer."""
    return {
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "podSelector": {"matchLabels": {"app.kubernetes.io/name": "stateward"}},
    }


def engine_ports(engine: str) -> EnginePorts:
    """Return the ports of a kind of database.

    Members of FoundationDB and its clients use the same ports; the operator needs none, because it uses a shell in a
    pod.
    """
    if engine == FOUNDATIONDB.engine:
        processes = {**port("TCP", FOUNDATIONDB_PORT), "endPort": FOUNDATIONDB_PORT + MOST_PROCESSES - 1}
        return EnginePorts((processes,), (processes,))
    http = port("TCP", HTTP_PORT)
    return EnginePorts((port("TCP", TRANSPORT_PORT),), (http,), (http,))


def port(protocol: str, number: int) -> Json:
    """Return a port of a NetworkPolicy."""
    return {"protocol": protocol, "port": number}


def open_ports(door: EnginePorts) -> frozenset[tuple[str, int]]:
    """Return the ports that are open in any case."""
    found = set[tuple[str, int]]()
    for each in (*door.members, *door.clients):
        found |= {(each["protocol"], number) for number in range(each["port"], each.get("endPort", each["port"]) + 1)}
    return frozenset(found)


def declared_ports(cluster: Cluster) -> frozenset[tuple[str, int]]:
    """Return protocol and number of the ports that pod templates declare, such as those of an exporter of metrics."""
    templates = [cluster.spec.pod_template, *(pool.pod_template for pool in cluster.spec.pools)]
    return frozenset(found for template in templates for found in _declared(template or {}))


def _declared(template: Json) -> Iterator[tuple[str, int]]:
    spec = _mapping(cast("object", template.get("spec")))
    for group in ("containers", "initContainers"):
        for container in _mappings(spec.get(group)):
            for declared in _mappings(container.get("ports")):
                number, protocol = declared.get("containerPort"), declared.get("protocol") or "TCP"
                if isinstance(number, int) and 0 < number < 65536 and protocol in ("TCP", "UDP", "SCTP"):
                    yield str(protocol), number


def _mappings(value: object) -> Iterator[Mapping[str, object]]:
    """Yield the objects of a list; other values are refused elsewhere."""
    if isinstance(value, list):
        yield from (_mapping(item) for item in cast("list[object]", value))


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
