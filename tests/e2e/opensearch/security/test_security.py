"""Secured clusters on real OpenSearch: born with TLS and one user, switched with data, certificates renewed."""

import asyncio
import ssl

import pytest

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from stateward.planning.model.times import parse_time
from tests.e2e.clusters import Clusters, condition, pool, settled
from tests.e2e.lives import MEMORY
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import client, on_versions, ready, switch_on_and_off

pytestmark = [pytest.mark.e2e, pytest.mark.full]

SECURED = "2.19.3"


@on_versions("2.19.3", "3.4.0")
async def test_a_secured_cluster_lives_and_its_certificates_are_renewed_without_a_restart(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods, version: str
) -> None:
    """Access needs a password, a renewal causes no restart, and the operator may be killed meanwhile."""
    nodes = pool("nodes", 2, "cluster_manager", "data", "ingest", resources=MEMORY)
    security = {"enabled": True, "certificateLifetime": "6m"}
    await clusters.apply("safe", version=version, pools=[nodes], security=security)
    born = await clusters.until("safe", ready, seconds=600)
    assert born.status.health == "green"
    pods = {name: pod.metadata.uid for name, pod in (await clusters.pods("safe")).items()}
    async with client(stateward, clusters, "safe", known=False) as stranger:
        assert (await stranger.ask("_cat/indices"))[0] == 401
    async with client(stateward, clusters, "safe") as person:
        settings = {"settings": {"number_of_replicas": 1}}
        assert (await person.ask("docs", "PUT", settings))[0] == 200
        for number in range(20):
            assert (await person.ask(f"docs/_doc/{number}", "PUT", {"n": number}))[0] == 201

    before = born.status.security
    assert before is not None
    await operator.kill()

    def renewed(cluster: Cluster) -> bool:
        now = cluster.status.security
        return now is not None and now.certificates_digest != before.certificates_digest and settled(cluster)

    after = await clusters.until("safe", renewed, seconds=420)
    assert after.status.security is not None
    ends = parse_time(after.status.security.certificates_expiration_time) or 0.0
    assert ends > (parse_time(before.certificates_expiration_time) or 0.0)
    await shown(clusters, stateward, "safe", ends)
    assert {name: pod.metadata.uid for name, pod in (await clusters.pods("safe")).items()} == pods
    async with client(stateward, clusters, "safe") as person:
        assert (await person.ask("docs/_refresh", "POST"))[0] == 200
        assert (await person.ask("docs/_count"))[1]["count"] == 20


async def shown(clusters: Clusters, sandbox: Sandbox, name: str, ends: float) -> None:
    """Wait until the database shows the certificate that ends then."""
    async with asyncio.timeout(120):
        while True:
            async with client(sandbox, clusters, name) as person:
                status, answer = await person.ask("")
                assert status == 200, answer
                _, writer = await asyncio.open_connection(
                    "127.0.0.1", int(person.url.rpartition(":")[2]), ssl=person.trust, server_hostname=person.name
                )
                found = writer.get_extra_info("peercert")["notAfter"]
                writer.close()
                if abs(ssl.cert_time_to_seconds(found) - ends) < 2:
                    return
            await asyncio.sleep(2)


@on_versions("2.19.3", "3.4.0")
async def test_security_is_switched_on_and_off_with_data_in_kept_pods(
    clusters: Clusters, stateward: Sandbox, operator: OperatorPods, version: str
) -> None:
    await switch_on_and_off(clusters, stateward, operator, version, ("cluster_manager", "data", "ingest"))


@pytest.mark.images("opensearch:2.19.3")
async def test_a_secret_that_cannot_be_used_is_named_and_nothing_is_made(clusters: Clusters) -> None:
    nodes = pool("nodes", 1, "cluster_manager", "data")
    await clusters.apply("unsafe", version=SECURED, pools=[nodes], security={"enabled": True, "caSecretName": "none"})
    refused = await clusters.until("unsafe", lambda c: condition(c, "Stalled") == "True", seconds=60)
    assert any("there is no such Secret" in wait.message for wait in refused.status.waiting)
    assert await clusters.pods("unsafe") == {}
