"""Keeps the routes of a cluster, if the operator makes routes: Ingresses, and HTTPRoutes of the Gateway API.

With routes, the right to write a cluster is the right to take any host name at the Ingress controller. So the operator
makes them only if its administrator has said so (--routes), and has the rights for them only then. A certificate that
they show is that of a Secret, and needs what every Secret needs that a spec names.
"""

from collections.abc import Awaitable, Callable

from stateward.api.kinds.access.routes import RoutesStatus
from stateward.api.kinds.search import SearchCluster
from stateward.engines.search.dashboards.frontend import dashboards_name
from stateward.engines.search.dashboards.routes import HTTP_ROUTE, INGRESS, Route, manifest
from stateward.kube.objects.errors import BadRequest, Forbidden, Invalid, NotFound, UnknownResource
from stateward.kube.objects.metadata import PartialObject
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.resources import HTTP_ROUTES, INGRESSES
from stateward.operator.beside.owned import GoingError, Owned, TakenError

KINDS: dict[str, Resource[PartialObject]] = {INGRESS: INGRESSES, HTTP_ROUTE: HTTP_ROUTES}
OFF = "RoutesOff"
Barred = Callable[[Route], Awaitable[str]]
"""Returns why a route may not show its certificate; empty if it may. Raises ApiError."""


async def keep_routes(
    owned: Owned,
    cluster: SearchCluster,
    desired: tuple[Route, ...],
    labels: dict[str, str],
    *,
    barred: Barred,
    on: bool,
) -> RoutesStatus | None:
    """Make the desired routes and remove others; returns the status, None if there is nothing to say. Raises ApiError.

    `on` is whether the operator makes routes.
    """
    before = cluster.status.routes
    if not on:
        return _without_the_right(desired, before)
    if not desired and before is None:
        return None
    urls, failure = list[str](), ("", "")
    for route in desired:
        why = await barred(route)
        reason, message = ("RouteSecretNotAllowed", why) if why else await _made(owned, cluster, route, labels)
        if reason:
            failure = failure if failure[0] else (reason, f"{route.field}: {message}")
        else:
            urls += route.urls
    left = await _others_removed(owned, cluster, desired)
    if not desired and not left:
        return None
    return RoutesStatus(urls=urls, reason=failure[0], message=failure[1])


def _without_the_right(desired: tuple[Route, ...], before: RoutesStatus | None) -> RoutesStatus | None:
    """Return the status of an operator that makes no routes; those that one made before stay, and are named."""
    urls, why = before.urls if before is not None else [], "the operator makes no routes (it runs without --routes)"
    if urls:
        text = f"routes that were made before stay as they are until their cluster is deleted: {why}"
        return RoutesStatus(urls=urls, reason=OFF, message=text)
    return RoutesStatus(reason=OFF, message=f"{desired[0].field} has no effect: {why}") if desired else None


async def _made(owned: Owned, cluster: SearchCluster, route: Route, labels: dict[str, str]) -> tuple[str, str]:
    """Make one route; returns why it is not made, as a reason and a sentence."""
    kind = KINDS[route.kind]
    try:
        await owned.apply(kind, manifest(route, cluster, labels))
    except (UnknownResource, NotFound) as error:
        if route.kind == HTTP_ROUTE:
            text = "the API server has no HTTPRoute: install the Gateway API, or leave parentRefs out for an Ingress"
            return "GatewayApiMissing", text
        return "RouteRefused", error.message
    except TakenError as error:
        return "RouteNameTaken", str(error)
    except GoingError as error:
        return "RouteEnding", str(error)
    except (Forbidden, BadRequest, Invalid) as error:
        return "RouteRefused", f"the API server says: {error.message[:300]}"
    return "", ""


async def _others_removed(owned: Owned, cluster: SearchCluster, desired: tuple[Route, ...]) -> bool:
    """Remove the routes that are not desired; returns whether any is left. Raises ApiError."""
    kept, left = {(route.kind, route.service) for route in desired}, False
    for kind, resource in KINDS.items():
        for name in (cluster.metadata.name, dashboards_name(cluster)):
            if (kind, name) in kept:
                continue
            try:
                left = not await owned.delete(resource, name) or left
            except UnknownResource:
                if kind != HTTP_ROUTE:  # Without the Gateway API there is none.
                    raise
    return left
