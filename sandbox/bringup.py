"""The way up: each step does nothing where its work is already done, so that the same way is the repair."""

from pathlib import Path

import msgspec

from sandbox import network
from sandbox import settings as settings_file
from sandbox.addressing import CONTROL_PLANE_ADDRESS, SERVICES, node_addresses
from sandbox.controlplane import ControlPlane
from sandbox.kubeapi import KubeApi
from sandbox.layout import SWITCH, Layout
from sandbox.machines import Machine
from sandbox.prerequisites import require_machine
from sandbox.progress import Progress
from sandbox.relays import open_api_relay
from sandbox.settings import Settings
from sandbox.teardown import take_down
from sandbox.toolchain.kubelite import build_kubelite
from sandbox.toolchain.native import build_native


def bring_up(layout: Layout, wanted: Settings, progress: Progress) -> None:
    """Bring a sandbox up. If a new one cannot be brought up, nothing of it is left."""
    node_addresses(wanted.nodes)
    require_machine(layout, wanted, progress)
    native, binaries = build_native(progress), build_kubelite(progress)
    fresh = settings_file.load(layout.settings) is None
    try:
        _Ascent(layout, wanted, progress, native / "pause", binaries).run()
    except BaseException:
        if fresh:
            progress.say("that failed; removing what was made")
            take_down(layout)
        raise


class _Ascent:
    """The steps of one `up`."""

    def __init__(self, layout: Layout, wanted: Settings, progress: Progress, init: Path, binaries: Path) -> None:
        self.layout, self.wanted, self.progress, self.init = layout, wanted, progress, init
        self.control_plane = ControlPlane(layout, binaries)
        self.switch = Machine(layout, SWITCH)

    def run(self) -> None:
        """Take all the steps."""
        with self.progress.step("control plane"):
            self._lay_wires()
            port = self._open_door()
            self.control_plane.write_credentials(port)
            self.control_plane.start(KubeApi(self.layout.kubeconfig))
        self.progress.say(f"ready: export KUBECONFIG={self.layout.kubeconfig}")

    def _lay_wires(self) -> None:
        machine = self.control_plane.machine
        if self.switch.holder() is None:
            machine.halt()  # its cable led to a switch that is no more
        network.start_switch(self.switch, self.init)
        if machine.boot(self.init):
            network.plug_in(self.switch, machine, CONTROL_PLANE_ADDRESS)
            machine.run(["ip", "route", "replace", str(SERVICES), "dev", network.UPLINK])

    def _open_door(self) -> int:
        before = settings_file.load(self.layout.settings)
        port = open_api_relay(self.layout, self.wanted.port, before.port if before else 0)
        settings_file.save(self.layout.settings, msgspec.structs.replace(self.wanted, port=port))
        return port
