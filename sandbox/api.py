"""`Sandbox`: everything that the command line can do, as a Python object for tests and tools."""

import contextlib
import subprocess
from collections.abc import Generator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from sandbox import report
from sandbox import settings as settings_file
from sandbox.bringup import bring_up
from sandbox.errors import SandboxError
from sandbox.host import packages
from sandbox.host.locks import locked
from sandbox.host.ports import listen, port_of
from sandbox.host.records import Records
from sandbox.images.catalog import image
from sandbox.images.loading import load_everywhere
from sandbox.kubernetes.addons import limited_class
from sandbox.kubernetes.controlplane import ControlPlane
from sandbox.kubernetes.kubeapi import KubeApi
from sandbox.layout import CONTROL_PLANE, DEFAULT_NAME, Layout, cache_root
from sandbox.network import relays
from sandbox.network.addressing import CONTROL_PLANE_ADDRESS, node_addresses
from sandbox.network.machines import Machine
from sandbox.nodes import operations
from sandbox.nodes.node import Node
from sandbox.prerequisites import require_root
from sandbox.progress import Progress
from sandbox.settings import Settings
from sandbox.teardown import take_down
from sandbox.toolchain.kubelite import build_kubelite
from sandbox.toolchain.native import build_native
from sandbox.volumes.names import LIMITED_CLASS


