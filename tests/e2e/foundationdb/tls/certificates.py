"""The certificates of a cluster with TLS: read from its Secrets, renewed; command lines with others, or with none."""

import asyncio
import base64
import subprocess
from datetime import UTC, datetime

from stateward import pki
from tests.e2e.foundationdb.database import FILE, RUN, Fdb
from tests.e2e.operators import kubectl

SECURITY = {"enabled": True, "certificateLifetime": "6m"}
BARE = "unset FDB_TLS_CERTIFICATE_FILE FDB_TLS_KEY_FILE"
CLIENT = """
cd "$(mktemp -d -p /stateward/run)"
printf %s "$1" >tls.crt; printf %s "$2" >tls.key; printf %s "$3" >ca.crt; export FDB_TLS_VERIFY_PEERS="$4"; shift 4
export FDB_TLS_CERTIFICATE_FILE=$PWD/tls.crt FDB_TLS_KEY_FILE=$PWD/tls.key FDB_TLS_CA_FILE=$PWD/ca.crt
"""
"""A client's environment, as the documentation describes it."""


def now() -> float:
    return datetime.now(UTC).timestamp()


def secret(fdb: Fdb, name: str, file: str) -> str:
    """Return a file of a Secret."""
    path = "jsonpath={.data." + file.replace(".", r"\.") + "}"
    where = ["get", "-n", fdb.clusters.namespace, "secret", name, "-o", path]
    return base64.b64decode(kubectl(fdb.sandbox, *where)).decode()


async def renewed(fdb: Fdb, name: str, before: str) -> None:
    """Wait until the members' certificate is another one, and the first has expired; raises TimeoutError."""
    async with asyncio.timeout(600):
        while secret(fdb, f"{name}-tls", "tls.crt") == before or pki.ends(before) > now():
            await asyncio.sleep(2)


def as_client(fdb: Fdb, name: str, pod: str, command: str) -> str:
    """Return what a command prints with the certificate for clients."""
    files = [secret(fdb, f"{name}-client-tls", file) for file in ("tls.crt", "tls.key", "ca.crt", "verify_peers")]
    return _told(fdb, pod, CLIENT, *files, command=command)


def as_stranger(fdb: Fdb, pod: str, command: str) -> str:
    """Return what a command prints without a certificate."""
    return _told(fdb, pod, BARE, command=command)


def _told(fdb: Fdb, pod: str, before: str, *files: str, command: str) -> str:
    """Return what a command prints, also when it fails."""
    words = [*files, "-C", FILE, "--timeout", "10", "--exec", command]
    where = ["exec", "-n", fdb.clusters.namespace, pod, "-c", "foundationdb", "--"]
    try:
        return fdb.sandbox.kubectl(*where, "sh", "-c", f"{before}\n{RUN}", "fdbcli", *words, timeout=60)
    except subprocess.CalledProcessError as error:
        return f"{error.stdout}{error.stderr}"
