"""A machine of the sandbox: namespaces of its own, held open by one small process.

The control plane, each node and the switch between them are such machines. Process 1 of a machine does
nothing but hold its namespaces; when it ends, the kernel ends every process in it and drops its mounts and
its network, so that nothing has to be found again one by one.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.host.commands import run
from sandbox.host.records import ProcessRecord, Records
from sandbox.layout import Layout, sources

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True)
class Program:
    """What to start, where; `key` is the name of its record and its log, `inherited` the descriptors it is given."""

    key: str
    argv: Sequence[str]
    join: dict[str, str] = field(default_factory=dict[str, str])
    unshare: tuple[str, ...] = ()
    setup: tuple[tuple[str, ...], ...] = ()
    environment: dict[str, str] = field(default_factory=dict[str, str])
    directory: str = "/"
    inherited: tuple[int, ...] = ()


def launch(layout: Layout, program: Program) -> ProcessRecord:
    """Start a program that outlives this one, and return its record."""
    layout.records.mkdir(parents=True, exist_ok=True)
    layout.logs.mkdir(parents=True, exist_ok=True)
    records = Records(layout.records)
    spec = {
        "argv": list(program.argv),
        "record": str(records.path(program.key)),
        "log": str(layout.logs / f"{program.key}.log"),
        "join": program.join,
        "unshare": program.unshare,
        "setup": program.setup,
        "environment": {"PATH": PATH, "HOME": "/root", **program.environment},
        "directory": program.directory,
    }
    run(
        [sys.executable, "-I", "-S", sources() / "host/launch.py", json.dumps(spec)],
        timeout=60,
        inherited=program.inherited,
    )
    record = records.get(program.key)
    if record is None:
        raise SandboxError(f"{program.key} did not start; see {spec['log']}")
    return record


@dataclass(frozen=True)
class Machine:
    """One machine of the sandbox, by name."""

    layout: Layout
    name: str

    @property
    def key(self) -> str:
        """The key of the record of the holding process."""
        return f"{self.name}.machine"

    def holder(self) -> ProcessRecord | None:
        """Return the process that holds the namespaces, None when the machine is off."""
        return Records(self.layout.records).running(self.key)

    def namespace(self, kind: str) -> str:
        """Return the path of a namespace (`net`, `mnt`, `pid`, `uts`); raise SandboxError when off."""
        holder = self.holder()
        if holder is None:
            raise SandboxError(f"{self.name} of sandbox {self.layout.name} is off; run 'sandbox up' to repair it")
        return f"/proc/{holder.pid}/ns/{kind}"

    def boot(self, init: Path, setup: Sequence[tuple[str, ...]] = ()) -> bool:
        """Create the namespaces unless they are there. Return whether they had to be created."""
        if self.holder() is not None:
            return False
        steps = (
            ("hostname", self.name),
            ("mount", "-t", "proc", "proc", "/proc"),
            ("ip", "link", "set", "lo", "up"),
            *setup,
        )
        launch(
            self.layout,
            Program(self.key, [str(init)], unshare=("mnt", "uts", "net", "pid"), setup=(_PRIVATE_MOUNTS, *steps)),
        )
        self._await_init(init)
        return True

    def start(self, component: str, argv: Sequence[str], environment: dict[str, str] | None = None) -> ProcessRecord:
        """Start a component in this machine."""
        join = {kind: self.namespace(kind) for kind in ("pid", "net", "uts", "mnt")}
        return launch(self.layout, Program(f"{self.name}.{component}", argv, join=join, environment=environment or {}))

    def run(self, argv: Sequence[str | Path], *, mounts: bool = False, stdin: bytes | None = None) -> str:
        """Run a program to its end in this machine's network (and, if asked, its mounts)."""
        return run([*self.enter(mounts=mounts), *argv], stdin=stdin)

    def enter(self, *, mounts: bool = False) -> list[str]:
        """Return the words to put before a command so that it runs in this machine."""
        words = ["nsenter", f"--net={self.namespace('net')}"]
        if mounts:
            words.append(f"--mount={self.namespace('mnt')}")
        return [*words, "--"]

    def halt(self) -> bool:
        """End the machine with everything in it. Return whether it was on."""
        # No grace: the kernel kills the rest as soon as process 1 is gone, and a power cut is what this plays.
        return Records(self.layout.records).end(self.key, grace=0)

    def _await_init(self, init: Path) -> None:
        # The record exists before the setup is through; the holder is ready when it has become the init program.
        record = Records(self.layout.records).get(self.key)
        wanted = init.stat()
        while record is not None and self.holder() is not None:
            try:
                now = Path(f"/proc/{record.pid}/exe").stat()
            except OSError:
                continue
            if (now.st_dev, now.st_ino) == (wanted.st_dev, wanted.st_ino):
                return
        raise tail(self.layout, self.key)


_PRIVATE_MOUNTS = ("mount", "--make-rslave", "/")


def tail(layout: Layout, key: str) -> SandboxError:
    """Return the error to raise when a component has ended: it tells the last thing that it printed."""
    path = layout.logs / f"{key}.log"
    lines = path.read_text(errors="replace").strip().splitlines() if path.exists() else []
    return SandboxError(f"{key} ended; the last it said was: {lines[-1][:400] if lines else 'nothing'}")
