"""The whole agent: one process that manages one database."""

import os
import signal
import socket
import sys
from collections.abc import Sequence

from stateward.agent import VERSION
from stateward.agent.io.files import Certificate, Token
from stateward.agent.io.log import last_words, say
from stateward.agent.io.loop import Loop, seconds_from_now, sleep
from stateward.agent.io.signals import ENDING, FORWARDED, Signals
from stateward.agent.process import handover, phase
from stateward.agent.process.configuration import UnreadableError
from stateward.agent.process.database import Database, Facts, State
from stateward.agent.process.handover import Handover
from stateward.agent.process.launch import Launcher
from stateward.agent.process.replacement import Replacement
from stateward.agent.process.settings import Settings
from stateward.agent.serving.api import Api
from stateward.agent.serving.probes import Probes
from stateward.agent.serving.server import Server, listen

_PATIENCE = 300.0  # seconds for the configuration of a new pod to arrive; Kubernetes takes up to about two minutes
_WAITING = "waiting for the configuration that this pod was made for"
_NEVER_CAME = "the configuration is not the one that this pod was made for"
_LAST_WORDS = 1.0  # seconds to send open answers before the agent ends


def run(settings: Settings, arguments: Sequence[str]) -> int:
    """Run until the database has ended, and return its exit code."""
    sys.path[:] = [os.path.realpath(each) for each in sys.path]  # `current` may point to a newer copy later
    taken = os.environ.pop(handover.STATE, None)
    rehearsal = os.environ.pop(handover.REHEARSAL, None) is not None
    try:
        inherited = handover.unpack(taken) if taken is not None else None
        agent = Agent(settings, arguments)
        if rehearsal:
            agent.check()
            return 0
        agent.begin(inherited)
    except (OSError, ValueError, KeyError, TypeError, UnreadableError) as error:
        (say if rehearsal else last_words)(f"the agent cannot start: {error}")
        return 1
    return agent.work()


class Agent:
    """Connects signals, the API and the probes to the database."""

    def __init__(self, settings: Settings, arguments: Sequence[str]) -> None:
        self._settings = settings
        self._loop = Loop(self._failed)
        self._signals = Signals()
        self._broken: str | None = None
        self._leaving = False
        self._silent = False
        self._exit_code: int | None = None
        self._servers: list[Server] = []
        self._certificate = Certificate(settings.certificate, settings.key, settings.client_ca)
        self._database = Database(self._loop, settings.command, settings.grace_seconds, self._changed)
        self._launcher = Launcher(settings, self._database)
        self._replacement = Replacement(settings.releases, arguments, self._database, self._signals)
        self._api = Api(Token(settings.token), self._database, self._launcher, self._replacement)
        self._probes = Probes(settings, self._database, self._launcher, lambda: self._broken)

    def check(self) -> None:
        """Raise `OSError` if this agent could not serve the API: it must not replace one that does."""
        self._certificate.load()

    def begin(self, inherited: Handover | None) -> None:
        """Listen, and start the database or adopt the running one."""
        api, probes = self._listeners(inherited)
        self._servers = [
            Server(self._loop, api, self._api.answer, self._certificate.context),
            Server(self._loop, probes, self._probes.answer),
        ]
        self._replacement.listeners = (api.fileno(), probes.fileno())
        if inherited is not None:
            self._database.adopt(inherited.facts)
        self._signals.install()
        self._loop.spawn(self._obey())
        for server in self._servers:
            self._loop.spawn(server.serve())
        self._loop.spawn(self._watch_start())
        self._certificate.context()
        addresses = [each.listener.getsockname()[1] for each in self._servers]
        say(f"agent {VERSION}: API on port {addresses[0]}, probes on port {addresses[1]}")
        # Also if the agent before this one was still waiting, but not if the pod ends already.
        if self._database.facts == Facts() and not self._leaving:
            due = self._launcher.due()
            now = phase.read(self._settings.phase) if due is None else due
            intent = "stays stopped" if now.stays_stopped else "starts"
            say(f"restart phase {now.value or 'none'}: the process {intent}")
            if due is None:
                self._loop.spawn(self._boot())
            else:
                self._launcher.boot(due)
        self._reap()

    def work(self) -> int:
        """Run the loop until the database has ended, and return the exit code of the agent."""
        while self._exit_code is None:
            self._loop.turn()
        self._loop.spawn(self._last_words())
        while not self._silent and any(server.active for server in self._servers):
            self._loop.turn()
        return self._exit_code

    def _listeners(self, inherited: Handover | None) -> tuple[socket.socket, socket.socket]:
        if inherited is None:
            return listen(*self._settings.api), listen(*self._settings.probes)
        for descriptor in inherited.listeners:
            os.set_inheritable(descriptor, False)
        return socket.socket(fileno=inherited.listeners[0]), socket.socket(fileno=inherited.listeners[1])

    async def _obey(self) -> None:
        while True:
            for number in await self._signals.arrived():
                if number == signal.SIGCHLD:
                    self._reap()
                elif number in ENDING:
                    self._leave(number)
                elif number in FORWARDED:
                    self._database.forward(number)

    def _reap(self) -> None:
        """Reap every ended child, including orphans that the kernel has reparented to process 1."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._database.reaped(pid, status)
            self._replacement.reaped(pid, status)

    async def _boot(self) -> None:
        """Start the process of a new pod with the pod's configuration, once it has arrived.

        This may take minutes, and a request to stop or start may arrive meanwhile.
        """
        said = _WAITING
        say(said)
        deadline = seconds_from_now(_PATIENCE)
        while self._database.facts == Facts() and not self._leaving:
            problem = self._boot_problem()
            if problem is None:
                return
            if problem != said:
                say(problem)
                said = problem
            if seconds_from_now(0) >= deadline:
                last_words(_NEVER_CAME if said == _WAITING else f"giving up: {said}")
                self._replacement.ending = True  # a process that starts now would be killed at once
                self._exit_code = 1
                return
            await sleep(0.5)

    def _boot_problem(self) -> str | None:
        """Act on the restart phase if the configuration has arrived; otherwise return what is missing."""
        try:
            now = self._launcher.due()
            if now is None:
                return _WAITING
            self._launcher.boot(now)
        except UnreadableError as error:  # perhaps the disk is full, for now
            return str(error)
        if now.stays_stopped:
            say(f"restart phase {now.value}: the process stays stopped")
        return None

    def _leave(self, number: int) -> None:
        self._leaving = self._replacement.ending = True
        self._database.stop(number)
        self._changed()

    def _changed(self) -> None:
        """End when the database has exited unexpectedly, so that Kubernetes sees it, or when the agent must end."""
        facts = self._database.facts
        gone = facts.pid is None and facts.state is State.EXITED
        if gone or (self._leaving and facts.state is State.STOPPED):
            self._exit_code = facts.exit_code or 0

    async def _watch_start(self) -> None:
        while True:
            if self._database.facts.state is State.STARTING:
                await self._probes.came_up()
            await sleep(1.0 if self._database.facts.state is State.RUNNING else 0.2)

    async def _last_words(self) -> None:
        await sleep(_LAST_WORDS)
        self._silent = True

    def _failed(self, error: Exception) -> None:
        self._broken = f"{type(error).__name__}: {error}"
        say(f"the agent is broken: {self._broken}")
