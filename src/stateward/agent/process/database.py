"""The database process: its state, start, stop and end."""

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from stateward.agent.io.log import last_words, say
from stateward.agent.io.loop import Loop, seconds_from_now, sleep
from stateward.agent.process import session

_LOOK = 0.05  # seconds between checks of processes that are not the agent's own children


class State(Enum):
    """The state of the database process."""

    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    EXITED = "exited"


UP = frozenset({State.STARTING, State.RUNNING})


class Facts(NamedTuple):
    """All known facts about the process; a replaced agent hands them over to the next."""

    state: State = State.STOPPED
    pid: int | None = None
    started_at: float | None = None
    exit_code: int | None = None
    restarts: int = 0
    checksum: str | None = None
    """The checksum of the configuration that the process was started with."""
    held: bool = False
    """Whether a stop was requested before the first start, so that only a start request starts the process."""


class Database:
    """One database process at a time, in its own session."""

    def __init__(self, loop: Loop, command: Sequence[str], grace: float, changed: Callable[[], None]) -> None:
        self._loop = loop
        self._command = command
        self._grace = grace
        self._changed = changed
        self._leader_gone = True
        self.facts = Facts()

    def adopt(self, facts: Facts) -> None:
        """Take over a process that an earlier agent has started (this same process before its `exec`)."""
        self.facts = facts
        self._leader_gone = facts.pid is None

    def start(self, checksum: str | None, environment: Mapping[str, str], *, ready: bool) -> None:
        """Start the process; `ready` if there is no way to query whether it has come up. Only valid when stopped."""
        before = self.facts
        again = before.restarts + 1 if before.started_at is not None else 0
        self.facts = Facts(State.RUNNING if ready else State.STARTING, None, time.time(), None, again, checksum)
        try:
            pid = os.posix_spawnp(
                self._command[0], [*self._command], dict(environment), setsid=True, setsigmask=(), setsigdef=_ALL
            )
        except OSError as error:
            last_words(f"{self._command[0]} could not be started: {error}")
            self._end(State.EXITED, 127 if isinstance(error, FileNotFoundError) else 126)
            return
        self._leader_gone = False
        self.facts = self.facts._replace(pid=pid)
        say(f"started {self._command[0]} as process {pid}")
        self._changed()

    def came_up(self) -> None:
        """Record that the process has answered for the first time."""
        if self.facts.state is State.STARTING:
            self.facts = self.facts._replace(state=State.RUNNING)
            say("the process has started")
            self._changed()

    def hold(self) -> None:
        """Record a stop request that comes before the first start.

        The disaster this prevents: the agent waits for the configuration of a new pod and reports that the process is
        stopped, the operator continues because of that, and later the process starts by itself.
        """
        if self.facts.started_at is None and not self.facts.held:
            self.facts = self.facts._replace(held=True)
            say("a stop was requested: the process stays stopped until a start request")

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Send the process a signal to end, and kill it after the grace period. Repeated calls change nothing."""
        leader = self.facts.pid
        if self.facts.state not in UP or leader is None:
            return
        say(f"stopping process {leader}: {signal.Signals(number).name}, in {self._grace:g} s KILL")
        self.facts = self.facts._replace(state=State.STOPPING)
        session.signal_group(leader, number)
        self._loop.spawn(self._see_off(leader, State.STOPPED))

    def forward(self, number: int) -> None:
        """Pass a signal on to the process group."""
        if self.facts.pid is not None and not self._leader_gone:
            session.signal_group(self.facts.pid, number)

    def reaped(self, pid: int, status: int) -> None:
        """Record that a child has ended.

        After the end of the leader, a shell, nothing passes signals on to processes in other groups. The disaster this
        prevents: the shell is killed, the database behind it serves until the end of the grace period, and is killed.
        """
        if pid != self.facts.pid or self._leader_gone:
            return
        code = os.waitstatus_to_exitcode(status)
        self._leader_gone = True
        self.facts = self.facts._replace(exit_code=code if code >= 0 else 128 - code)
        if self.facts.state in UP:
            say(f"process {pid} exited with code {self.facts.exit_code}")
            self.facts = self.facts._replace(state=State.EXITED)
            session.signal_group(pid, signal.SIGTERM)
            self._loop.spawn(self._see_off(pid, State.EXITED))
        try:
            session.signal_others(pid, signal.SIGTERM)
        except OSError as error:
            say(f"the processes that {pid} has left cannot be read, and get no TERM: {error}")

    async def _see_off(self, leader: int, outcome: State) -> None:
        """Wait until no process of the session is left.

        A shell around a database may end while the database itself is still closing its files. Without this wait a
        second database would start on the same files.
        """
        deadline = seconds_from_now(self._grace)
        while not self._leader_gone or _remain(leader):
            if seconds_from_now(0) >= deadline:
                self._kill(leader)
                deadline = seconds_from_now(1)
            await sleep(_LOOK)
        self._end(outcome, self.facts.exit_code)

    def _kill(self, leader: int) -> None:
        say(f"process {leader} is still there after {self._grace:g} s: KILL")
        try:
            session.kill(leader)
        except OSError as error:
            say(f"its processes cannot be read, and get their KILL later: {error}")

    def _end(self, outcome: State, code: int | None) -> None:
        self.facts = self.facts._replace(state=outcome, pid=None, exit_code=code)
        say(f"the process is {outcome.value}, exit code {code}")
        self._changed()


def _remain(leader: int) -> bool:
    """Return whether processes of the session are left; processes that cannot be read, for now, may be."""
    try:
        return bool(session.members(leader))
    except OSError:
        return True


_ALL = tuple(signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP})
