"""What a sandbox is and does at this moment, for `status`."""

import re
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.host.records import ProcessRecord, Records
from sandbox.kubernetes.kubeapi import KubeApi
from sandbox.layout import SWITCH, Layout
from sandbox.network import links
from sandbox.network.machines import Machine
from sandbox.nodes.operations import is_ready

_PSS = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)


@dataclass(frozen=True)
class Component:
    """One process of the sandbox; `memory` is its proportional share in bytes, 0 when it does not run."""

    key: str
    pid: int
    running: bool
    memory: int


@dataclass(frozen=True)
class NodeState:
    """What Kubernetes and the wire say of one node."""

    name: str
    ready: bool
    schedulable: bool
    zone: str
    cut: bool


def components(layout: Layout) -> list[Component]:
    """Return every process of the records."""
    records = Records(layout.records)
    found: list[Component] = []
    for key in records.keys():  # noqa: SIM118 - a method of ours, not a dictionary's
        record = records.get(key)
        if record is not None:
            running = records.running(key) is not None
            found.append(Component(key, record.pid, running, memory_of(record) if running else 0))
    return found


def node_states(layout: Layout, api: KubeApi) -> list[NodeState]:
    """Return the state of every node that Kubernetes knows."""
    switch = Machine(layout, SWITCH)
    states: list[NodeState] = []
    for node in api.items("/api/v1/nodes"):
        name, labels = node["metadata"]["name"], node["metadata"].get("labels", {})
        machine = Machine(layout, name)
        cut = machine.holder() is not None and links.is_cut(switch, machine)
        schedulable = not node["spec"].get("unschedulable", False)
        states.append(NodeState(name, is_ready(node), schedulable, labels.get("topology.kubernetes.io/zone", ""), cut))
    return states


def memory_of(record: ProcessRecord) -> int:
    """Return a process's proportional share of memory in bytes; shared pages count once in all."""
    try:
        found = _PSS.search(Path(f"/proc/{record.pid}/smaps_rollup").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(found[1]) * 1024 if found else 0


def log_of(layout: Layout, component: str) -> Path:
    """Return the log of a component such as `n1.kubelet`; raise SandboxError naming those there are."""
    path = layout.logs / f"{component}.log"
    if not path.exists():
        known = ", ".join(sorted(each.stem for each in layout.logs.glob("*.log"))) or "none"
        raise SandboxError(f"no log {component!r} in sandbox {layout.name}; there are: {known}")
    return path
