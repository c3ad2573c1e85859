"""The endpoints that Kubernetes and Prometheus ask: /healthz, /readyz and /metrics.

Healthy is a process whose event loop turns. Ready is one whose caches have the whole state; it need not be the leader,
or a roll-out of the operator itself would wait for a lease.
"""

from collections.abc import Callable

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest


def health_routes(ready: Callable[[], bool]) -> list[web.RouteDef]:
    """Return /healthz, and /readyz that answers 503 until `ready` says yes."""

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def readyz(_: web.Request) -> web.Response:
        return web.Response(text="ok") if ready() else web.Response(status=503, text="the caches are not filled yet")

    return [web.get("/healthz", healthz), web.get("/readyz", readyz)]


def metrics_routes(registry: CollectorRegistry) -> list[web.RouteDef]:
    """Return /metrics in the text format of Prometheus."""

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), content_type="text/plain", charset="utf-8")

    return [web.get("/metrics", metrics)]
