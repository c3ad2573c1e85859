"""The webhook as it is installed on request, while a block runs."""

import json
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import yaml

from sandbox import Sandbox
from tests.e2e.operators import DEPLOYED, NAMESPACE, kubectl

MANIFEST = Path(__file__).parents[2] / "charts/stateward/webhook/webhook.yaml"
DEPLOYMENT = ("-n", NAMESPACE, "patch", DEPLOYED, "--type=json", "-p")
ROLLED_OUT = ("-n", NAMESPACE, "rollout", "status", DEPLOYED, "--timeout=120s")
ARGUMENTS = "/spec/template/spec/containers/0/args"


@contextmanager
def with_webhook(sandbox: Sandbox) -> Generator[None]:
    """Install the webhook, wait until it is asked, and remove it in the end."""
    kubectl(sandbox, "apply", "--server-side", "--force-conflicts", "-f", "-", stdin=MANIFEST.read_text())
    kubectl(sandbox, *DEPLOYMENT, json.dumps([{"op": "add", "path": f"{ARGUMENTS}/-", "value": "--webhook"}]))
    try:
        kubectl(sandbox, *ROLLED_OUT)
        registered(sandbox)
        yield
    finally:
        kubectl(sandbox, *DEPLOYMENT, json.dumps([{"op": "replace", "path": ARGUMENTS, "value": ["operator"]}]))
        kubectl(sandbox, "delete", "-f", "-", stdin=MANIFEST.read_text())
        kubectl(sandbox, *ROLLED_OUT)


def registered(sandbox: Sandbox) -> None:
    """Wait until the operator has written its CA into the webhook, and the API server calls it."""
    deadline = time.monotonic() + 60
    while "no_such_role" not in apply(sandbox, pools=[{"name": "a", "replicas": 1, "roles": ["no_such_role"]}])[1]:
        assert time.monotonic() < deadline, "the webhook is not asked"
        time.sleep(0.5)


def apply(sandbox: Sandbox, **spec: object) -> tuple[bool, str]:
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
