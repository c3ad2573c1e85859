"""The webhook as it is installed on request: the API server asks it, and what can never be done is not stored."""

import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from sandbox import Sandbox
from tests.e2e.operators import NAMESPACE, kubectl

pytestmark = [pytest.mark.e2e, pytest.mark.full]

MANIFEST = Path(__file__).parents[4] / "charts/stateward/webhook/webhook.yaml"
DEPLOYMENT = ("-n", NAMESPACE, "patch", "deployment/stateward", "--type=json", "-p")
ROLLED_OUT = ("-n", NAMESPACE, "rollout", "status", "deployment/stateward", "--timeout=120s")
ARGUMENTS = "/spec/template/spec/containers/0/args"


@pytest.fixture
def webhook(stateward: Sandbox) -> Iterator[Sandbox]:
    """The sandbox with the webhook in it, until the test ends."""
    kubectl(stateward, "apply", "--server-side", "-f", "-", stdin=MANIFEST.read_text())
    kubectl(stateward, *DEPLOYMENT, json.dumps([{"op": "add", "path": f"{ARGUMENTS}/-", "value": "--webhook"}]))
    try:
        kubectl(stateward, *ROLLED_OUT)
        registered(stateward)
        yield stateward
    finally:
        kubectl(stateward, *DEPLOYMENT, json.dumps([{"op": "replace", "path": ARGUMENTS, "value": ["operator"]}]))
        kubectl(stateward, "delete", "-f", "-", stdin=MANIFEST.read_text())
        kubectl(stateward, *ROLLED_OUT)


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


def test_what_no_schema_can_say_is_refused_at_apply(webhook: Sandbox) -> None:
    stored, said = apply(webhook, pools=[{"name": "hot", "replicas": 2, "roles": ["dta"]}])
    assert not stored
    assert "spec.pools[1].roles" in said
    stored, said = apply(webhook, update={"order": ["nobody"]})
    assert not stored
    assert "spec.update.order[0]" in said


def test_a_good_cluster_comes_in_and_what_is_unwise_is_a_warning(webhook: Sandbox) -> None:
    assert apply(webhook)[0]
    stored, said = apply(webhook, pools=[{"name": "more", "replicas": 1, "roles": ["cluster_manager"]}])
    assert stored
    assert "Warning: " in said
