"""The endpoints for Kubernetes and Prometheus: /healthz, /readyz and /metrics.

A process is healthy if its event loop runs. It is ready if its caches have the whole state; it need not be the leader,
or a rollout of the operator itself would wait for a lease.
"""

from collections.abc import Callable, Sequence

from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest


def health_routes(unfilled: Callable[[], Sequence[str]]) -> list[web.RouteDef]:
    """Return /healthz, and /readyz, which answers 503 and names the caches that are `unfilled` until there are none."""

    async def healthz(_: web.Request) -> web.Response:
        return web.Response(text="ok")

    async def readyz(_: web.Request) -> web.Response:
        if left := unfilled():
            return web.Response(status=503, text=f"these caches are not filled yet: {', '.join(left)}")
        return web.Response(text="ok")

    return [web.get("/healthz", healthz), web.get("/readyz", readyz)]


def metrics_routes(registry: CollectorRegistry) -> list[web.RouteDef]:
    """Return /metrics in the text format of Prometheus."""

    async def metrics(_: web.Request) -> web.Response:
        return web.Response(body=generate_latest(registry), content_type="text/plain", charset="utf-8")

    return [web.get("/metrics", metrics)]
