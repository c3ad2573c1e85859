"""Routes are made only by an operator that may, lead to the right port, and go with their field."""

from typing import Any

import pytest

from stateward.api.values import names
from stateward.kube.objects.errors import UnknownResource
from stateward.kube.objects.metadata import Key
from stateward.simulation.apiserver.client import WorldApi
from tests.unit.operator.dashboards.world import HOME, NAME, World

INGRESSES = "networking.k8s.io/ingresses"
HTTP_ROUTES = "gateway.networking.k8s.io/httproutes"
PLAIN: dict[str, Any] = {"hosts": ["logs.example.com"], "ingressClassName": "nginx", "tlsSecretName": "logs-example"}
GATEWAY: dict[str, Any] = {"hosts": ["ui.example.com"], "parentRefs": [{"name": "public", "namespace": "edge"}]}


def routes(world: World) -> dict[str, Any]:
    return world.cluster_object().doc.get("status", {}).get("routes") or {}


def routed(**labels: str) -> World:
    """Return a world whose operator makes routes, with the certificate that they show."""
    world = World()
    world.routes = True
    world.secret("logs-example", labels or {names.LABEL_ALLOWED: "true"})
    return world


async def test_a_certificate_of_others_is_shown_only_with_their_consent() -> None:
    """The right to write a cluster was the right to serve any host with every certificate of the namespace."""
    world = routed(team="payments")
    world.edit(routes=PLAIN)
    async with world.operator():
        await world.until(lambda: routes(world).get("reason") == "RouteSecretNotAllowed")
        assert routes(world)["message"].startswith(
            "spec.routes: tlsSecretName: Secret logs-example must have the label stateward.dev/allowed-for-pods: true"
        )
        assert not world.store.all(INGRESSES)
        live = world.store.get("/secrets", Key(HOME, "logs-example"))
        assert live is not None
        allowing = {**live.meta, "labels": {names.LABEL_ALLOWED: NAME}}
        world.store.put("/secrets", {**live.doc, "metadata": allowing}, live.managers)
        await world.until(lambda: routes(world).get("urls") == ["https://logs.example.com"])


async def test_without_the_flag_nothing_is_made_and_the_reason_says_what_to_do() -> None:
    world = World()
    world.edit(routes=PLAIN, dashboards={"routes": GATEWAY})
    async with world.operator():
        await world.until(lambda: routes(world).get("reason") == "RoutesOff")
        assert "--routes" in routes(world)["message"]
        await world.until(world.available)
    assert not world.store.all(INGRESSES)
    assert not world.store.all(HTTP_ROUTES)


async def test_an_ingress_and_an_http_route_lead_to_the_database_and_to_the_dashboards() -> None:
    world = routed()
    world.edit(routes=PLAIN, dashboards={"routes": GATEWAY})
    async with world.operator():
        await world.until(lambda: len(routes(world).get("urls", [])) == 2 and world.available())
        assert routes(world)["urls"] == ["https://logs.example.com", "https://ui.example.com"]
        (ingress,), (route,) = world.store.all(INGRESSES), world.store.all(HTTP_ROUTES)
        (rule,) = ingress.doc["spec"]["rules"]
        assert rule["host"] == "logs.example.com"
        assert rule["http"]["paths"][0]["backend"] == {"service": {"name": NAME, "port": {"number": 9200}}}
        assert ingress.doc["spec"]["ingressClassName"] == "nginx"
        assert ingress.doc["spec"]["tls"] == [{"hosts": ["logs.example.com"], "secretName": "logs-example"}]
        assert ingress.meta["annotations"] == {"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS"}
        assert route.doc["spec"] == {
            "parentRefs": [{"name": "public", "namespace": "edge"}],
            "hostnames": ["ui.example.com"],
            "rules": [{"backendRefs": [{"name": "logs-dashboards", "port": 5601}]}],
        }
        world.edit(routes=None, dashboards={})
        await world.until(lambda: not routes(world))
    assert not world.store.all(INGRESSES)
    assert not world.store.all(HTTP_ROUTES)


