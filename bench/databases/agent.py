"""The cost of the agent: its copy with an interpreter, its start, and its memory, idle and with clients."""

import contextlib
import os
import socket
import ssl
import statistics
import subprocess
import tempfile
import time
from collections.abc import Generator
from pathlib import Path

from bench.process import usage
from bench.table import Row
from stateward import pki
from stateward.agent.process import handover, transplant

CLIENTS = 16
STARTS = 5
NAME = "member.example"
_READY = "API on port "


def measure() -> list[Row]:
    """Copy the agent, run the copy over a process that only waits, and return the figures."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        begin, worked = time.perf_counter(), processor_time()
        release = transplant.copy(root / "agent")
        seconds, worked = time.perf_counter() - begin, processor_time() - worked
        size = sum(path.stat().st_size for path in release.rglob("*") if path.is_file() and not path.is_symlink())
        start = statistics.median(started(release) for _ in range(STARTS))
        with running(release, root) as (process, port):
            idle = usage(process.pid).resident
            with clients(port):
                busy = usage(process.pid).resident
    return [
        Row(
            "agent: its copy with an interpreter",
            f"{size / 1e6:.0f} MB, {seconds:.2f} s",
            "60 MB, 1 s",
            f"{worked:.2f} s of CPU time",
        ),
        Row("agent: a start of the copy", f"{start:.2f} s"),
        Row("agent: resident memory, idle", f"{idle / 1e6:.1f} MB", "20 MB"),
        Row(f"agent: resident memory, {CLIENTS} open TLS connections", f"{busy / 1e6:.1f} MB"),
    ]


def processor_time() -> float:
    """Return the seconds of CPU time that this process and its ended children have used."""
    return sum(os.times()[:4])


def started(release: Path) -> float:
    """Return the seconds that the copy takes to say its version."""
    begin = time.perf_counter()
    subprocess.run([*handover.command(release), "version"], check=True, capture_output=True, env={})
    return time.perf_counter() - begin


@contextlib.contextmanager
def running(release: Path, root: Path) -> Generator[tuple[subprocess.Popen[str], int]]:
    """Run the copy, and yield the process and the port of its API."""
    arguments = ["run", *settings(root), "--", "/bin/sleep", "600"]
    with subprocess.Popen(
        [*handover.command(release), *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={}
    ) as process:
        try:
            yield process, port_of(process)
        finally:
            process.terminate()
            process.communicate()


def settings(root: Path) -> list[str]:
    """Write the files that an agent reads, and return the options that name them."""
    authority = pki.new_authority("bench", time.time())
    pair = pki.issue(authority.signs, NAME, [NAME], time.time())
    config = root / "config"
    config.mkdir()
    files = {"config/a.yml": "a: 1\n", "tls.crt": pair.certificate, "tls.key": pair.key, "token": "bench\n"}
    for name, content in files.items():
        (root / name).write_text(content)
    found = {"config": config, "certificate": root / "tls.crt", "key": root / "tls.key", "token": root / "token"}
    words = [word for name, path in found.items() for word in (f"--{name}", str(path))]
    return [*words, "--api", "127.0.0.1:0", "--probes", "127.0.0.1:0"]


def port_of(process: subprocess.Popen[str]) -> int:
    """Wait until the agent listens, and return the port of its API; raise RuntimeError when it ends before."""
    for line in process.stdout or ():
        if _READY in line:
            return int(line.partition(_READY)[2].partition(",")[0])
    raise RuntimeError("the agent has ended before it listened")


@contextlib.contextmanager
def clients(port: int) -> Generator[None]:
    """Hold connections open on which nothing is asked."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with contextlib.ExitStack() as stack:
        for _ in range(CLIENTS):
            raw = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=10))
            stack.enter_context(context.wrap_socket(raw))
        yield