class Sandbox:
    """A real Kubernetes on this machine, by name. As a context manager it goes down at the end."""

    def __init__(self, name: str = DEFAULT_NAME, *, progress: Progress | None = None) -> None:
        self.layout = Layout.of(name)
        self.progress = progress or Progress()

    @property
    def name(self) -> str:
        """The sandbox's name."""
        return self.layout.name

    @property
    def kubeconfig_path(self) -> Path:
        """The administrator's kubeconfig for use on this machine (through the relay on 127.0.0.1)."""
        return self.layout.kubeconfig

    @property
    def settings(self) -> Settings:
        """What the sandbox was asked to be; raise SandboxError if there is none."""
        found = settings_file.load(self.layout.settings)
        if found is None:
            raise SandboxError(f"there is no sandbox {self.name!r}; run 'sandbox up --name {self.name}'")
        return found

    @property
    def api(self) -> KubeApi:
        """A client of the API server, as administrator."""
        self.require()
        return KubeApi(self.kubeconfig_path)

    @property
    def nodes(self) -> dict[str, Node]:
        """The nodes, by name."""
        settings = self.settings
        control_plane = ControlPlane(self.layout, self.binaries)
        addresses = node_addresses(settings.nodes)
        return {each.name: Node(control_plane, each, settings.sync_frequency) for each in addresses}

    @property
    def binaries(self) -> Path:
        """The directory of kubectl and all other Kubernetes programs."""
        return build_kubelite(self.progress)

    def require(self) -> None:
        """Raise SandboxError if there is no sandbox of this name."""
        _ = self.settings

    def up(
        self,
        nodes: int = 3,
        *,
        port: int = 0,
        sync_frequency: int = 10,
        pretend_nodes: int = 0,
        audited: str = "",
        images: Sequence[str] = (),
    ) -> Self:
        """Bring the sandbox up, or repair it; what runs already is left alone. Return itself.

        `port` is the API server's on 127.0.0.1 (0: any free one), `sync_frequency` the seconds between a
        kubelet's looks at a Secret, `pretend_nodes` the number of nodes that kwok plays, `audited` a user whose
        requests the API server logs from its start on (`layout.audit_log`). `images` are made meanwhile, and not
        loaded.
        """
        wanted = Settings(
            nodes=nodes, port=port, sync_frequency=sync_frequency, pretend_nodes=pretend_nodes, audited=audited
        )
        with self._locked():
            bring_up(self.layout, wanted, self.progress, images)
        return self

    def clear(self) -> bool:
        """Take the sandbox down if nothing of it runs: a killed machine left it. Return whether it was so.

        After a power cut the image stores of the nodes may be damaged: containerd then cannot import anything.
        """
        with self._locked():
            records = Records(self.layout.records)
            if not self.layout.root.exists() or any(map(records.running, records.keys())):
                return False
            return take_down(self.layout)

    def down(self) -> bool:
        """End the sandbox and leave nothing. Return whether there was one."""
        with self._locked():
            return take_down(self.layout)

    def restart_api_server(self) -> None:
        """End the API server and start it again: its watch caches then begin at the present version."""
        self.api_server_stop()
        self.api_server_start()

    def api_server_stop(self) -> None:
        """End the API server; nodes and pods continue without it."""
        self.require()
        with self._locked():
            Records(self.layout.records).end(f"{CONTROL_PLANE}.kube-apiserver")

    def api_server_start(self) -> None:
        """Start whatever of the control plane is off, and wait until it works."""
        with self._locked():
            ControlPlane(self.layout, self.binaries).start(self.api)

    def load_image(self, reference: str) -> str:
        """Make an image if need be, import it into every node that lacks it, and return its full name.

        `reference` is `opensearch:2.19.5`, `elasticsearch:8.19.4`, `stateward` or a full name.
        """
        made = image(reference, build_native(self.progress), self.progress)
        nodes = list(self.nodes.values())
        with self.progress.step(f"loading {made.name} into {len(nodes)} nodes"):
            load_everywhere(nodes, made)
        return made.name

    def limit_volumes(self) -> str:
        """Offer volumes that are as large as their claims; return the name of their StorageClass."""
        packages.require(packages.LIMITED_VOLUMES, self.progress)
        with self._locked():
            for path, body in limited_class().items():
                self.api.apply(path, body)
            for node in self.nodes.values():
                node.limit_volumes()
        return LIMITED_CLASS

    def node_stop(self, name: str, *, with_containers: bool = False) -> None:
        """End the node's kubelet, or the whole node with its containers as in a power cut."""
        with self._locked():
            operations.stop(self._node(name), with_containers=with_containers)

    def node_start(self, name: str) -> None:
        """Start whatever of the node is off."""
        with self._locked():
            operations.start(self._node(name), build_native(self.progress), node_addresses(self.settings.nodes))

    def node_cut(self, name: str) -> None:
        """Take the node's link down; its containers continue, unreachable."""
        operations.cut(self._node(name))

    def node_mute(self, name: str) -> None:
        """Drop everything that the node and its pods send; what others send still arrives there."""
        operations.mute(self._node(name))

    def containerd_stop(self, name: str) -> None:
        """End the node's containerd; its containers continue. `node_start` starts it again."""
        with self._locked():
            operations.stop_containerd(self._node(name))

    def node_join(self, name: str) -> None:
        """Take the node's link up again, in both directions."""
        operations.join(self._node(name))

    def node_cordon(self, name: str) -> None:
        """Keep new pods away from the node."""
        operations.cordon(self.api, self._node(name).name, on=True)

    def node_uncordon(self, name: str) -> None:
        """Let new pods come to the node again."""
        operations.cordon(self.api, self._node(name).name, on=False)

    def node_drain(self, name: str, *, seconds: float = 300) -> None:
        """Cordon the node and evict its pods as their disruption budgets allow, within `seconds`."""
        operations.drain(self.api, self._node(name).name, seconds=seconds, say=self.progress.say)

    def wait_node(self, name: str, *, ready: bool, seconds: float = 120) -> None:
        """Wait until Kubernetes says that the node is Ready (or is not); raise SandboxError after `seconds`."""
        operations.await_readiness(self.api, name, ready=ready, seconds=seconds)

    def command(self, argv: Sequence[str | Path]) -> list[str]:
        """Return the words that run `argv` inside: the control plane's network and names, KUBECONFIG and PATH set."""
        enter = Machine(self.layout, CONTROL_PLANE).enter(mounts=True)
        setting = [f"KUBECONFIG={self.layout.kubeconfig_inside}", f"SANDBOX_BIN={self.binaries}"]
        # The shell puts kubectl in front of the caller's own PATH.
        shell = ["sh", "-c", 'PATH="$SANDBOX_BIN:$PATH" exec "$@"', "sh"]
        return [*enter, "env", *setting, *shell, *(str(word) for word in argv)]

    def exec(
        self, argv: Sequence[str | Path], *, check: bool = True, timeout: float = 60, stdin: str | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run a program inside and return what it said; raise CalledProcessError if it fails and `check` is set."""
        return subprocess.run(
            self.command(argv), check=check, timeout=timeout, input=stdin, capture_output=True, text=True
        )

    def kubectl(self, *words: str, check: bool = True, timeout: float = 60, stdin: str | None = None) -> str:
        """Run kubectl and return what it printed."""
        return self.exec(["kubectl", *words], check=check, timeout=timeout, stdin=stdin).stdout

    def logs(self, component: str) -> str:
        """Return the log of a component, for example `n1.kubelet` or `control-plane.etcd`."""
        return report.log_of(self.layout, component).read_text(errors="replace")

    @contextlib.contextmanager
    def relay(self, host: str, port: int, *, local_port: int = 0) -> Generator[int]:
        """Open a door to `host:port` inside (an address or a name); give the port on 127.0.0.1 while it is open."""
        key = self.open_relay(host, port, local_port=local_port)
        try:
            yield int(key.rpartition(".")[2])
        finally:
            relays.close_relay(self.layout, key)

    def open_relay(self, host: str, port: int, *, local_port: int = 0) -> str:
        """Open a door that stays until `close_relay` or `down`; return its key, `relay.PORT`."""
        self.require()
        address = relays.resolve(self.layout, host)
        with listen(local_port, option="--local-port") as listener:
            key = f"relay.{port_of(listener)}"
            relays.outward(self.layout, key, listener, address, port)
        return key

    def close_relay(self, key: str) -> None:
        """Close a door that was opened by `open_relay`."""
        relays.close_relay(self.layout, key)

    @contextlib.contextmanager
    def expose(self, port: int) -> Generator[str]:
        """Let the API server (and pods) reach 127.0.0.1:`port` of this machine; give the `address:port` inside.

        This is how a webhook that a test serves outside is called from inside.
        """
        self.require()
        inside = relays.inward(self.layout, port)
        try:
            yield f"{CONTROL_PLANE_ADDRESS}:{inside}"
        finally:
            relays.close_relay(self.layout, relays.inward_key(inside))

    def _node(self, name: str) -> Node:
        nodes = self.nodes
        if name not in nodes:
            raise SandboxError(f"no node {name!r} in sandbox {self.name}; there are: {', '.join(nodes) or 'none'}")
        return nodes[name]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    @contextlib.contextmanager
    def _locked(self) -> Generator[None]:
        require_root()
        with locked(cache_root() / "locks" / self.name):
            yield
