"""The Kubernetes objects of a cluster that all its members share: Services, ConfigMaps and disruption budgets."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from ipaddress import ip_address
from typing import cast

from stateward.api.checks.update import OWNED_SERVICE_FIELDS
from stateward.api.kinds.access.service import ServiceTemplate
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.pods.objects import (
    config_map,
    disruption_budget,
    headless,
    headless_service,
    port,
    shared_metadata,
)
from stateward.engines.search.objects.labels import LABEL_SERVES, LABEL_VOTES, cluster_labels
from stateward.engines.search.objects.mounts import SCRIPT, scripts, seeds
from stateward.engines.search.spec.flavor import HTTP_PORT, TRANSPORT_PORT, Flavor, SearchCluster
from stateward.engines.search.spec.identity import formed
from stateward.planning.safety.disruption_budget import Budget

SEEDS_FILE = "unicast_hosts.txt"
FORMED_FILE = "formed"
PORTS = {"http": HTTP_PORT, "transport": TRANSPORT_PORT}


def cluster_objects(
    flavor: Flavor, cluster: SearchCluster, voters: Iterable[str], budgets: Sequence[Budget] = ()
) -> list[Json]:
    """Return the shared objects; `voters` are the addresses of all voting pods, Ready or not."""
    name = cluster.metadata.name
    members = {names.LABEL_CLUSTER: name}

    def metadata(of: str) -> Json:
        return shared_metadata(cluster, of, cluster_labels(flavor, cluster))

    return [
        config_map(metadata(scripts(name)), {SCRIPT: start_script()}),
        config_map(metadata(seeds(name)), _seeds(cluster, voters)),
        headless_service(metadata(f"{name}-discovery"), {**members, LABEL_VOTES: "true"}, PORTS),
        headless_service(metadata(headless(cluster)), members, PORTS),
        # Ready pods of all pools except dedicated managers.
        client_service(cluster.spec.service, metadata(name), "http", HTTP_PORT, {**members, LABEL_SERVES: "true"}),
        *(disruption_budget(cluster, metadata(name), budget) for budget in budgets),
    ]


@cache
def start_script() -> str:
    """Return the start script of a member."""
    return files("stateward.engines.search").joinpath(SCRIPT).read_text(encoding="utf-8")


def seed_lines(addresses: Iterable[str]) -> str:
    """Return the seed-hosts file: one address and port per line, sorted, so that equal sets give equal files."""
    return "".join(f"{_endpoint(address)}\n" for address in sorted({address for address in addresses if address}))


def _seeds(cluster: SearchCluster, voters: Iterable[str]) -> dict[str, str]:
    lines = seed_lines(voters)
    life = cluster.status.cluster_uuid or "yes"
    return {SEEDS_FILE: lines, **({FORMED_FILE: f"{life}\n"} if formed(cluster) else {})}


def _endpoint(address: str) -> str:
    host = f"[{address}]" if ip_address(address).version == 6 else address
    return f"{host}:{TRANSPORT_PORT}"


def _client_ports(chosen: object, name: str, number: int) -> list[Json]:
    """Return the ports of a Service for clients: its own one, and those that the user adds.

    Its own port always stays: without it no client would reach the pods. A user's entry for that port adds to it, for
    example a `nodePort`.
    """
    own, others = port(name, number), list[Json]()
    listed = cast("list[object]", chosen) if isinstance(chosen, list) else []
    for item in (cast("Json", item) for item in listed if isinstance(item, dict)):  # validation refuses anything else
        if item.get("name") == name or item.get("port") == number:
            own = {**item, **own}
        else:
            others.append(item)
    return [own, *others]


def client_service(
    overrides: ServiceTemplate | None, metadata: Json, name: str, number: int, selector: Mapping[str, str]
) -> Json:
    """Return a Service for clients with the user's overrides; `name` and `number` are those of its own port."""
    chosen = overrides or ServiceTemplate()
    labels = {**(chosen.labels or {}), **metadata["labels"]}
    annotations = {"annotations": chosen.annotations} if chosen.annotations else {}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**metadata, "labels": labels, **annotations},
        "spec": {
            "type": chosen.type.value,
            **{name: value for name, value in (chosen.spec or {}).items() if name not in OWNED_SERVICE_FIELDS},
            "ports": _client_ports((chosen.spec or {}).get("ports"), name, number),
            "selector": dict(selector),
        },
    }