async def test_routes_of_an_operator_that_makes_none_any_more_stay_and_are_named() -> None:
    world = routed()
    world.edit(routes=PLAIN)
    async with world.operator():
        await world.until(lambda: routes(world).get("urls"))
    world.routes = False
    world.edit(routes=None)
    async with world.operator():
        await world.until(lambda: routes(world).get("reason") == "RoutesOff")
    assert routes(world)["urls"] == ["https://logs.example.com"]
    assert len(world.store.all(INGRESSES)) == 1


async def test_a_foreign_ingress_of_the_name_is_neither_changed_nor_deleted() -> None:
    world = routed()
    theirs = {"metadata": {"name": NAME}, "spec": {"rules": [{"host": "theirs"}]}}
    world.server.create(INGRESSES, HOME, {"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", **theirs})
    world.edit(routes=PLAIN)
    async with world.operator():
        await world.until(lambda: routes(world).get("reason") == "RouteNameTaken")
        world.edit(routes=None)
        await world.until(lambda: not routes(world))
    found = world.store.get(INGRESSES, Key(HOME, NAME))
    assert found is not None
    assert found.doc["spec"] == theirs["spec"]


async def test_without_the_gateway_api_the_reason_says_so_and_dashboards_run(monkeypatch: pytest.MonkeyPatch) -> None:
    world = routed()
    get = WorldApi.get

    async def missing(self: WorldApi, resource: Any, key: Key) -> Any:
        if resource.plural == "httproutes":
            raise UnknownResource("the server could not find the requested resource")
        return await get(self, resource, key)

    monkeypatch.setattr(WorldApi, "get", missing)
    world.edit(dashboards={"routes": GATEWAY})
    async with world.operator():
        await world.until(lambda: routes(world).get("reason") == "GatewayApiMissing")
        await world.until(world.available)
        world.edit(dashboards={"routes": PLAIN})
        await world.until(lambda: routes(world).get("urls") == ["https://logs.example.com"])


async def test_routes_that_cannot_be_read_for_now_are_not_taken_for_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disaster this prevents: an Ingress stays, and the status that names it is gone."""
    world = routed()
    world.edit(routes=PLAIN)
    get = WorldApi.get

    async def missing(self: WorldApi, resource: Any, key: Key) -> Any:
        if resource.plural == "ingresses":
            raise UnknownResource("the server could not find the requested resource")
        return await get(self, resource, key)

    async with world.operator():
        await world.until(lambda: routes(world).get("urls") == ["https://logs.example.com"])
        monkeypatch.setattr(WorldApi, "get", missing)
        world.edit(routes=None)
        await world.until(lambda: routes(world).get("reason") == "RouteFailing")
        assert routes(world)["urls"] == ["https://logs.example.com"]
        monkeypatch.setattr(WorldApi, "get", get)
        await world.until(lambda: not routes(world))
    assert not world.store.all(INGRESSES)


async def test_an_invalid_route_is_said_and_the_database_keeps_its_other_one() -> None:
    world = routed()
    live = world.cluster_object()
    bad = {**GATEWAY, "ingressClassName": "nginx"}
    world.store.put(live.kind, {**live.doc, "spec": {**live.doc["spec"], "routes": bad}}, live.managers)
    async with world.operator():
        await world.until(lambda: routes(world).get("reason") == "RouteInvalid")


async def test_a_route_that_stays_while_the_spec_is_invalid_stays_named_also_by_an_operator_without_routes() -> None:
    """The disaster this prevents: an Ingress stays, and the status that names it is gone."""
    world = routed()
    world.edit(routes=PLAIN)
    async with world.operator():
        await world.until(lambda: routes(world).get("urls") == ["https://logs.example.com"])
        live = world.cluster_object()
        bad = {**GATEWAY, "ingressClassName": "nginx"}
        world.store.put(live.kind, {**live.doc, "spec": {**live.doc["spec"], "routes": bad}}, live.managers)
        await world.until(lambda: routes(world).get("reason") == "RouteInvalid")
        assert routes(world)["urls"] == ["https://logs.example.com"]
    world.routes = False
    world.edit(routes=None)
    async with world.operator():
        await world.until(lambda: routes(world).get("reason") == "RoutesOff")
    assert routes(world)["urls"] == ["https://logs.example.com"]
    assert len(world.store.all(INGRESSES)) == 1
