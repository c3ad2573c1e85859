"""One authority followed by another on a running cluster: whom its members trust, and whom they show, step by step."""

import asyncio
import base64
import ssl
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization

from sandbox import Sandbox
from stateward import pki
from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.kube.client.client import ApplyOptions, PatchKind
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from stateward.pki.certificate import signer
from tests.e2e.clusters import Clusters, pool, settled
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import client, places, reached, ready, secret

NAME = "turned"
GIVEN = "company"
TRANSPORT = 9300


@dataclass(frozen=True)
class Doors:
    """The members' transport layers, as another member meets them."""

    ports: dict[str, int]
    folder: Path

    async def trusts(self, authority: pki.Pair) -> bool:
        """Return whether every member takes a certificate of this authority."""
        return all([await self._takes(port, authority) for port in self.ports.values()])

    async def shows(self, authority: pki.Pair) -> bool:
        """Return whether every member shows a certificate of this authority."""
        for port in self.ports.values():
            try:
                await self._open(port, self._context(authority, None))
            except ssl.SSLCertVerificationError:
                return False
            except OSError:
                continue  # It asks for a certificate as well, after its own was found good.
        return True

    async def _takes(self, port: int, authority: pki.Pair) -> bool:
        shown = pki.issue(authority, "visitor", ["visitor"], time.time(), 1)
        context = self._context(None, shown)
        try:
            await self._open(port, context)
        except OSError:
            return False
        return True

    async def _open(self, port: int, context: ssl.SSLContext) -> None:
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context, server_hostname=NAME)
        writer.close()

    def _context(self, trusted: pki.Pair | None, shown: pki.Pair | None) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        # With this version the answer to a client's certificate is part of the handshake.
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        if trusted is None:
            context.verify_mode = ssl.CERT_NONE
        else:
            context.load_verify_locations(cadata=trusted.certificate)
        if shown is not None:
            (self.folder / "tls.crt").write_text(shown.certificate)
            (self.folder / "tls.key").write_text(shown.key)
            context.load_cert_chain(self.folder / "tls.crt", self.folder / "tls.key")
        return context


async def give(clusters: Clusters, authority: pki.Pair) -> None:
    """Put an authority into the Secret as cert-manager does: its type, its files, its form of keys."""
    key = signer(authority).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {
            "name": GIVEN,
            "namespace": clusters.namespace,
            "labels": {"stateward.dev/allowed-for-pods": "true"},
        },
        "stringData": {"tls.crt": authority.certificate, "tls.key": key.decode(), "ca.crt": authority.certificate},
    }
    await clusters.api.apply(kinds.SECRETS, Key(clusters.namespace, GIVEN), body, ApplyOptions("test", force=True))


async def let_a_day_pass(clusters: Clusters) -> None:
    """Make the next authority a day older than it is: what the operator waits for besides is not shortened."""
    known = await secret(clusters.api, clusters.namespace, f"{NAME}-ca")
    earlier = base64.b64encode(str(int(known["next.since"]) - 86400).encode()).decode()
    patch = {"data": {"next.since": earlier}}
    await clusters.api.patch(kinds.SECRETS, Key(clusters.namespace, f"{NAME}-ca"), patch, kind=PatchKind.MERGE)


def rotation(words: str) -> Callable[[Cluster], bool]:
    def holds(cluster: Cluster) -> bool:
        security = cluster.status.security
        return settled(cluster) and security is not None and security.ca_rotation.startswith(words)

    return holds


async def soon(holds: Callable[[], Awaitable[bool]], what: str, seconds: float = 300.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not await holds():
        assert time.monotonic() < end, f"not in {seconds} s: {what}"
        await asyncio.sleep(1)


async def rotate(
    clusters: Clusters,
    stateward: Sandbox,
    operator: OperatorPods,
    folder: Path,
    version: str,
    roles: tuple[str, ...],
) -> None:
    """Require that one authority follows another: no restart, no lost document, no rejected certificate."""
    one, two = (pki.new_authority("company CA", time.time()).signs for _ in range(2))
    await give(clusters, one)
    security = {"enabled": True, "caSecretName": GIVEN, "certificateLifetime": "6m"}
    spec: dict[str, Any] = {"version": version, "pools": [pool("nodes", 3, *roles)], "security": security}
    await clusters.apply(NAME, **spec)
    await clusters.until(NAME, ready, seconds=600)
    before = await places(clusters, NAME)
    async with client(stateward, clusters, NAME) as person:
        assert (await person.ask("docs", "PUT", {"settings": {"number_of_replicas": 1}}))[0] == 200
        for number in range(20):
            assert (await person.ask(f"docs/_doc/{number}", "PUT", {"n": number}))[0] == 201
    with ExitStack() as stack:
        ports = {m: stack.enter_context(stateward.relay(ip, TRANSPORT)) for m, (_, ip, _) in before.items()}
        doors = Doors(ports, folder)
        assert await doors.trusts(one)
        assert not await doors.trusts(two)

        await give(clusters, two)
        await clusters.until(NAME, rotation("the next CA is trusted"))
        await soon(lambda: doors.trusts(two), "every running member trusts the next CA")
        assert await doors.trusts(one)
        assert await doors.shows(one)
        await operator.kill()
        await let_a_day_pass(clusters)

        await clusters.until(NAME, rotation("the last CA is trusted until"))
        await soon(lambda: doors.shows(two), "every running member shows a certificate of the next CA", 420)
        assert await doors.trusts(one)
        assert await doors.trusts(two)
    assert await places(clusters, NAME) == before
    await restart_one(clusters)
    assert await places(clusters, NAME) == before
    async with client(stateward, clusters, NAME) as person:
        await person.ask("docs/_refresh", "POST")
        assert (await person.ask("docs/_count"))[1]["count"] == 20
        health = (await person.ask("_cluster/health?wait_for_status=green&timeout=60s"))[1]
        assert (health["status"], health["number_of_nodes"]) == ("green", 3)


async def restart_one(clusters: Clusters) -> None:
    """Restart a process: it finds the others, and they it, by certificates of the authority that signs now."""
    patch = {"metadata": {"annotations": {names.ANNOTATION_PHASE: "schedule"}}}
    key = Key(clusters.namespace, names.pod(f"{NAME}-nodes-0"))
    await clusters.api.patch(kinds.PODS, key, patch, kind=PatchKind.MERGE)
    await reached(clusters, NAME, "start")
    await clusters.until(NAME, settled, seconds=300)
