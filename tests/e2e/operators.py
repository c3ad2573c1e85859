"""The operator and its webhook as they are installed in the sandbox: from the chart, with the image of this tree."""

import asyncio
import json
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from sandbox import Sandbox
from stateward.cli.run.chart import objects
from stateward.kube.client.client import DeleteOptions, Preconditions
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import key_of
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resource import Selection

CHART = Path(__file__).parents[2] / "charts/stateward"
NAMESPACE = "stateward-system"
VERIFIERS = "stateward-verify-snapshots"
OPERATORS = "app.kubernetes.io/name=stateward,app.kubernetes.io/component=operator"
DEPLOYED = "deployment/stateward"
WEBHOOK = CHART / "webhook/webhook.yaml"
PATCHED = ("-n", NAMESPACE, "patch", DEPLOYED, "--type=json", "-p")
ROLLED_OUT = ("-n", NAMESPACE, "rollout", "status", DEPLOYED, "--timeout=120s")
ARGUMENTS = "/spec/template/spec/containers/0/args"


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
    change_operator(sandbox, "-n", NAMESPACE, "set", "env", DEPLOYED, f"STATEWARD_SECURE_NEW_CLUSTERS={value}")


def change_operator(sandbox: Sandbox, *words: str) -> None:
    """Change the operator's Deployment by a command, and wait until the operator of before has ended.

    While that one finishes its work, it would still decide about a new cluster.
    """
    before = kubectl(sandbox, "-n", NAMESPACE, "get", "pods", "-l", OPERATORS, "-o", "name").split()
    kubectl(sandbox, *words)
    kubectl(sandbox, *ROLLED_OUT)
    kubectl(sandbox, "-n", NAMESPACE, "wait", "--for=delete", *before, "--timeout=120s")


@contextmanager
def with_argument(sandbox: Sandbox, argument: str) -> Generator[None]:
    """Have the operator run with one more argument for the block."""
    change_operator(sandbox, *PATCHED, json.dumps([{"op": "add", "path": f"{ARGUMENTS}/-", "value": argument}]))
    try:
        yield
    finally:
        change_operator(sandbox, *PATCHED, json.dumps([{"op": "replace", "path": ARGUMENTS, "value": ["operator"]}]))


def _roles(given: dict[str, Any]) -> list[Any]:
    return [each for each in objects(given) if each["kind"] == "ClusterRole"]


@contextmanager
def verifying_snapshots(sandbox: Sandbox) -> Generator[None]:
    """Allow the operator to make throw-away clusters, as `verifySnapshots` of the chart does, for the block."""
    usual, wanted = (
        [rule for role in _roles(given) for rule in role["rules"]] for given in ({}, {"verifySnapshots": True})
    )
    rules = [rule for rule in wanted if rule not in usual]
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": VERIFIERS}}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": VERIFIERS}
    account = {"kind": "ServiceAccount", "name": "stateward", "namespace": NAMESPACE}
    binding = {**role, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [account]}
    made = yaml.safe_dump_all([{**role, "rules": rules}, binding])
    kubectl(sandbox, "apply", "-f", "-", stdin=made)
    try:
        with with_argument(sandbox, "--verify-snapshots"):
            yield
    finally:
        kubectl(sandbox, "delete", "-f", "-", stdin=made)


@contextmanager
def with_webhook(sandbox: Sandbox) -> Generator[None]:
    """Install the webhook, wait until it is asked, and remove it in the end."""
    kubectl(sandbox, "apply", "--server-side", "--force-conflicts", "-f", "-", stdin=WEBHOOK.read_text())
    with with_argument(sandbox, "--webhook"):
        try:
            registered(sandbox)
            yield
        finally:
            kubectl(sandbox, "delete", "-f", "-", stdin=WEBHOOK.read_text())


def registered(sandbox: Sandbox) -> None:
    """Wait until the operator has written its CA into the webhook, and the API server calls it."""
    deadline = time.monotonic() + 60
    while (
        "no_such_role" not in try_to_store(sandbox, pools=[{"name": "a", "replicas": 1, "roles": ["no_such_role"]}])[1]
    ):
        assert time.monotonic() < deadline, "the webhook is not asked"
        time.sleep(0.5)


def try_to_store(sandbox: Sandbox, **spec: object) -> tuple[bool, str]:
    """Try to store a cluster, without storing it; returns whether it would be, and what was said."""
    manager = {"name": "managers", "replicas": 3, "roles": ["cluster_manager", "data"]}
    spec = {"version": "2.19.5", "pools": [manager], **spec}
    if spec["pools"] != [manager]:
        spec["pools"] = [manager, *spec["pools"]]  # type: ignore[misc]
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "OpenSearchCluster", "metadata": {"name": "asked"}}
    words = sandbox.command(["kubectl", "apply", "--server-side", "--dry-run=server", "-f", "-"])
    document = yaml.safe_dump({**head, "spec": spec})
    done = subprocess.run(words, input=document, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode == 0, done.stdout + done.stderr


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
