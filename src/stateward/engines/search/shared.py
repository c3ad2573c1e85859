"""The Kubernetes objects of a cluster that all its members share: Services, ConfigMaps and disruption budgets."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from ipaddress import ip_address

from stateward.api import names
from stateward.api.base import Json
from stateward.api.cluster import ServiceTemplate
from stateward.engines.search.flavor import HTTP_PORT, TRANSPORT_PORT, Flavor, SearchCluster
from stateward.engines.search.identity import formed, owner
from stateward.engines.search.labels import LABEL_SERVES, LABEL_VOTES, cluster_labels
from stateward.engines.search.member import headless
from stateward.engines.search.mounts import SCRIPT, scripts, seeds
from stateward.planning.budget import Budget

SEEDS_FILE = "unicast_hosts.txt"
FORMED_FILE = "formed"


def cluster_objects(
    flavor: Flavor, cluster: SearchCluster, voters: Iterable[str], budgets: Sequence[Budget] = ()
) -> list[Json]:
    """Return the shared objects; `voters` are the addresses of the pods that vote, Ready or not."""
    return [
        _config_map(flavor, cluster, scripts(cluster.metadata.name), {SCRIPT: start_script()}),
        _config_map(flavor, cluster, seeds(cluster.metadata.name), _seeds(cluster, voters)),
        _headless(flavor, cluster, f"{cluster.metadata.name}-discovery", {LABEL_VOTES: "true"}),
        _headless(flavor, cluster, headless(cluster), {}),
        _client_service(flavor, cluster),
        *(_budget(flavor, cluster, budget) for budget in budgets),
    ]


@cache
def start_script() -> str:
    """Return the program that starts a member."""
    return files("stateward.engines.search").joinpath(SCRIPT).read_text(encoding="utf-8")


def seed_lines(addresses: Iterable[str]) -> str:
    """Return the seed-hosts file: one address and port a line, sorted, so that equal sets are equal files."""
    return "".join(f"{_endpoint(address)}\n" for address in sorted({address for address in addresses if address}))


def _seeds(cluster: SearchCluster, voters: Iterable[str]) -> dict[str, str]:
    lines = seed_lines(voters)
    life = cluster.status.cluster_uuid or "yes"
    return {SEEDS_FILE: lines, **({FORMED_FILE: f"{life}\n"} if formed(cluster) else {})}


def _endpoint(address: str) -> str:
    host = f"[{address}]" if ip_address(address).version == 6 else address
    return f"{host}:{TRANSPORT_PORT}"


def _config_map(flavor: Flavor, cluster: SearchCluster, name: str, data: Mapping[str, str]) -> Json:
    metadata = _metadata(flavor, cluster, name)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}


def _headless(flavor: Flavor, cluster: SearchCluster, name: str, selector: Mapping[str, str]) -> Json:
    """Return a Service that names pods before they are Ready: they must find each other to become so."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _metadata(flavor, cluster, name),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {names.LABEL_CLUSTER: cluster.metadata.name, **selector},
            "ports": [_port("http", HTTP_PORT), _port("transport", TRANSPORT_PORT)],
        },
    }


def _client_service(flavor: Flavor, cluster: SearchCluster) -> Json:
    """Return the Service for clients: Ready pods of all pools but those of dedicated managers."""
    chosen = cluster.spec.service or ServiceTemplate()
    metadata = _metadata(flavor, cluster, cluster.metadata.name)
    labels = {**(chosen.labels or {}), **metadata["labels"]}
    annotations = {"annotations": chosen.annotations} if chosen.annotations else {}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**metadata, "labels": labels, **annotations},
        "spec": {
            "ports": [_port("http", HTTP_PORT)],
            "type": chosen.type.value,
            **(chosen.spec or {}),
            "selector": {names.LABEL_CLUSTER: cluster.metadata.name, LABEL_SERVES: "true"},
        },
    }


def _budget(flavor: Flavor, cluster: SearchCluster, budget: Budget) -> Json:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": _metadata(flavor, cluster, f"{cluster.metadata.name}-{budget.name}"),
        "spec": {
            "maxUnavailable": budget.allowed,
            "selector": {
                "matchLabels": {names.LABEL_CLUSTER: cluster.metadata.name},
                "matchExpressions": [{"key": names.LABEL_ROLES, "operator": "In", "values": sorted(budget.roles)}],
            },
        },
    }


def _port(name: str, number: int) -> Json:
    return {"name": name, "port": number, "targetPort": number, "protocol": "TCP"}


def _metadata(flavor: Flavor, cluster: SearchCluster, name: str) -> Json:
    return {
        "name": name,
        "namespace": cluster.metadata.namespace,
        "labels": cluster_labels(flavor, cluster),
        "ownerReferences": [owner(cluster)],
    }
