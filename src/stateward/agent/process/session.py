"""The processes of one session: a database with the shells and children around it."""

import contextlib
import os
import signal
from pathlib import Path

_PROC = Path("/proc")


def members(session: int) -> list[int]:
    """Return the ids of the session's running processes, without zombies."""
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit() and _belongs(entry, session)]


def kill(session: int) -> None:
    """Kill all running processes of the session, in any process group."""
    for pid in members(session):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def signal_group(leader: int, number: int) -> None:
    """Send a signal to the leader's process group; ignore a group that is gone."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(leader, number)


def _belongs(entry: Path, session: int) -> bool:
    try:
        text = (entry / "stat").read_text(errors="replace")
    except OSError:
        return False  # ended meanwhile
    # The second field is the program's name, which may contain spaces and parentheses.
    state, _parent, _group, its_session = text.rpartition(")")[2].split()[:4]
    return int(its_session) == session and state not in "ZX"
