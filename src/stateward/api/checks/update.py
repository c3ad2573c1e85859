"""How changes roll: a budget that lets something happen, and an order of pools that exist; and the client Service."""

import re
from collections.abc import Iterator
from typing import cast

from stateward.api.kinds.access.service import ServiceTemplate
from stateward.api.kinds.cluster import UpdatePolicy
from stateward.api.kinds.search import SearchCluster, SearchSpec
from stateward.api.values.base import GROUP
from stateward.api.values.problem import Problem

_PERCENTAGE = re.compile(r"([0-9]{1,3})%")
OWNED_SERVICE_FIELDS = {
    "selector": "Stateward selects the members that can serve",
    "type": "use spec.service.type",
    "clusterIP": "it can never change",
    "clusterIPs": "they can never change",
    "externalName": "the Service leads to the members of this cluster",
    "externalIPs": "it would receive traffic that others send to these addresses; use spec.service.type: LoadBalancer",
}


def check(cluster: SearchCluster) -> Iterator[Problem]:
    """Yield what is wrong with the update policy and the Service."""
    if cluster.spec.update is not None:
        yield from _budget(cluster.spec.update)
        yield from _order(cluster.spec, cluster.spec.update.order or [])
    yield from check_service("spec.service", cluster.spec.service)


def check_service(path: str, service: ServiceTemplate | None) -> Iterator[Problem]:
    """Yield what is wrong with the overrides of a Service."""
    if service is None:
        return
    for key in service.spec or {}:
        if key in OWNED_SERVICE_FIELDS:
            yield Problem(f"{path}.spec.{key}", key, f"cannot be set: {OWNED_SERVICE_FIELDS[key]}")
    yield from _ports(f"{path}.spec.ports", (service.spec or {}).get("ports"))
    yield from _service_marks(path, service)


def _ports(path: str, ports: object) -> Iterator[Problem]:
    """Yield ports of a client Service that are not a list of objects: they are joined with the Service's own."""
    text = "must be a list of ports, each with a name and a port"
    if ports is not None and not isinstance(ports, list):
        yield Problem(path, ports, text)
    for i, item in enumerate(cast("list[object]", ports) if isinstance(ports, list) else []):
        if not isinstance(item, dict):
            yield Problem(f"{path}[{i}]", item, text)


def _service_marks(path: str, service: ServiceTemplate) -> Iterator[Problem]:
    """Yield the operator's own labels and annotations, which no spec sets: they allow things, and lead to objects."""
    chosen = {"labels": service.labels, "annotations": service.annotations}
    for field, values in chosen.items():
        for key, value in (values or {}).items():
            if key.startswith(f"{GROUP}/"):
                text = f"cannot be set: {GROUP}/ is how Stateward finds its objects"
                yield Problem(f"{path}.{field}[{key}]", value, text)


def _budget(update: UpdatePolicy) -> Iterator[Problem]:
    allowed = update.max_unavailable
    if isinstance(allowed, str):
        match = _PERCENTAGE.fullmatch(allowed)
        good = match is not None and 1 <= int(match[1]) <= 100
    else:
        good = allowed >= 1
    if not good:
        text = "must be a number of members, 1 or more, or a percentage from 1% to 100%"
        yield Problem("spec.update.maxUnavailable", allowed, text)


def _order(spec: SearchSpec, order: list[str]) -> Iterator[Problem]:
    names = [pool.name for pool in spec.pools]
    for i, name in enumerate(order):
        path = f"spec.update.order[{i}]"
        if name not in names:
            yield Problem(path, name, f"must be the name of a pool: {', '.join(names)}")
        elif name in order[:i]:
            yield Problem(path, name, "must be listed once")
