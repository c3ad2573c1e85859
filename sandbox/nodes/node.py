"""One node: its machine, and containerd, kubelet, kube-proxy and the enforcer of network policies in it."""

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.host import cgroups
from sandbox.host.files import write_if_changed
from sandbox.host.records import Records
from sandbox.kubernetes.controlplane import ControlPlane
from sandbox.kubernetes.kubeapi import wait_for
from sandbox.kubernetes.pki import Pki, Subject
from sandbox.layout import SWITCH, NodeLayout, sources
from sandbox.network import links
from sandbox.network.addressing import REGION, NodeAddress
from sandbox.network.machines import Machine, tail
from sandbox.nodes import configuration

COMPONENTS = ("containerd", "kubelet", "kube-proxy", "policies", "volumes")
NODES_GROUP = ("system:nodes",)


@dataclass(frozen=True)
class Node:
    """One node of a sandbox. `sync_frequency` is its kubelet's, in seconds."""

    control_plane: ControlPlane
    address: NodeAddress
    sync_frequency: int

    @property
    def name(self) -> str:
        """The node's name."""
        return self.address.name

    @property
    def machine(self) -> Machine:
        """The machine the node is."""
        return Machine(self.control_plane.layout, self.name)

    @property
    def directories(self) -> NodeLayout:
        """The node's directories."""
        return self.control_plane.layout.node(self.name)

    @property
    def cgroup(self) -> str:
        """The cgroup above the node's pods."""
        return f"{self.control_plane.layout.cgroup}/{self.name}"

    def boot(self, init: Path, all_nodes: Sequence[NodeAddress]) -> None:
        """Switch the node on and start containerd; the kubelet comes last, by `start_kubelet`."""
        self._write_configuration()
        cgroups.make(self.cgroup)
        if self.machine.boot(init, self._mounts()):
            links.plug_in(Machine(self.control_plane.layout, SWITCH), self.machine, self.address.address)
        links.route_pods(self.machine, all_nodes, own=self.name)
        self._ensure("containerd", [_program("containerd"), f"--config={configuration.DIRECTORY}/containerd.toml"])
        wait_for(f"containerd of {self.name}", self._containerd_answers, seconds=60)

    def start_kubelet(self) -> None:
        """Start the kubelet, kube-proxy and the enforcer of network policies if they do not run."""
        directory = configuration.DIRECTORY
        labels = {"topology.kubernetes.io/zone": self.address.zone, "topology.kubernetes.io/region": REGION}
        self._ensure(
            "kubelet",
            [
                str(self.control_plane.binaries / "kubelet"),
                f"--config={directory}/kubelet.yaml",
                f"--kubeconfig={directory}/kubelet.kubeconfig",
                f"--hostname-override={self.name}",
                f"--node-ip={self.address.address}",
                f"--node-labels={','.join(f'{key}={value}' for key, value in labels.items())}",
            ],
        )
        self._ensure(
            "kube-proxy",
            [str(self.control_plane.binaries / "kube-proxy"), f"--config={directory}/kube-proxy.yaml"],
        )
        self._ensure(
            "policies",
            [sys.executable, "-m", "sandbox.policies", f"{directory}/policies.kubeconfig", str(self.address.pods)],
            {"PYTHONPATH": str(sources().parent)},
        )
        if any(self.directories.volumes.glob("*.img")):
            self.limit_volumes()  # They have to be mounted again after the node was off.

    def limit_volumes(self) -> None:
        """Start the provisioner of volumes with a size, if it does not run; it mounts them in the node."""
        config = (self.control_plane.layout.pki / "local-volumes.kubeconfig").read_text()
        write_if_changed(self.directories.configuration / "local-volumes.kubeconfig", config)
        kubeconfig = f"{configuration.DIRECTORY}/local-volumes.kubeconfig"
        argv = [sys.executable, "-m", "sandbox.volumes", kubeconfig, "--node", self.name]
        self._ensure("volumes", argv, {"PYTHONPATH": str(sources().parent)})

    def stop_kubelet(self) -> None:
        """Stop the kubelet alone: its containers continue, unreported."""
        Records(self.control_plane.layout.records).end(f"{self.name}.kubelet")

    def halt(self) -> None:
        """End the whole node with its containers, as in a power cut."""
        self.machine.halt()
        records = Records(self.control_plane.layout.records)
        for component in COMPONENTS:
            records.end(f"{self.name}.{component}", grace=0)
        # What a power cut leaves is on disk; the cgroups of its containers are not.
        cgroups.remove(self.cgroup)

    def ctr(self, *words: str | Path, stdin: bytes | None = None) -> str:
        """Run containerd's client in the node, in the name space that Kubernetes uses."""
        argv = ["ctr", f"--address={configuration.CONTAINERD_SOCKET}", "--namespace=k8s.io", *words]
        return self.machine.run(argv, mounts=True, stdin=stdin)

    def _containerd_answers(self) -> bool:
        if Records(self.control_plane.layout.records).running(f"{self.name}.containerd") is None:
            raise tail(self.control_plane.layout, f"{self.name}.containerd")
        try:
            self.ctr("version")
        except SandboxError:
            return False
        return True

    def _ensure(self, component: str, argv: Sequence[str], environment: dict[str, str] | None = None) -> None:
        if Records(self.control_plane.layout.records).running(f"{self.name}.{component}") is None:
            self.machine.start(component, argv, environment)

    def _mounts(self) -> tuple[tuple[str, ...], ...]:
        """Return the steps that give the node directories of its own where all nodes would use the same."""
        return (
            ("mount", "-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"),
            ("mount", "--bind", str(self.directories.log), "/var/log"),
            ("mount", "--bind", str(self.directories.lib), "/var/lib"),
            # The kubelet hands mounts on to containers; slaves of the machine's mounts they stay.
            ("mount", "--make-rshared", "/"),
        )

    def _write_configuration(self) -> None:
        directories = self.directories
        for directory in (directories.log, directories.volumes, directories.configuration / "cni"):
            directory.mkdir(parents=True, exist_ok=True)
        pki = Pki(self.control_plane.layout.pki)
        serving = pki.issue(
            f"{self.name}-serving", Subject(f"system:node:{self.name}", NODES_GROUP, (self.name, self.address.address))
        )
        config = self.control_plane.client_kubeconfig(
            f"{self.name}-kubelet", Subject(f"system:node:{self.name}", NODES_GROUP)
        )
        for source, name in (
            (pki.authority().certificate, "ca.crt"),
            (serving.certificate, "kubelet-serving.crt"),
            (serving.key, "kubelet-serving.key"),
            (config, "kubelet.kubeconfig"),
            (self.control_plane.layout.pki / "kube-proxy.kubeconfig", "kube-proxy.kubeconfig"),
            (self.control_plane.layout.pki / "policies.kubeconfig", "policies.kubeconfig"),
        ):
            write_if_changed(directories.configuration / name, source.read_text())
        texts = {
            "containerd.toml": configuration.containerd(_program("runc")),
            "cni/pods.conflist": configuration.cni(self.address),
            "kubelet.yaml": configuration.kubelet(self.address, cgroup=self.cgroup, sync_frequency=self.sync_frequency),
            "kube-proxy.yaml": configuration.kube_proxy(self.name, f"{configuration.DIRECTORY}/kube-proxy.kubeconfig"),
            "resolv.conf": "",
        }
        for name, text in texts.items():
            write_if_changed(directories.configuration / name, text)


def _program(name: str) -> str:
    found = shutil.which(name, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin:/sbin:/bin")
    if found is None:
        raise SandboxError(f"the program {name} is missing; install it (apt-get install {name})")
    return found
