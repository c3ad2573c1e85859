"""A secured member has TLS on both layers and no user but ours; one that is not has none of it."""

import json
from typing import Any

import pytest

from stateward.engines import opensearch
from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Answer, Target
from stateward.engines.search.configuration.configuration import config_files
from stateward.engines.search.configuration.security import alternatives
from stateward.engines.search.objects.inputs import inputs
from stateward.engines.search.spec.pools import ResolvedPool, resolve
from stateward.planning.facts.change import differing, effect_of
from stateward.planning.model.observation import Database, Effect
from tests.unit.engines.replay import ENDPOINT, Replay, recorded
from tests.unit.engines.search_clusters import cluster

ON: dict[str, Any] = {"enabled": True}


def pool(version: str = "2.19.3", status: dict[str, Any] | None = None, **security: Any) -> ResolvedPool:
    made = cluster(status=status, version=version, **({"security": security} if security else {}))
    return resolve(opensearch.OPENSEARCH, made)[0]


def settings(of: ResolvedPool, version: str = "2.19.3") -> dict[str, Any]:
    lines = config_files(of, 0, version)["opensearch.yml"].splitlines()
    return {key: json.loads(value) for key, _, value in (line.partition(": ") for line in lines)}


def test_a_secured_member_has_tls_on_both_layers() -> None:
    found = settings(pool(**ON))
    assert found["plugins.security.ssl.transport.pemcert_filepath"] == "tls/tls.crt"
    assert found["plugins.security.ssl.http.pemcert_filepath"] == "tls/http.crt"
    assert found["plugins.security.ssl.http.enabled"] is True
    assert len(found["plugins.security.nodes_dn"]) == len(found["plugins.security.authcz.admin_dn"]) == 1


def test_names_are_those_of_this_very_cluster() -> None:
    one = settings(pool(**ON))["plugins.security.nodes_dn"]
    other = cluster(security=ON)
    other.metadata.labels.clear()
    assert one == settings(resolve(opensearch.OPENSEARCH, other)[0])["plugins.security.nodes_dn"]
    assert len(one[0]) <= len("CN=") + 64
    assert "logs.prod.svc" in alternatives(other)
    assert "*.logs-members.prod.svc" in alternatives(other)


def test_the_demonstrations_users_do_not_come_in() -> None:
    assert "hash" not in config_files(pool(**ON), 0, "2.19.3")["internal_users.yml"]


@pytest.mark.parametrize("security", [{}, {"enabled": False}])
def test_a_member_that_is_not_secured_has_none_of_it(security: dict[str, Any]) -> None:
    assert not [key for key in settings(pool(**security)) if key.startswith("plugins")]
    assert "security" not in config_files(pool(**security), 0, "2.19.3")
    assert inputs(pool(**security), "2.19.3") == inputs(pool(), "2.19.3")


def test_switching_is_one_input_and_a_renewal_is_none_where_nodes_reload() -> None:
    assert differing(inputs(pool(), "2.19.3"), inputs(pool(**ON), "2.19.3")) == ("security",)
    one, other = ({"security": {"enabled": True, "certificatesDigest": mark}} for mark in ("a", "b"))
    assert inputs(pool(status=one), "2.19.3") == inputs(pool(status=other), "2.19.3")
    before, after = (inputs(pool("2.17.1", status), "2.17.1") for status in (one, other))
    assert differing(before, after) == ("certificates",)


def test_members_are_switched_together_and_in_their_pods() -> None:
    (pool,) = (pool for pool in opensearch.desired(cluster(security=ON)).pools if pool.name == "hot")
    assert pool.coordinated == {"security"}
    assert effect_of(pool, "security") is Effect.RESTART


def test_certificates_are_checked_again_only_by_versions_that_can() -> None:
    name = "plugins.security.ssl.certificates_hot_reload.enabled"
    assert settings(pool(**ON))[name] is True
    assert name not in settings(pool(**ON), "2.17.1")


def template(**security: Any) -> dict[str, Any]:
    made = cluster(**({"security": security} if security else {}))
    return opensearch.member_objects(made, "hot", 0, "2.19.3").workload["spec"]["template"]["spec"]


def test_the_probes_ask_what_needs_no_password() -> None:
    asked = template(**ON)["containers"][0]["readinessProbe"]["httpGet"]
    assert (asked["scheme"], asked["path"]) == ("HTTPS", "/_plugins/_security/health")
    assert template()["containers"][0]["readinessProbe"]["httpGet"]["scheme"] == "HTTP"


def test_every_pod_has_the_place_for_certificates() -> None:
    for made in (template(), template(**ON)):
        volume = next(volume for volume in made["volumes"] if volume["name"] == "tls")
        assert volume["secret"]["secretName"] == "logs-tls"
        assert volume["secret"]["optional"] is True


SECURED = "https://10.0.0.1:9200"
USERS = "/_plugins/_security/api/internalusers"
TARGET = Target((SECURED,), "probe", access=Access("logs.prod.svc", ""))


async def test_a_picture_reports_whether_it_came_over_a_secured_connection() -> None:
    replay = Replay(recorded("settled"), (SECURED, ENDPOINT))
    secured = await opensearch.driver(replay).observe(TARGET)
    plain = await opensearch.driver(replay).observe(Target((ENDPOINT,), "probe"))
    assert isinstance(secured, Database)
    assert isinstance(plain, Database)
    assert (secured.secured, plain.secured) == (True, False)
    assert replay.accesses == [TARGET.access]


async def test_an_administrator_is_made_and_one_that_is_there_keeps_his_password() -> None:
    bodies = {**recorded("settled"), f"GET {USERS}": {}, f"PUT {USERS}/admin": {"status": "CREATED"}}
    replay = Replay(bodies, (SECURED,)).put(f"PUT {USERS}/admin", Answer(201, b'{"status":"CREATED"}'))
    await opensearch.driver(replay).add_user(TARGET, "admin", "a password")
    assert [(request, body and body["backend_roles"]) for request, _, body in replay.told] == [
        (f"PUT {USERS}/admin", ["admin"])
    ]
    there = Replay({**bodies, f"GET {USERS}": {"admin": {"hash": ""}}}, (SECURED,))
    await opensearch.driver(there).add_user(TARGET, "admin", "another")
    assert there.told == []
