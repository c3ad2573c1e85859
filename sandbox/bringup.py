"""The way up: each step does nothing where its work is already done, so that the same way is the repair."""

import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from sandbox import settings as settings_file
from sandbox.host.records import Records
from sandbox.images.catalog import image
from sandbox.kubernetes.addons import start_addons
from sandbox.kubernetes.controlplane import ControlPlane
from sandbox.kubernetes.kubeapi import KubeApi
from sandbox.kubernetes.pretend import start_kwok
from sandbox.layout import SWITCH, Layout, cache_root
from sandbox.network import links
from sandbox.network.addressing import CONTROL_PLANE_ADDRESS, SERVICES, NodeAddress, node_addresses
from sandbox.network.machines import Machine
from sandbox.network.relays import close_all, open_api_relay
from sandbox.nodes import operations
from sandbox.nodes.node import Node
from sandbox.prerequisites import require_machine
from sandbox.progress import Progress
from sandbox.settings import Settings
from sandbox.teardown import take_down
from sandbox.toolchain.kubelite import build_kubelite
from sandbox.toolchain.kwok import build_kwok
from sandbox.toolchain.native import build_native


def bring_up(layout: Layout, wanted: Settings, progress: Progress, images: Sequence[str] = ()) -> None:
    """Bring a sandbox up. If a new one cannot be brought up, nothing of it is left.

    `images` are made beside the build of Kubernetes, because that often waits for one package.
    """
    node_addresses(wanted.nodes)
    require_machine(layout, wanted, progress)
    native = build_native(progress)
    with ThreadPoolExecutor(max_workers=1) as beside:
        made = [beside.submit(image, reference, native, progress) for reference in images]
        binaries = build_kubelite(progress)
        for each in made:
            each.result()
    before = settings_file.load(layout.settings)
    if before is not None:
        # Nodes are added, never taken away: something may run on them.
        wanted = msgspec.structs.replace(
            wanted, nodes=max(wanted.nodes, before.nodes), pretend_nodes=max(wanted.pretend_nodes, before.pretend_nodes)
        )
    try:
        _Ascent(layout, wanted, progress, native, binaries).run()
    except BaseException:
        if before is None:
            progress.say(f"that failed; removing what was made, but for the logs, which are in {_keep_logs(layout)}")
            take_down(layout)
        raise


def _keep_logs(layout: Layout) -> Path:
    kept = cache_root() / "failed" / layout.name
    shutil.rmtree(kept, ignore_errors=True)
    if layout.logs.exists():
        shutil.copytree(layout.logs, kept)
    return kept


class _Ascent:
    """The steps of one `up`."""

    def __init__(self, layout: Layout, wanted: Settings, progress: Progress, native: Path, binaries: Path) -> None:
        self.layout, self.wanted, self.progress = layout, wanted, progress
        self.native, self.init = native, native / "pause"
        self.control_plane = ControlPlane(layout, binaries)
        self.switch = Machine(layout, SWITCH)
        self.addresses = node_addresses(wanted.nodes)

    def run(self) -> None:
        """Take all the steps."""
        with self.progress.step("control plane"):
            self._lay_wires()
            port = self._open_door()
            self.control_plane.write_credentials(port)
            api = KubeApi(self.layout.kubeconfig)
            self.control_plane.start(api)
        if self.addresses:
            with self.progress.step(f"{len(self.addresses)} nodes"):
                self._start_nodes(api)
        if self.wanted.pretend_nodes:
            kwok = build_kwok(self.progress)
            with self.progress.step(f"{self.wanted.pretend_nodes} pretend nodes"):
                tainted = bool(self.addresses)
                start_kwok(self.control_plane, kwok, api, nodes=self.wanted.pretend_nodes, tainted=tainted)
        self.progress.say(f"ready: export KUBECONFIG={self.layout.kubeconfig}")

    def _lay_wires(self) -> None:
        machine = self.control_plane.machine
        if self.switch.holder() is None:
            machine.halt()  # its cable led to a switch that is no more
        links.start_switch(self.switch, self.init)
        if machine.boot(self.init, _dns_setup(self.layout)):
            close_all(self.layout)  # they lead into the network of the machine that was
            links.plug_in(self.switch, machine, CONTROL_PLANE_ADDRESS)
            machine.run(["ip", "route", "replace", str(SERVICES), "dev", links.UPLINK])
            for address in self.addresses:
                if not links.is_plugged_in(self.switch, Machine(self.layout, address.name)):
                    Machine(self.layout, address.name).halt()
        links.route_pods(machine, self.addresses, own="")

    def _open_door(self) -> int:
        before = settings_file.load(self.layout.settings)
        port = open_api_relay(self.layout, self.wanted.port, before.port if before else 0)
        if before is not None and before.sync_frequency != self.wanted.sync_frequency:
            for address in self.addresses:  # a kubelet reads its configuration at its start only
                Records(self.layout.records).end(f"{address.name}.kubelet")
        settings_file.save(self.layout.settings, msgspec.structs.replace(self.wanted, port=port))
        return port

    def _start_nodes(self, api: KubeApi) -> None:
        def start(address: NodeAddress) -> None:
            node = Node(self.control_plane, address, self.wanted.sync_frequency)
            operations.start(node, self.native, self.addresses)
            operations.join(node)

        with ThreadPoolExecutor(max_workers=4) as pool:
            started = [pool.submit(start, address) for address in self.addresses]
            start_addons(self.control_plane, api)
            for each in started:
                each.result()
        for address in self.addresses:
            operations.await_readiness(api, address.name, ready=True, seconds=120)


def _dns_setup(layout: Layout) -> tuple[tuple[str, ...], ...]:
    # Names of Services resolve inside as they do in a pod of the default namespace.
    resolver = layout.root / "resolv.conf"
    resolver.parent.mkdir(parents=True, exist_ok=True)
    domain = "cluster.local"
    resolver.write_text(
        f"nameserver {CONTROL_PLANE_ADDRESS}\nsearch default.svc.{domain} svc.{domain} {domain}\noptions ndots:5\n"
    )
    shadowed = Path("/etc/resolv.conf").resolve()  # often a link
    return (("mount", "--bind", str(resolver), str(shadowed)),) if shadowed.exists() else ()
