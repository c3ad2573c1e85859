"""Replaces the agent on request: which copies may replace it, and when."""

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from stateward.agent.io import wire
from stateward.agent.io.log import say
from stateward.agent.io.loop import seconds_from_now, sleep
from stateward.agent.io.signals import Signals
from stateward.agent.process import handover
from stateward.agent.process.database import UP, Database, State

_REHEARSAL_SECONDS = 10.0


class Replacement:
    """Checks a newer agent, and becomes it once the request has been answered."""

    def __init__(self, releases: Path, arguments: Sequence[str], database: Database, signals: Signals) -> None:
        self._releases = releases
        self._arguments = arguments
        self._database = database
        self._signals = signals
        self._rehearsing: dict[int, int | None] = {}
        self._own = Path(sys.executable).resolve().parent.parent
        self.ending = False
        self.listeners: tuple[int, int] = (-1, -1)

    def reaped(self, pid: int, status: int) -> None:
        """Record that a child has ended."""
        if pid in self._rehearsing:
            self._rehearsing[pid] = status

    async def prepare(self, path: Path) -> Callable[[], None] | None:
        """Return the action that makes this process the newer agent; None if it is that one. Raise `RefusedError`."""
        release = self._release(path)
        if release == self._own:
            return None
        if self._rehearsing:
            raise wire.RefusedError(409, "another agent is already being tried")
        arguments = [*handover.command(release), *self._arguments]
        try:
            pid = handover.rehearse(arguments, self._state())
        except OSError as error:
            raise wire.RefusedError(422, f"{release} cannot be started: {error}") from None
        code = await self._outcome(pid)
        if code != 0:
            raise wire.RefusedError(422, f"{release} failed its rehearsal with code {code}; this agent continues")
        return lambda: self._become(arguments)

    def _release(self, path: Path) -> Path:
        """Return the directory of the copy. The holder of the token may choose among copies, not run any program."""
        try:
            release = path.resolve()
            found = release.parent == self._releases.resolve() and release.is_dir()
        except (OSError, RuntimeError):  # the name is too long, or a link points to itself
            release, found = path, False
        if not found:
            raise wire.RefusedError(422, f"{path} is not a copy of the agent in {self._releases}")
        return release

    def _state(self) -> handover.Handover:
        if self.ending:
            raise wire.RefusedError(409, "the agent is ending with its pod")
        if self._database.facts.state not in UP | {State.STOPPED}:
            raise wire.RefusedError(409, f"the process is {self._database.facts.state.value}; ask again")
        return handover.Handover(self._database.facts, self.listeners)

    async def _outcome(self, pid: int) -> int:
        self._rehearsing[pid] = None
        deadline = seconds_from_now(_REHEARSAL_SECONDS)
        killed = False
        while (status := self._rehearsing[pid]) is None:
            if not killed and seconds_from_now(0) > deadline:
                os.kill(pid, signal.SIGKILL)
                killed = True
            await sleep(0.02)
        del self._rehearsing[pid]
        return os.waitstatus_to_exitcode(status)

    def _become(self, arguments: list[str]) -> None:
        try:
            state = self._state()
            say(f"becoming the agent in {Path(arguments[0]).parent}")
            handover.become(arguments, state, self._signals)
        except (OSError, wire.RefusedError) as error:
            say(f"this agent continues: {error}")
