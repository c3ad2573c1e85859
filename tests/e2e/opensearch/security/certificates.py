"""cert-manager beside a sandbox: its controller as a program of this machine, its definitions in the API server."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from sandbox import Sandbox
from sandbox.progress import Progress
from sandbox.toolchain.certmanager import build_cert_manager
from tests.e2e.operators import kubectl

CONTROLLERS = (
    "issuers", "certificaterequests-approver", "certificaterequests-issuer-ca", "certificaterequests-issuer-selfsigned",
    "certificates-issuing", "certificates-key-manager", "certificates-readiness", "certificates-request-manager",
    "certificates-revision-manager", "certificates-trigger",
)  # fmt: skip
"""The issuer of certificates, without external authorities and gateways."""


@asynccontextmanager
async def cert_manager(sandbox: Sandbox, log: Path) -> AsyncGenerator[None]:
    """Run cert-manager until the block ends; its definitions stay in the sandbox."""
    built = await asyncio.to_thread(build_cert_manager, Progress())
    for path in built.definitions:
        definition = yaml.safe_load(path.read_text(encoding="utf-8"))
        definition["metadata"]["labels"] = {}  # they are templates of its chart
        apply(sandbox, definition)
        kubectl(
            sandbox, "wait", "--for=condition=Established", "--timeout=60s", f"crd/{definition['metadata']['name']}"
        )
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            built.program,
            f"--kubeconfig={sandbox.kubeconfig_path}",
            f"--controllers={','.join(CONTROLLERS)}",
            "--leader-elect=false",
            "--metrics-listen-address=127.0.0.1:0",
            stdout=output,
            stderr=output,
        )
        try:
            yield
            assert process.returncode is None, f"cert-manager has ended: see {log}"
        finally:
            if process.returncode is None:
                process.terminate()
            await process.wait()


def apply(sandbox: Sandbox, body: Mapping[str, Any]) -> None:
    kubectl(sandbox, "apply", "--server-side", "--force-conflicts", "-f", "-", stdin=json.dumps(body))


def issued(sandbox: Sandbox, namespace: str, kind: str, name: str, spec: Mapping[str, Any]) -> None:
    """Make an `Issuer` or a `Certificate`, and wait until cert-manager says that it is ready."""
    metadata = {"name": name, "namespace": namespace}
    apply(sandbox, {"apiVersion": "cert-manager.io/v1", "kind": kind, "metadata": metadata, "spec": dict(spec)})
    kubectl(sandbox, "wait", "-n", namespace, "--for=condition=Ready", "--timeout=120s", f"{kind}/{name}")


def renew(sandbox: Sandbox, namespace: str, name: str) -> None:
    """Renew a certificate early, as `cmctl renew` does, and wait for it."""
    condition = {
        "type": "Issuing",
        "status": "True",
        "reason": "ManuallyTriggered",
        "message": "asked for by a test",
        "lastTransitionTime": "2020-01-01T00:00:00Z",
    }
    patch = json.dumps([{"op": "add", "path": "/status/conditions/-", "value": condition}])
    where = ("-n", namespace, f"certificates/{name}")
    before = kubectl(sandbox, "get", *where, "-o", "jsonpath={.status.revision}")
    kubectl(sandbox, "patch", *where, "--subresource=status", "--type=json", "-p", patch)
    path = f"--for=jsonpath={{.status.revision}}={int(before) + 1}"
    kubectl(sandbox, "wait", *where, path, "--timeout=120s")
