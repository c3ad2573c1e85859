"""Routes from outside to the database and to its dashboards: an Ingress, or an HTTPRoute of the Gateway API."""

from dataclasses import dataclass
from typing import Any

import msgspec

from stateward.api.kinds.access.routes import Routes
from stateward.api.kinds.search import SearchCluster
from stateward.api.values.base import Json
from stateward.engines.pods.objects import shared_metadata
from stateward.engines.search.dashboards.frontend import PORT, dashboards_name
from stateward.engines.search.dashboards.settings import serves_https
from stateward.engines.search.spec.flavor import HTTP_PORT

INGRESS, HTTP_ROUTE = "Ingress", "HTTPRoute"
_BACKEND_PROTOCOL = "nginx.ingress.kubernetes.io/backend-protocol"
"""The one annotation of Ingresses: ingress-nginx knows a protocol from nothing else."""


@dataclass(frozen=True)
class Route:
    """One desired route: from a field of the spec to the port of a Service."""

    field: str
    routes: Routes
    service: str
    port: int
    https: bool
    """Whether the Service serves HTTPS."""

    @property
    def kind(self) -> str:
        """The kind of object that makes it."""
        return INGRESS if self.routes.parent_refs is None else HTTP_ROUTE

    @property
    def urls(self) -> list[str]:
        """The URLs of its hosts; only an Ingress says by itself whether it shows a certificate."""
        scheme = "https" if self.kind == HTTP_ROUTE or self.routes.tls_secret_name else "http"
        return [f"{scheme}://{host}" for host in self.routes.hosts]


def routes_of(cluster: SearchCluster, *, secured: bool) -> tuple[Route, ...]:
    """Return the desired routes of a valid cluster; `secured` is whether the database is secured."""
    found, asked = list[Route](), cluster.spec.dashboards
    if cluster.spec.routes is not None:
        found.append(Route("spec.routes", cluster.spec.routes, cluster.metadata.name, HTTP_PORT, secured))
    if asked is not None and asked.routes is not None:
        https = serves_https(asked, secured=secured)
        found.append(Route("spec.dashboards.routes", asked.routes, dashboards_name(cluster), PORT, https))
    return tuple(found)


def manifest(route: Route, cluster: SearchCluster, labels: dict[str, str]) -> Json:
    """Return the object that makes a route."""
    metadata = shared_metadata(cluster, route.service, labels)
    return _http_route(route, metadata) if route.kind == HTTP_ROUTE else _ingress(route, metadata)


def _ingress(route: Route, metadata: Json) -> Json:
    asked = route.routes
    backend = {"service": {"name": route.service, "port": {"number": route.port}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    spec: dict[str, Any] = {"rules": [{"host": host, "http": {"paths": [path]}} for host in asked.hosts]}
    if asked.ingress_class_name is not None:
        spec["ingressClassName"] = asked.ingress_class_name
    if asked.tls_secret_name is not None:
        spec["tls"] = [{"hosts": asked.hosts, "secretName": asked.tls_secret_name}]
    annotations = {"annotations": {_BACKEND_PROTOCOL: "HTTPS"}} if route.https else {}
    meta = {**metadata, **annotations}
    return {"apiVersion": "networking.k8s.io/v1", "kind": INGRESS, "metadata": meta, "spec": spec}


def _http_route(route: Route, metadata: Json) -> Json:
    rule = {"backendRefs": [{"name": route.service, "port": route.port}]}
    refs = msgspec.to_builtins(route.routes.parent_refs or [])
    refs = [{key: value for key, value in ref.items() if value is not None} for ref in refs]
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": HTTP_ROUTE,
        "metadata": metadata,
        "spec": {"parentRefs": refs, "hostnames": route.routes.hosts, "rules": [rule]},
    }
