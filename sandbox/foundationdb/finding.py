"""Discovery: the cluster file, its coordinators, and the leader among them."""

import asyncio
import ipaddress
import socket
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.foundationdb import wire
from stateward.simulation.foundationdb.addresses import Connection, connection


@dataclass(slots=True)
class Found:
    """The answers of the coordinators: the reachable ones, the leader, and a change of the coordinators."""

    reached: dict[str, bool] = field(default_factory=dict[str, bool])
    leader: str = ""
    forward: str = ""
    epoch: int = 0

    @property
    def quorum(self) -> bool:
        """Whether a majority was reached."""
        return sum(self.reached.values()) * 2 > len(self.reached)


@dataclass(slots=True)
class ClusterFile:
    """The file that says where the coordinators are, which is written again when they change."""

    path: Path
    current: Connection

    @classmethod
    def read(cls, path: Path) -> "ClusterFile":
        """Read it; raises OSError and ValueError."""
        return cls(path, connection(path.read_text()))

    def follow(self, text: str) -> None:
        """Go on to another generation of coordinators; where the file cannot be written it is only remembered."""
        self.current = connection(text)
        try:
            self.path.write_text(f"# DO NOT EDIT!\n# This file is auto-generated.\n{self.current}\n")
        except OSError as error:
            print(f"the cluster file cannot be written: {error}", flush=True)


async def find(names: tuple[str, ...], key: str, protocol: str) -> Found:
    """Ask all coordinators who leads."""
    question = {"op": "leader", "key": key, "protocol": protocol}
    answers = await wire.most([wire.ask(name, question) for name in names])
    found = Found()
    leaders: list[str] = []
    for name, answer in zip(names, answers, strict=True):
        found.reached[name] = answer is not None and "error" not in answer
        if answer is not None and "error" not in answer:
            leaders.append(answer["leader"])
            found.forward = found.forward or answer["forward"]
            found.epoch = max(found.epoch, answer["epoch"])
    found.leader = max(filter(None, leaders), key=leaders.count, default="")
    return found


async def resolve(name: str) -> str:
    """Return the address that a coordinator's name has now; the name itself where it is one, or has none."""
    bare = name.removesuffix(":tls")
    tls, (host, _, port) = name[len(bare) :], bare.rpartition(":")
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        pass
    else:
        return name
    try:
        async with asyncio.timeout(wire.PATIENCE):
            found = await asyncio.get_running_loop().getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except (TimeoutError, OSError):
        return name
    address = str(found[0][4][0])
    return f"[{address}]:{port}{tls}" if ":" in address else f"{address}:{port}{tls}"
