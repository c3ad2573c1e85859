"""The command line against a real cluster: install from its own manifests, status, plan, pause, explain."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from sandbox import Sandbox
from stateward.cli.shared.failures import ExitCode

pytestmark = [pytest.mark.e2e, pytest.mark.full]

PROGRAM = Path(sys.executable).with_name("stateward")
CLUSTER = """\
apiVersion: stateward.dev/v1alpha1
kind: OpenSearchCluster
metadata: {{name: one, namespace: {namespace}}}
spec:
  version: {version}
  pools:
  - name: all
    replicas: {replicas}
    resources: {{limits: {{memory: 640Mi}}, requests: {{cpu: 250m}}}}
    storage: {{size: 1Gi}}
"""
Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def stateward(sandbox: Sandbox) -> Command:
    """Run the program as a user does, from outside the sandbox."""

    def run(*words: str, stdin: str = "", seconds: float = 60) -> "subprocess.CompletedProcess[str]":
        environment = {"KUBECONFIG": str(sandbox.kubeconfig_path), "PATH": "/usr/bin:/bin"}
        return subprocess.run(
            [PROGRAM, *words],
            input=stdin,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=seconds,
        )

    return run


@pytest.fixture
def namespace(sandbox: Sandbox, stateward: Command) -> Iterator[str]:
    """A namespace of its own, in a sandbox where the operator runs as `stateward manifests` says."""
    image = sandbox.load_image("stateward")
    sandbox.load_image("opensearch:2.19.5")
    manifests = stateward("manifests", "--image", image, "--no-secure-new-clusters").stdout
    sandbox.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=manifests)
    wait = ("rollout", "status", "deployment/stateward", "--timeout=180s")
    sandbox.kubectl("-n", "stateward-system", *wait, timeout=200)
    name = f"cli-{uuid4().hex[:6]}"
    sandbox.kubectl("create", "namespace", name)
    yield name
    sandbox.kubectl("delete", "namespace", name, "--timeout=180s", timeout=200)


def test_the_command_line_shows_the_whole_state(sandbox: Sandbox, stateward: Command, namespace: str) -> None:
    text = CLUSTER.format(namespace=namespace, version="2.19.5", replicas=1)
    assert stateward("validate", "-f", "-", stdin=text).returncode == 0
    new = stateward("plan", "-f", "-", stdin=text)
    assert (new.returncode, "form the cluster on one-all-0" in new.stdout) == (ExitCode.CHANGES, True)

    sandbox.kubectl("apply", "--server-side", "-f", "-", stdin=text)
    ready = ("wait", "--for=condition=Ready", "oscluster/one", "--timeout=600s")
    sandbox.kubectl("-n", namespace, *ready, timeout=620)
    shown = json.loads(stateward("status", "one", "-n", namespace, "-o", "json").stdout)
    assert (shown["status"]["version"], shown["status"]["health"]) == ("2.19.5", "green")
    assert "the cluster matches its spec" in stateward("list", "-A").stdout
    assert "Nothing is pending." in stateward("explain", "one", "-n", namespace).stdout

    nothing = stateward("plan", "one", "-n", namespace)
    assert (nothing.returncode, "the database could not be reached" in nothing.stdout) == (0, False)
    changed = stateward("plan", "-f", "-", stdin=text + "  config: {path.repo: /tmp}\n")
    assert changed.returncode == ExitCode.CHANGES
    assert "restart the process of one-all-0 (to apply config/path.repo)" in changed.stdout
    assert "if all goes well" in changed.stdout
    assert "a member of all starts in " in changed.stdout
    assert "s: two fifths of the first start of its members, in which they wait" in changed.stdout
    assert "a node takes 40 MiB/s of recovering copies, 2 at once: the database's setting" in changed.stdout
    refused = stateward("plan", "-f", "-", stdin=text.replace("2.19.5", "2.17.1"))
    assert (refused.returncode, "2.17.1 is older than 2.19.5" in refused.stdout) == (1, True)

    assert "member=one-all-0" in stateward("logs", "one", "-n", namespace).stdout
    assert "[one-all-0]" in stateward("logs", "one", "all-0", "-n", namespace, "--tail", "200").stdout
    history = json.loads(stateward("timeline", "one", "-n", namespace, "-o", "json").stdout)
    assert ("one-all-0", "create") in {(span["subject"], span["phase"]) for span in history["spans"]}
    assert "MemberCreated" in stateward("events", "one", "-n", namespace).stdout
    assert stateward("diagnose", "one", "-n", namespace, "-f", "/dev/null").returncode == 0

    assert stateward("pause", "one", "-n", namespace).returncode == 0
    sandbox.kubectl("-n", namespace, "wait", "--for=jsonpath={.status.waiting[0].reason}=Paused", "oscluster/one")
    assert "What to do: run `resume`" in stateward("explain", "one", "-n", namespace).stdout
    assert stateward("resume", "one", "-n", namespace).returncode == 0
    assert stateward("status", "two", "-n", namespace).returncode == 1
