"""Secrets as cert-manager writes and renews them, on a real API server: taken as they are, followed, and left alone.

Their type, files, labels and annotations are those that cert-manager documents; it does not run here itself.
"""

import base64
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

from stateward import pki
from stateward.api.kinds.search import OpenSearchCluster
from stateward.kube.client.client import Api, ApplyOptions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import SystemClock
from stateward.operator.objects.caches import CLUSTERS, Caches
from stateward.operator.security.given_secrets import LOOK_AGAIN, text_content
from stateward.operator.security.own_secrets import RAW_SECRETS
from stateward.operator.security.security import Keeper, Kept
from stateward.pki.authority import SETTLING
from stateward.pki.certificate import pem
from tests.integration.api_server import define, own_namespace

pytestmark = pytest.mark.integration
DAY = timedelta(days=1)


class Time(SystemClock):
    """A clock that is moved ahead."""

    ahead = timedelta()

    def now(self) -> datetime:
        return super().now() + self.ahead


class Signed:
    """A certificate with an RSA key in PKCS #1, as cert-manager makes by default."""

    def __init__(self, name: str, by: "Signed | None", *, names: tuple[str, ...] = (), days: int = 90) -> None:
        self.key = rsa.generate_private_key(65537, 2048)
        self.by = by
        now = datetime.now(UTC)
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(by.certificate.subject if by else subject)
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(minutes=1))
            .not_valid_after(now + days * DAY)
            .add_extension(x509.BasicConstraints(ca=not names, path_length=None), critical=True)
        )
        if names:
            alternatives = x509.SubjectAlternativeName([x509.DNSName(each) for each in names])
            builder = builder.add_extension(alternatives, critical=False)
        self.certificate = builder.sign((by or self).key, hashes.SHA256())

    @property
    def chain(self) -> str:
        """The content of tls.crt: the certificate and those above it, without the root."""
        above = self.by.chain if self.by is not None and self.by.by is not None else ""
        return pem(self.certificate) + above

    @property
    def root(self) -> str:
        """The content of ca.crt."""
        return self.by.root if self.by is not None else pem(self.certificate)

    def files(self) -> dict[str, str]:
        form = serialization.PrivateFormat.TraditionalOpenSSL
        key = self.key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
        return {"tls.crt": self.chain, "tls.key": key.decode(), "ca.crt": self.root}


class ClusterAndOperator:
    """A namespace with a cluster that takes its certificates from cert-manager's Secrets."""

    def __init__(self, api: Api, cluster: OpenSearchCluster) -> None:
        self.api, self.cluster, self.time = api, cluster, Time()
        self.keeper = Keeper(api, Caches(), self.time)
        self.namespace = cluster.metadata.namespace
        self.name = f"logs.{self.namespace}.svc"

    async def write(self, name: str, signed: Signed) -> dict[str, Any]:
        """Write a Secret as cert-manager does, and return what the API server has of it."""
        annotations = {
            "alt-names": self.name,
            "certificate-name": name,
            "common-name": "",
            "ip-sans": "",
            "issuer-group": "cert-manager.io",
            "issuer-kind": "ClusterIssuer",
            "issuer-name": "company",
            "uri-sans": "",
        }
        body = {
            "apiVersion": "v1",
            "kind": "Secret",
            "type": "kubernetes.io/tls",
            "metadata": {
                "name": name,
                "namespace": self.namespace,
                "labels": {"controller.cert-manager.io/fao": "true"},
                "annotations": {f"cert-manager.io/{key}": value for key, value in annotations.items()},
            },
            "data": {key: base64.b64encode(value.encode()).decode() for key, value in signed.files().items()},
        }
        options = ApplyOptions("cert-manager-certificates-issuing", force=True)
        await self.api.apply(kinds.SECRETS, Key(self.namespace, name), body, options)
        return await self.api.get(RAW_SECRETS, Key(self.namespace, name))

    async def kept(self, *, later: timedelta = timedelta(0)) -> Kept:
        """Look at the Secrets after a time in which they are read again."""
        self.time.ahead += later + timedelta(seconds=LOOK_AGAIN + 1)
        return await self.keeper.keep(self.cluster)

    async def files(self, name: str) -> dict[str, str]:
        return dict(text_content(await self.api.get(RAW_SECRETS, Key(self.namespace, name))))


