"""KEDA as its own files install it, and the ScaledObject of the documents, with numbers that suit a test."""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sandbox import Sandbox
from sandbox.toolchain.programs import keda_manifests
from tests.e2e.beside import Server
from tests.e2e.opensearch.scaling.autoscaler import external_metrics, remove_external_metrics
from tests.e2e.opensearch.scaling.sized_pools import VALUE, Load
from tests.e2e.operators import kubectl

IMAGE = "stateward.dev/keda:1"
NAMESPACE = "keda"
DEPLOYMENTS = ("keda-operator", "keda-metrics-apiserver")
USER = 65532
"""The user of KEDA in its own images."""
RIGHTS = [
    {"apiGroups": ["stateward.dev"], "resources": ["poolscales"], "verbs": ["get"]},
    {"apiGroups": ["stateward.dev"], "resources": ["poolscales/scale"], "verbs": ["get", "update"]},
]
"""What KEDA's operator is allowed for PoolScales, in place of its rights to objects of all kinds."""
PAGE = Path(__file__).parents[4] / "docs/scaling.md"
PORT = 8080
_SERVE = """
import http.server, json, sys
port, value = sys.argv[1:]

class Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        text = json.dumps({"waiting": int(open(value).read())}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

http.server.ThreadingHTTPServer(("", int(port)), Answers).serve_forever()
"""


@asynccontextmanager
async def keda(sandbox: Sandbox) -> AsyncGenerator[None]:
    """Install KEDA without its webhook, with no right to objects of other kinds, and remove it in the end."""
    image = await asyncio.to_thread(sandbox.load_image, IMAGE)
    documents = [_adapted(each, image) for file in keda_manifests() for each in yaml.safe_load_all(file.read_text())]
    made = yaml.safe_dump_all(documents)
    apply = ("apply", "--server-side", "--force-conflicts", "-f", "-")
    try:
        definitions = [each for each in documents if each["kind"] in {"Namespace", "CustomResourceDefinition"}]
        kubectl(sandbox, *apply, stdin=yaml.safe_dump_all(definitions))
        kubectl(sandbox, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
        kubectl(sandbox, *apply, stdin=made)
        for name in DEPLOYMENTS:
            words = ("-n", NAMESPACE, "rollout", "status", f"deployment/{name}", "--timeout=240s")
            await asyncio.to_thread(kubectl, sandbox, *words)
        await external_metrics(sandbox)
        yield
    finally:
        await remove_external_metrics(sandbox)
        await asyncio.to_thread(kubectl, sandbox, "delete", "--ignore-not-found", "-f", "-", stdin=made)


def _adapted(document: dict[str, Any], image: str) -> dict[str, Any]:
    """Return an object of KEDA as it is installed here: with the image of the sandbox, and the rights that it needs."""
    if document["kind"] == "ClusterRole":
        everything = [rule for rule in document["rules"] if rule["apiGroups"] == ["*"]]
        rules = [rule for rule in document["rules"] if rule not in everything]
        return {**document, "rules": [*rules, *(RIGHTS if everything else [])]}
    if document["kind"] == "Deployment":
        pod = document["spec"]["template"]["spec"]
        pod["securityContext"]["runAsUser"] = USER
        (container,) = pod["containers"]
        container.update(image=image, imagePullPolicy="IfNotPresent")
        container["command"] = [Path(word).name for word in container["command"]]
    return document


@dataclass(frozen=True)
class Scaled:
    """A ScaledObject of KEDA for a PoolScale of the same name, and the metric that it follows."""

    sandbox: Sandbox
    namespace: str
    name: str
    load: Load

    def apply(self, **spec: Any) -> None:
        """Apply the ScaledObject of the documents with some fields changed."""
        body = example()
        body["metadata"]["name"] = body["spec"]["scaleTargetRef"]["name"] = self.name
        (trigger,) = body["spec"]["triggers"]
        trigger["metadata"].update(url=f"http://{self.load.server.address}/", targetValue="10")
        behavior = body["spec"]["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
        behavior["scaleDown"] = {"stabilizationWindowSeconds": 0}
        body["spec"].update(pollingInterval=2, cooldownPeriod=2, **spec)
        self.load.server.apply(body)

    def pause(self, replicas: int | None) -> None:
        """Have KEDA keep the PoolScale at a number, or with None let it follow the metric again."""
        key = "autoscaling.keda.sh/paused-replicas"
        self._run("annotate", self._subject, f"{key}-" if replicas is None else f"{key}={replicas}")

    async def until(self, **conditions: str) -> None:
        """Wait until conditions have these statuses, for example `Ready="True"`."""
        for condition, status in conditions.items():
            words = ("wait", self._subject, f"--for=condition={condition}={status}", "--timeout=120s")
            await asyncio.to_thread(self._run, *words)

    def asked(self) -> int:
        """Return the number that the PoolScale has."""
        return int(self._run("get", f"poolscale/{self.name}", "-o", "jsonpath={.spec.replicas}"))

    def remove(self) -> None:
        """Delete it, and wait until KEDA has let it go."""
        self._run("delete", self._subject, "--ignore-not-found", "--timeout=120s")

    @property
    def _subject(self) -> str:
        return f"scaledobject/{self.name}"

    def _run(self, *words: str) -> str:
        return kubectl(self.sandbox, "-n", self.namespace, *words)


@asynccontextmanager
async def scaled_by_keda(sandbox: Sandbox, namespace: str, name: str) -> AsyncGenerator[Scaled]:
    """Have KEDA write the PoolScale of this name: one member for each 10 of a metric that is 20 at first."""
    environment = {"PROGRAM": _SERVE}
    start = f'echo 20 > {VALUE} && exec python3 -c "$PROGRAM" {PORT} {VALUE}'
    server = Server(sandbox, namespace, "backlog", "stateward", PORT, start, environment)
    await server.up()
    scaled = Scaled(sandbox, namespace, name, Load(server))
    async with keda(sandbox):
        try:
            yield scaled
        finally:
            # KEDA removes its finalizer, so it has to run.
            await asyncio.to_thread(scaled.remove)


def example() -> dict[str, Any]:
    """Return the ScaledObject of the documents."""
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    documents = [document for block in blocks for document in yaml.safe_load_all(block)]
    (found,) = [document for document in documents if document.get("kind") == "ScaledObject"]
    return found
