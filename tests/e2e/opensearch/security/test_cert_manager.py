"""A secured OpenSearch whose authority and certificate for clients are made, and renewed, by cert-manager itself."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest
from cryptography import x509

from sandbox import Sandbox
from stateward import pki
from tests.e2e.clusters import Clusters, pool
from tests.e2e.opensearch.security.certificates import cert_manager, issued, renew
from tests.e2e.secured import Client, client, ready, secret

pytestmark = [pytest.mark.e2e, pytest.mark.full]

NAME = "safe"


def shown(port: int, name: str, authority: str) -> int:
    """Return the serial number of the certificate that clients are shown who trust the company alone."""
    trust = ssl.create_default_context(cadata=authority)
    with (
        socket.create_connection(("127.0.0.1", port), 30) as plain,
        trust.wrap_socket(plain, server_hostname=name) as s,
    ):
        found = s.getpeercert(binary_form=True)
    assert found is not None
    return x509.load_der_x509_certificate(found).serial_number


def serial(pem: str) -> int:
    return x509.load_pem_x509_certificate(pki.split(pem)[0].encode()).serial_number


async def started(person: Client) -> dict[str, int]:
    """Return when each member's process was started."""
    status, answer = await person.ask("_nodes/jvm?filter_path=nodes.*.name,nodes.*.jvm.start_time_in_millis")
    assert status == 200, answer
    return {node["name"]: node["jvm"]["start_time_in_millis"] for node in answer["nodes"].values()}


@pytest.mark.images("opensearch:2.19.3")
async def test_certificates_of_cert_manager_are_used_and_their_renewal_restarts_nothing(
    clusters: Clusters, stateward: Sandbox, tmp_path: Path
) -> None:
    where, host = clusters.namespace, f"{NAME}.{clusters.namespace}.svc"
    async with cert_manager(stateward, tmp_path / "cert-manager.log"):
        by = {"issuerRef": {"name": "company"}, "duration": "24h"}
        issued(stateward, where, "Issuer", "root", {"selfSigned": {}})
        root = {"secretName": "company-root", "isCA": True, "commonName": "company root", "issuerRef": {"name": "root"}}
        issued(stateward, where, "Certificate", "company-root", root)
        issued(stateward, where, "Issuer", "company", {"ca": {"secretName": "company-root"}})
        anew = {"privateKey": {"rotationPolicy": "Always"}}
        allowed = {"secretTemplate": {"labels": {"stateward.dev/allowed-for-pods": "true"}}}
        own = {"secretName": "safe-own-ca", "isCA": True, "commonName": "safe CA", **anew, **allowed, **by}
        issued(stateward, where, "Certificate", "safe-own-ca", own)
        serving = {"secretName": "safe-http", "dnsNames": [host], **allowed, **by}
        issued(stateward, where, "Certificate", "safe-http", serving)

        security = {"enabled": True, "caSecretName": "safe-own-ca", "http": {"secretName": "safe-http"}}
        nodes = pool("nodes", 2, "cluster_manager", "data")
        await clusters.apply(NAME, version="2.19.3", pools=[nodes], security=security)
        await clusters.until(NAME, ready, seconds=600)
        company = (await secret(clusters.api, where, "safe-http"))["ca.crt"]
        authority = await secret(clusters.api, where, f"{NAME}-ca")
        first = await secret(clusters.api, where, "safe-own-ca")
        assert serial(authority["tls.crt"]) == serial(first["tls.crt"]), "it signs what members show each other"

        with stateward.relay(host, 9200) as port:
            leaf = serial((await secret(clusters.api, where, "safe-http"))["tls.crt"])
            assert await asyncio.to_thread(shown, port, host, company) == leaf
            async with client(stateward, clusters, NAME, company=company) as person:
                before = await started(person)
                assert (await person.ask("docs/_doc/1", "PUT", {"n": 1}))[0] == 201

            renew(stateward, where, "safe-http")
            renew(stateward, where, "safe-own-ca")
            fresh = serial((await secret(clusters.api, where, "safe-http"))["tls.crt"])
            assert fresh != leaf
            async with asyncio.timeout(300):
                while await asyncio.to_thread(shown, port, host, company) != fresh:
                    await asyncio.sleep(1)

        second = await secret(clusters.api, where, "safe-own-ca")
        async with asyncio.timeout(120):
            while second["tls.crt"] not in (await secret(clusters.api, where, f"{NAME}-ca"))["ca.crt"]:
                await asyncio.sleep(1)
        trusted = await secret(clusters.api, where, f"{NAME}-ca")
        assert serial(trusted["tls.crt"]) == serial(first["tls.crt"]), (
            "the next one is trusted for a day before it signs"
        )
        await clusters.until(NAME, ready, seconds=300)
        async with client(stateward, clusters, NAME, company=company) as person:
            assert await started(person) == before
            assert (await person.ask("docs/_doc/1"))[1]["_source"] == {"n": 1}
