"""The wires: one switch, one cable to each machine, and the routes to the pods of each node.

All of it is made inside the sandbox's namespaces; the machine's own network never sees any of it.
"""

from collections.abc import Iterable
from pathlib import Path

from sandbox.network.addressing import CONTROL_PLANE_ADDRESS, FABRIC, NodeAddress
from sandbox.network.machines import Machine

BRIDGE = "fabric"
UPLINK = "eth0"
_MUTE = "sandbox_mute"

_FORWARDING = ("sysctl", "-q", "-w", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.rp_filter=0")


def start_switch(switch: Machine, init: Path) -> None:
    """Switch the switch on."""
    if switch.boot(init):
        switch.run(["ip", "link", "add", BRIDGE, "type", "bridge"])
        switch.run(["ip", "link", "set", BRIDGE, "up"])


def plug_in(switch: Machine, machine: Machine, address: str) -> None:
    """Lay a new cable from the switch to a machine that has just been booted, and give it its address."""
    holder = machine.holder()
    assert holder is not None  # noqa: S101 - the caller has just booted it
    if is_plugged_in(switch, machine):
        # The kernel takes its time to drop the cable of a machine that was switched off.
        _batch(switch, [f"link delete {_port(machine)}"])
    commands = [
        f"link add {_port(machine)} type veth peer name {UPLINK} netns {holder.pid}",
        f"link set {_port(machine)} master {BRIDGE} up",
    ]
    _batch(switch, commands)
    _batch(machine, [f"address add {address}/{FABRIC.prefixlen} dev {UPLINK}", f"link set {UPLINK} up"])
    machine.run(_FORWARDING)


def route_pods(machine: Machine, nodes: Iterable[NodeAddress], *, own: str) -> None:
    """Tell a machine the way to the pods of all nodes but itself (`own`)."""
    _batch(machine, [f"route replace {node.pods} via {node.address}" for node in nodes if node.name != own])
    if own != "":
        _batch(machine, [f"route replace default via {CONTROL_PLANE_ADDRESS}"])


def cut(switch: Machine, machine: Machine) -> None:
    """Take the machine's link down: a real partition, seen from both sides."""
    switch.run(["ip", "link", "set", _port(machine), "down"])


def join(switch: Machine, machine: Machine) -> None:
    """Take the machine's link up again."""
    switch.run(["ip", "link", "set", _port(machine), "up"])


def mute(machine: Machine) -> None:
    """Drop everything that leaves the machine, also from its pods; what others send still arrives."""
    rule = f"type filter hook postrouting priority 300; oifname {UPLINK} drop"
    rules = f"table inet {_MUTE} {{\nchain out {{\n{rule}\n}}\n}}\n"
    machine.run(["nft", "-f", "-"], stdin=rules.encode())


def unmute(machine: Machine) -> None:
    """Let the machine send again."""
    # Declared first, so that there is a table to delete.
    machine.run(["nft", "-f", "-"], stdin=f"table inet {_MUTE}\ndelete table inet {_MUTE}\n".encode())


def is_cut(switch: Machine, machine: Machine) -> bool:
    """Return whether the machine's link was taken down."""
    return ",UP" not in switch.run(["ip", "-o", "link", "show", _port(machine)]).partition(">")[0]


def is_plugged_in(switch: Machine, machine: Machine) -> bool:
    """Return whether the switch has a cable to the machine."""
    return f" {_port(machine)}@" in switch.run(["ip", "-o", "link", "show"])


def _port(machine: Machine) -> str:
    # Names of network devices have at most 15 letters.
    return f"to-{machine.name}"[:15]


def _batch(machine: Machine, commands: list[str]) -> None:
    if commands:
        machine.run(["ip", "-batch", "-"], stdin="\n".join(commands).encode())
