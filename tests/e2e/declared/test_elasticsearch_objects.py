"""Declared objects and users on a real secured Elasticsearch.

Its distribution in the sandbox has no module for text analysis, without which it stores no role and no user of its own:
a plug-in of the sandbox has what it needs.
"""

from typing import Any

import pytest

from sandbox import Sandbox
from stateward.operator.objects.kinds import ELASTICSEARCH, ClusterKind
from tests.e2e.clusters import Clusters, pool
from tests.e2e.declared.authentication import directory, with_password
from tests.e2e.declared.definitions import PLUGINS, definitions_change
from tests.e2e.declared.objects import BODIES, SearchObjects, live_and_die, stalled
from tests.e2e.declared.users import application_uses
from tests.e2e.metrics.scraping import ELASTICSEARCH as EXPORTER
from tests.e2e.metrics.scraping import scraped, served, total
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import Client, client, places, ready

pytestmark = [pytest.mark.e2e, pytest.mark.full]


@pytest.fixture
def cluster_kind() -> ClusterKind:
    return ELASTICSEARCH


SECURED: dict[str, tuple[str, dict[str, Any]]] = {
    **BODIES,
    "role": (
        "role/reader",
        {"cluster": ["monitor"], "indices": [{"names": ["logs-*"], "privileges": ["read", "view_index_metadata"]}]},
    ),
    "mapping": (
        "roleMapping/reader",
        {"roles": ["reader"], "enabled": True, "rules": {"field": {"groups": "cn=readers"}}},
    ),
}
APPLICATION = ("role/reader", {"indices": [{"names": ["logs-*"], "privileges": ["read"]}]})
REALM = "xpack.security.authc.realms.ldap.company"


@pytest.mark.images("elasticsearch:8.19.4", "stateward.dev/elasticsearch-plugins:1")
async def test_objects_of_a_secured_database_are_declared_corrected_and_deleted(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods
) -> None:
    nodes = pool("nodes", 1, "master", "data", "ingest")
    spec = {"version": "8.19.4", "pools": [nodes], "security": {"enabled": True}, **PLUGINS}
    await clusters.apply("safe", **spec)
    await clusters.until("safe", ready, seconds=600)
    objects = SearchObjects(clusters, "safe")
    async with client(stateward, clusters, "safe") as person:
        await live_and_die(objects, SECURED, person, operator)
        status, settings = await person.ask("_cluster/settings?flat_settings=true")
        assert (status, settings["persistent"]) == (200, {})
        for path in ("role/reader", "role_mapping/reader"):
            assert (await person.ask(f"_security/{path}"))[0] == 404
        await definitions_change(objects, person, operator)
        await application_uses(clusters, stateward, operator, "safe", APPLICATION)
        await an_exporter_has_its_own_user(clusters, stateward, spec, person)
        await objects.declare("super", "role/superuser", {"cluster": []}, existing="Adopt")
        await objects.until("super", stalled("Protected"))


async def an_exporter_has_its_own_user(
    clusters: Clusters, stateward: Sandbox, spec: dict[str, Any], person: Client
) -> None:
    """Require that the exporter of metrics reads the database by a user of its own, which goes with it."""
    before = await places(clusters, "safe")
    await clusters.apply("safe", **spec, metrics={})
    await clusters.until("safe", served, seconds=300)
    async with scraped(stateward, clusters, "safe") as scrape:
        assert total(await scrape(), "stateward_database_up") == 1
    await EXPORTER.are_least(stateward, clusters, "safe")
    await clusters.apply("safe", **spec)
    await clusters.until("safe", lambda c: c.status.metrics is None, seconds=180)
    await EXPORTER.are_gone(clusters, "safe", person)
    assert await places(clusters, "safe") == before


@pytest.mark.images("elasticsearch:8.19.4", "stateward.dev/slapd:1")
async def test_people_of_a_directory_are_accepted_by_a_realm(clusters: Clusters, stateward: Sandbox) -> None:
    # The licence for a trial, which Elasticsearch gives itself, has all realms.
    server = await directory(stateward, clusters.namespace)
    realm = {
        "order": 2,
        "url": f"ldap://{server.address}",
        "bind_dn": "cn=search,dc=example,dc=com",
        "user_search": {"base_dn": "ou=people,dc=example,dc=com", "filter": "(uid={0})"},
        "group_search": {"base_dn": "ou=groups,dc=example,dc=com"},
        "unmapped_groups_as_roles": True,
    }
    secure = {"key": "password", "setting": f"{REALM}.secure_bind_password"}
    await clusters.apply(
        "safe",
        version="8.19.4",
        pools=[pool("nodes", 1, "master", "data", "ingest")],
        security={"enabled": True},
        config={"xpack.license.self_generated.type": "trial", REALM: realm},
        secureSettings=[{"secretName": "directory", "entries": [secure]}],
    )
    await clusters.until("safe", ready, seconds=600)
    async with client(stateward, clusters, "safe") as person:
        status, found = await with_password(person, "the-password-of-anna").ask("_security/_authenticate")
        # Elasticsearch gives everyone the role of the probes, as it lets them in without a name.
        assert (status, found["username"], set(found["roles"])) == (200, "anna", {"orders", "stateward_probe"})
        assert found["authentication_realm"]["type"] == "ldap"
        assert (await with_password(person, "another").ask("_security/_authenticate"))[0] == 401
