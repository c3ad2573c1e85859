"""Starts one process in namespaces of its choice, and writes down which one it is.

Run as a program of its own (`python -I launch.py SPEC`), because namespaces and forks do not mix with
threads, and the caller may have some. It imports nothing but the standard library, to start fast.

The new process waits on a pipe until its record is on disk. Even if the caller is killed in between, there is
no process without a record: the waiting process sees the pipe close and exits.
"""

import ctypes
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

_FLAGS = {"mnt": 0x00020000, "uts": 0x04000000, "net": 0x40000000, "pid": 0x20000000}
_LIBC = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def _start_time(pid: int) -> int:
    # Field 22 of stat, counted behind the name, which may hold blanks and parentheses.
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


def _record(spec: dict[str, Any], pid: int) -> None:
    path = Path(spec["record"])
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    fields = {"pid": pid, "start": _start_time(pid), "boot": boot, "argv": spec["argv"]}
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(fields))
    fresh.replace(path)


def _become(spec: dict[str, Any], joined: dict[str, int]) -> None:
    """Turn this process into the program; never returns."""
    os.setsid()
    log = os.open(spec["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    null = os.open(os.devnull, os.O_RDONLY)
    program = os.open(spec["argv"][0], os.O_RDONLY | os.O_CLOEXEC)
    for descriptor, target in ((null, 0), (log, 1), (log, 2)):
        os.dup2(descriptor, target)
    own = sum(_FLAGS[kind] for kind in spec["unshare"] if kind != "pid")
    if own:
        _check(_LIBC.unshare(own), "unshare")
    for kind, descriptor in joined.items():
        if kind != "pid":
            _check(_LIBC.setns(descriptor, _FLAGS[kind]), f"setns {kind}")
    for command in spec["setup"]:
        subprocess.run(command, check=True)
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    os.chdir(spec["directory"])
    # By descriptor: the program's path may be hidden in the namespace it runs in.
    os.execve(program, spec["argv"], spec["environment"])  # noqa: S606 - no shell is wanted


def _child(spec: dict[str, Any], joined: dict[str, int], released: int) -> None:
    try:
        if os.read(released, 1) != b"g":
            os._exit(0)
        _become(spec, joined)
    except BaseException as failure:  # noqa: BLE001 - the log is the only place left to say it
        os.write(2, f"launch: {failure}\n".encode())
    finally:
        os._exit(127)


def main(text: str) -> None:
    """Start what the JSON `text` describes and print its process id."""
    spec: dict[str, Any] = json.loads(text)
    joined = {kind: os.open(path, os.O_RDONLY | os.O_CLOEXEC) for kind, path in spec["join"].items()}
    if "pid" in spec["unshare"]:
        _check(_LIBC.unshare(_FLAGS["pid"]), "unshare pid")
    if "pid" in joined:
        _check(_LIBC.setns(joined["pid"], _FLAGS["pid"]), "setns pid")
    released, release = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(release)
        _child(spec, joined, released)
    os.close(released)
    _record(spec, pid)
    os.write(release, b"g")
    sys.stdout.write(f"{pid}\n")


if __name__ == "__main__":
    main(sys.argv[1])
