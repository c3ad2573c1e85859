"""OpenSearch 3 on real processes: a cluster comes to it from the last 2.x."""

import pytest

from sandbox import Sandbox
from tests.e2e.clusters import Clusters, pool
from tests.e2e.declared.objects import SearchObjects, applied
from tests.e2e.declared.users import application_of, application_uses, declare_user
from tests.e2e.lives import MEMORY, Life
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import client, ready, secret

pytestmark = [pytest.mark.e2e, pytest.mark.full]

ROLES = ("cluster_manager", "data", "ingest")
READS = {"index_permissions": [{"index_patterns": ["logs-*"], "allowed_actions": ["read"]}]}


@pytest.mark.images("opensearch:2.19.5", "opensearch:3.4.0")
async def test_a_cluster_lives_on_through_the_upgrade_to_3(clusters: Clusters, operator: OperatorPods) -> None:
    await Life(clusters, operator, "2.19.5", "3.4.0", ROLES).plain()


@pytest.mark.images("opensearch:2.19.3", "opensearch:3.4.0")
async def test_a_secured_cluster_lives_on_through_the_upgrade_to_3(
    clusters: Clusters, securing: Sandbox, operator: OperatorPods
) -> None:
    await Life(clusters, operator, "2.19.3", "3.4.0", ROLES).secured(securing)


@pytest.mark.images("opensearch:2.19.3", "opensearch:3.4.0")
async def test_what_is_declared_of_users_is_the_same_after_the_upgrade_to_3_and_can_be_changed(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods
) -> None:
    nodes = [pool("nodes", 3, *ROLES, resources=MEMORY)]
    await clusters.apply("safe", version="2.19.3", pools=nodes, security={"enabled": True})
    await clusters.until("safe", ready, seconds=600)
    objects = SearchObjects(clusters, "safe")
    await objects.declare("orders", "role/orders", READS)
    await objects.until("orders", applied)
    await declare_user(clusters, "safe", "orders", roles=["orders"])
    before = await secret(clusters.api, clusters.namespace, "orders-connection")
    async with client(stateward, clusters, "safe") as person:
        assert (await person.ask("logs-1/_doc/1", "PUT", {"n": 1}))[0] == 201

    await clusters.apply("safe", version="3.4.0", pools=nodes, security={"enabled": True})
    await clusters.until("safe", lambda c: ready(c) and c.status.version == "3.4.0", seconds=900)
    assert await secret(clusters.api, clusters.namespace, "orders-connection") == before
    assert applied(await objects.get("orders"))
    async with application_of(stateward, before) as application:
        assert (await application.ask("logs-1/_doc/1"))[1]["_source"] == {"n": 1}
        assert (await application.ask("other", "PUT", {}))[0] == 403
    await application_uses(clusters, stateward, operator, "safe", ("role/reader", READS))