@pytest.fixture
async def cluster(control_plane: Path) -> AsyncGenerator[ClusterAndOperator]:
    async with own_namespace(control_plane, "cert-manager") as (api, namespace):
        await define(api, CLUSTERS)
        body = {
            "apiVersion": CLUSTERS.api_version,
            "kind": CLUSTERS.kind,
            "metadata": {"name": "logs", "namespace": namespace},
            "spec": {
                "version": "2.19.3",
                "pools": [{"name": "all", "replicas": 3, "roles": ["cluster_manager", "data"]}],
                "security": {
                    "enabled": True,
                    "caSecretName": "logs-own-ca",
                    "http": {"secretName": "logs-http"},
                },
            },
        }
        yield ClusterAndOperator(api, await api.apply(CLUSTERS, Key(namespace, "logs"), body, ApplyOptions("person")))


async def test_what_cert_manager_renews_is_followed_and_its_secrets_stay_so(
    cluster: ClusterAndOperator,
) -> None:
    root = Signed("company root", None, days=3650)
    team = Signed("team CA", root, days=365)
    first, leaf = Signed("logs CA", team), Signed("logs", team, names=(cluster.name, "logs.example.com"))
    theirs = [await cluster.write("logs-own-ca", first), await cluster.write("logs-http", leaf)]

    kept = await cluster.kept()
    assert kept.protection is not None
    assert (kept.protection.enabled, kept.protection.faults) == (True, {})
    members, authority = await cluster.files("logs-tls"), await cluster.files("logs-ca")
    assert pki.split(members["http.crt"])[0] == pem(leaf.certificate)
    assert pem(team.certificate) in members["http.crt"], "clients know the root and not what is between"
    assert members["http.key"].startswith("-----BEGIN PRIVATE KEY-----"), "Java reads no other form"
    assert pki.split(authority["tls.crt"])[0] == pem(first.certificate)
    assert kept.access is not None
    assert root.root in kept.access.trusted

    again = Signed("logs", team, names=(cluster.name, "logs.example.com"))
    renewed = await cluster.write("logs-http", again)
    assert (await cluster.kept()).protection is not None
    after = await cluster.files("logs-tls")
    assert pki.split(after["http.crt"])[0] == pem(again.certificate)
    assert after["tls.crt"] == members["tls.crt"], "the members' own certificate is the CA's, and was not due"

    second = Signed("logs CA", team)
    theirs = [await cluster.write("logs-own-ca", second), renewed]
    await cluster.kept()
    both = await cluster.files("logs-ca")
    assert pki.split(both["tls.crt"])[0] == pem(first.certificate)
    assert {pem(first.certificate), pem(second.certificate)} <= set(pki.split(both["ca.crt"]))
    await cluster.kept(later=timedelta(seconds=SETTLING))
    signs = await cluster.files("logs-ca")
    assert pki.split(signs["tls.crt"])[0] == pem(second.certificate)
    assert pem(first.certificate) in signs["ca.crt"]

    for before in theirs:
        name = before["metadata"]["name"]
        now = await cluster.api.get(RAW_SECRETS, Key(cluster.namespace, name))
        assert now["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"], f"{name} was written"


async def test_an_unsuitable_certificate_is_reported_and_the_previous_one_stays(cluster: ClusterAndOperator) -> None:
    root = Signed("company root", None)
    good, ca = Signed("logs", root, names=(cluster.name,)), Signed("logs CA", root)
    await cluster.write("logs-own-ca", ca)
    await cluster.write("logs-http", good)
    await cluster.kept()
    before = await cluster.files("logs-tls")
    for name, wrong, said in (
        ("logs-http", Signed("logs", root, names=("logs.example.com",)), cluster.name),
        ("logs-own-ca", Signed("logs", root, names=(cluster.name,)), "isCA: true"),
    ):
        await cluster.write(name, wrong)
        kept = await cluster.kept()
        assert kept.protection is not None
        assert said in str(kept.protection.faults)
        assert await cluster.files("logs-tls") == before
