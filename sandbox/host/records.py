"""Records of the sandbox's processes: written at their start, checked before each signal.

A process is known by its id, its start time and the boot it belongs to, so that an id that the kernel gave
to another process since is never signalled.
"""

import contextlib
import os
import select
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec


class ProcessRecord(msgspec.Struct, frozen=True):
    """One process as it was at its start; `start` is in clock ticks since boot."""

    pid: int
    start: int
    boot: str
    argv: list[str] = []


def boot_id() -> str:
    """Return the id of this boot of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def start_time(pid: int) -> int | None:
    """Return when the process started, in clock ticks since boot; None if it is gone or a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[0] in {"Z", "X"} else int(fields[19])


def alive(record: ProcessRecord) -> bool:
    """Return whether the very process of the record still runs."""
    return record.boot == boot_id() and start_time(record.pid) == record.start


def end(record: ProcessRecord, *, grace: float = 10.0) -> bool:
    """End the process: ask, wait `grace` seconds, then kill. Return whether it was running."""
    if not alive(record):
        return False
    try:
        handle = os.pidfd_open(record.pid)
    except ProcessLookupError:
        return False
    try:
        # Checked again with the handle open: from here on the id cannot become somebody else's.
        if not alive(record):
            return False
        if grace > 0:
            _signal(handle, signal.SIGTERM)
            if _gone(handle, grace):
                return True
        _signal(handle, signal.SIGKILL)
        _gone(handle, 30)
        return True
    finally:
        os.close(handle)


def _signal(handle: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        signal.pidfd_send_signal(handle, number)


def _gone(handle: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(int(seconds * 1000)))


@dataclass(frozen=True)
class Records:
    """The records of one sandbox, one file each; a key is `machine.component`."""

    directory: Path

    def path(self, key: str) -> Path:
        """Return the file of the record `key`."""
        return self.directory / f"{key}.json"

    def get(self, key: str) -> ProcessRecord | None:
        """Return the record `key`, None where there is none that can be read."""
        try:
            return msgspec.json.decode(self.path(key).read_bytes(), type=ProcessRecord)
        except (FileNotFoundError, msgspec.DecodeError):
            return None

    def running(self, key: str) -> ProcessRecord | None:
        """Return the record `key` if its process runs."""
        record = self.get(key)
        return record if record is not None and alive(record) else None

    def keys(self) -> list[str]:
        """Return all keys, in order."""
        return sorted(path.stem for path in self.directory.glob("*.json"))

    def end(self, key: str, *, grace: float = 10.0) -> bool:
        """End the process of `key` and forget it. Return whether it was running."""
        record = self.get(key)
        ended = record is not None and end(record, grace=grace)
        self.path(key).unlink(missing_ok=True)
        return ended


def wait_until_gone(pids: list[int], seconds: float) -> list[int]:
    """Wait until no process of `pids` is left; return those still there after `seconds`."""
    deadline = time.monotonic() + seconds
    left = [pid for pid in pids if start_time(pid) is not None]
    while left and time.monotonic() < deadline:
        time.sleep(0.02)
        left = [pid for pid in left if start_time(pid) is not None]
    return left
