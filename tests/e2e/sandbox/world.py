"""What the sandbox's own tests look at: the machine from outside, and pods inside."""

import string
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sandbox import Sandbox
from sandbox.host import cgroups
from sandbox.kubernetes.kubeapi import wait_for
from sandbox.layout import Layout

MANIFESTS = Path(__file__).parents[1] / "manifests"


@dataclass(frozen=True)
class Traces:
    """What a sandbox could leave behind on the machine."""

    processes: frozenset[str]
    mounts: frozenset[str]
    devices: frozenset[str]
    routes: str
    rules: str
    namespaces: frozenset[str]
    cgroups: frozenset[str]
    listeners: frozenset[str]

    @classmethod
    def now(cls, name: str) -> "Traces":
        """Look at the machine for traces of the sandbox `name`."""
        return cls(
            processes=frozenset(_processes(name)),
            mounts=frozenset(line for line in Path("/proc/self/mountinfo").read_text().splitlines() if name in line),
            devices=frozenset(path.name for path in Path("/sys/class/net").iterdir()),
            routes=_output("ip", "route", "show", "table", "all"),
            rules=_output("nft", "list", "ruleset"),
            namespaces=frozenset(_namespaces(name)),
            cgroups=frozenset(str(path) for path in cgroups.left(Layout.of(name).cgroup)),
            listeners=frozenset(_listeners(name)),
        )


def _output(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


def _command_lines() -> dict[int, str]:
    lines: dict[int, str] = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            lines[int(path.name)] = (path / "cmdline").read_text(errors="replace").replace("\0", " ")
        except OSError:  # ended since it was listed
            continue
    return lines


def _processes(name: str) -> list[str]:
    directory = f"/{name}/"
    return [line for line in _command_lines().values() if directory in line and "pytest" not in line]


def _namespaces(name: str) -> list[str]:
    """Return the namespaces other than this machine's of processes whose root belongs to the sandbox's hosts."""
    own = Path("/proc/self/ns/net").readlink()
    found: list[str] = []
    for pid in _command_lines():
        try:
            there = Path(f"/proc/{pid}/ns/net").readlink()
            mounts = Path(f"/proc/{pid}/mountinfo").read_text(errors="replace")
        except OSError:
            continue
        if there != own and f"/{name}/" in mounts:
            found.append(str(there))
    return found


def _listeners(name: str) -> list[str]:
    return [line for line in _command_lines().values() if "relay.py" in line and f"/{name}/" in line]


def apply(sandbox: Sandbox, manifest: str, namespace: str, **values: str) -> None:
    """Apply a manifest of this folder, with its $WORDS filled in."""
    text = string.Template((MANIFESTS / manifest).read_text()).safe_substitute(values)
    sandbox.kubectl("apply", "-n", namespace, "-f", "-", stdin=text)


def rolled_out(sandbox: Sandbox, namespace: str, name: str, *, seconds: int) -> None:
    """Wait until all pods of a StatefulSet are Ready."""
    words = ["rollout", "status", "-n", namespace, f"statefulset/{name}", f"--timeout={seconds}s"]
    sandbox.kubectl(*words, timeout=seconds + 10)


def ask(sandbox: Sandbox, url: str) -> str:
    """Ask a server inside, as a tool in the control plane's network does."""
    return sandbox.exec(["curl", "--silent", "--show-error", "--fail", "--max-time", "10", url]).stdout


def reaches(sandbox: Sandbox, node: str) -> bool:
    """Return whether the control plane's machine reaches a node's kubelet, which answers even a stranger."""
    url = f"https://{sandbox.nodes[node].address.address}:10250/healthz"
    done = sandbox.exec(["curl", "--silent", "--insecure", "--max-time", "3", url], check=False)
    # Refused, no route, timed out: anything else means that the question itself went wrong.
    assert done.returncode in {0, 7, 28}, done.stderr
    return done.returncode == 0


def awaited(sandbox: Sandbox, url: str, text: str, *, seconds: float) -> None:
    """Wait until the answer of a server inside has the text in it."""

    def answered() -> bool:
        try:
            return text in ask(sandbox, url)
        except subprocess.CalledProcessError:
            return False

    wait_for(f"{text!r} from {url}", answered, seconds=seconds, pause=0.5)
