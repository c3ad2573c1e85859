"""The operator as it is installed in the sandbox: from the committed manifests, with the image of this tree."""

import asyncio
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sandbox import Sandbox
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import key_of
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resource import Selection

CHART = Path(__file__).parents[2] / "charts/stateward"
NAMESPACE = "stateward-system"
DEPLOYED = "deployment/stateward"


def install(sandbox: Sandbox) -> None:
    """Install the definitions, the roles and the Deployment, and wait until the operator's pod is Ready."""
    image = sandbox.load_image("stateward")
    documents: list[Any] = []
    for folder in ("files/crds", "manifests"):
        for file in sorted((CHART / folder).glob("*.yaml")):
            documents += [doc for doc in yaml.safe_load_all(file.read_text()) if doc]
    # A namespace before what is in it, whatever the files are called.
    documents.sort(key=lambda doc: doc["kind"] not in {"Namespace", "CustomResourceDefinition"})
    for document in documents:
        if document["kind"] == "Deployment":
            document["spec"]["replicas"] = 1  # the memory of the machine is for databases
            (container,) = document["spec"]["template"]["spec"]["containers"]
            container["image"] = image
            # The sandbox's images have official names, but most of them not the security plugin.
            wanted = {"STATEWARD_AGENT_IMAGE": image, "STATEWARD_SECURE_NEW_CLUSTERS": "false"}
            for variable in container["env"]:
                if variable["name"] in wanted:
                    variable["value"] = wanted[variable["name"]]
    kubectl(sandbox, "apply", "--server-side", "--force-conflicts", "-f", "-", stdin=yaml.safe_dump_all(documents))
    # The image's name stays the same when this tree changes, so the pod has to be told.
    kubectl(sandbox, "-n", NAMESPACE, "rollout", "restart", DEPLOYED)
    kubectl(sandbox, "-n", NAMESPACE, "rollout", "status", DEPLOYED, "--timeout=120s")


def kubectl(sandbox: Sandbox, *words: str, stdin: str = "") -> str:
    """Run kubectl inside the sandbox; fails with what it said."""
    done = subprocess.run(
        sandbox.command(["kubectl", *words]), input=stdin, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, f"kubectl {' '.join(words)}: {done.stdout}{done.stderr}"
    return done.stdout


def secure_new_clusters(sandbox: Sandbox, value: str) -> None:
    """Set whether the operator secures new clusters, as a value of the chart does."""
    kubectl(sandbox, "-n", NAMESPACE, "set", "env", DEPLOYED, f"STATEWARD_SECURE_NEW_CLUSTERS={value}")
    kubectl(sandbox, "-n", NAMESPACE, "rollout", "status", DEPLOYED, "--timeout=120s")


@dataclass
class OperatorPods:
    """The operator's pods: to kill, and to watch come back."""

    api: HttpApi

    async def pods(self) -> list[Pod]:
        page = await self.api.list(kinds.PODS, Selection(NAMESPACE, labels="app.kubernetes.io/component=operator"))
        return [pod for pod in page.items if not pod.metadata.terminating]

    async def kill(self) -> None:
        """End the operator at once, without the grace that lets it finish, and wait for its successor."""
        gone = {pod.metadata.uid for pod in await self.pods()}
        for pod in await self.pods():
            try:
                await self.api.delete(
                    kinds.PODS, key_of(pod), DeleteOptions(Preconditions(pod.metadata.uid), grace_seconds=0)
                )
            except NotFound:
                continue
        async with asyncio.timeout(120):
            while not any(pod.ready and pod.metadata.uid not in gone for pod in await self.pods()):
                await asyncio.sleep(0.5)
