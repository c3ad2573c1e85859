"""The processes of one session: a database with the shells and children around it."""

import contextlib
import os
import signal
from pathlib import Path

_PROC = Path("/proc")
_STATE, _GROUP, _SESSION, _THREADS = 0, 2, 3, 17
"""Places of fields in `/proc/PID/stat`, counted from the one after the program's name (proc(5))."""


def members(session: int) -> list[int]:
    """Return the ids of the session's running processes, without zombies. Raise `OSError` if they cannot be read."""
    return list(_groups(session))


def kill(session: int) -> None:
    """Kill all running processes of the session, in any process group. Raise `OSError` as `members` does."""
    for pid in members(session):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def signal_group(leader: int, number: int) -> None:
    """Send a signal to the leader's process group; ignore a group that is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, number)


def signal_others(session: int, number: int) -> None:
    """Send a signal to the session's processes outside of its leader's group, which `signal_group` does not reach.

    Raise `OSError` as `members` does.
    """
    for pid, group in _groups(session).items():
        if group != session:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def _groups(session: int) -> dict[int, int]:
    """Return the process groups of the session's running processes, by process id."""
    found: dict[int, int] = {}
    for entry in _PROC.iterdir():
        group = _group(entry, session) if entry.name.isdigit() else None
        if group is not None:
            found[int(entry.name)] = group
    return found


def _group(entry: Path, session: int) -> int | None:
    """Return the process group of a running process; None if it has ended or is of another session.

    A process whose first thread has ended looks like a zombie, but its other threads still use its files: for seconds
    where a killed database gives back its memory, and longer where a disk hangs.
    """
    try:
        text = (entry / "stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return None  # ended meanwhile, or of another user
    # The second field is the program's name, which may contain spaces and parentheses.
    fields = text.rpartition(")")[2].split()
    ended = fields[_STATE] in "ZX" and int(fields[_THREADS]) <= 1
    return int(fields[_GROUP]) if int(fields[_SESSION]) == session and not ended else None
