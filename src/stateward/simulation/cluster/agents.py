"""A model of the agents in pods: process 1 of a managed container, with the database as its child.

The files that an agent keeps for its process survive a crash of the container, but not the pod. Mounted files follow
the Secret with a delay, and never return to an older state.
"""

import base64
from dataclasses import replace

from stateward.agent.process.configuration import checksum
from stateward.agent.process.phase import Phase
from stateward.api.values import names
from stateward.planning.model.process import Process as Said
from stateward.planning.model.process import ProcessState
from stateward.simulation.cluster.context import SimulationContext
from stateward.simulation.cluster.process import Container, Launcher, Process

PATIENCE = 300.0
"""Seconds within which the configuration of a new pod must arrive; otherwise its container exits."""
UP = (ProcessState.STARTING, ProcessState.RUNNING)

Files = dict[str, str]


class Refused(Exception):  # noqa: N818 - it is an answer, and no error of the agent
    """A request that the agent refuses; the message says why."""


class Agent:
    """One run of an agent over one database process at a time."""

    def __init__(self, launcher: "Agents", container: Container) -> None:
        self.container = container
        self.child: Process | None = None
        self.ended = False
        self._state = ProcessState.STOPPED
        self._running = ""
        self._leaving = self._held = False
        self._launcher = launcher
        self._context = launcher.context
        self._since = self._context.now
        phase = self.phase()
        if not phase.stays_stopped:
            self._boot(phase)

    @property
    def serves(self) -> bool:
        """Whether its database serves, and was not asked to stop."""
        return self.state in UP and self.child is not None and self.child.serves

    @property
    def answers(self) -> bool:
        """Whether its database answers."""
        return self.child is not None and self.child.answers

    @property
    def state(self) -> ProcessState:
        """The state of the database process."""
        if self._state is ProcessState.STARTING and self.answers:
            self._state = ProcessState.RUNNING
        return self._state

    def phase(self) -> Phase:
        """Return the restart phase of the pod that its node has received."""
        try:
            return Phase(self.container.annotation(names.ANNOTATION_PHASE))
        except ValueError:
            return Phase.NONE

    def said(self) -> Said:
        """Return its answer to a status request."""
        up = self.state is not ProcessState.STOPPED
        return Said(self.state, digest(self.container.shown()), self._running if up else "")

    # Requests of the operator.

    def stop_process(self) -> None:
        """Stop the database, or keep one stopped that was not started yet; a second request changes nothing."""
        self._held = True
        if self.state in UP and self.child is not None:
            self._context.count("process stopped in its pod")
            self._state = ProcessState.STOPPING
            self.container.probe()
            self.child.stop()

    def start_process(self, expected: str) -> None:
        """Start the database with the mounted configuration if it is the expected one; raises Refused."""
        if self.state in UP:
            if expected not in ("", self._running):
                raise Refused("the process runs with another configuration; stop it first")
            return
        if self.state is not ProcessState.STOPPED or self._leaving:
            raise Refused(f"the process is {self.state.value}; ask again")
        files = self.container.shown()
        if expected not in ("", digest(files)):
            raise Refused("another configuration is mounted")
        self._context.count("process started in its pod")
        self._start(files)

    # Requests of the node.

    def stop(self) -> None:
        """Stop gracefully: the database first."""
        self._leaving = True
        if self.child is None:
            self._end(0, "stopped")
        elif self._state in UP:
            self._state = ProcessState.STOPPING
            self.child.stop()

    def kill(self) -> None:
        """Kill the agent and the database."""
        self.ended = True
        if self.child is not None:
            self.child.kill()

    def _boot(self, phase: Phase) -> None:
        """Start the database of a new container: with the kept configuration, or else with that of the pod."""
        if self.ended or self._leaving or self._held or self.child is not None:
            return
        kept, files = self._launcher.kept.get(self.container.uid), self.container.shown()
        if phase.takes_new_configuration or kept is not None:
            self._start(files if phase.takes_new_configuration or kept is None else kept)
            return
        wanted = self.container.annotation(names.ANNOTATION_CHECKSUM)
        if not wanted or digest(files) == wanted:
            self._start(files)
        elif self._context.now - self._since >= PATIENCE:
            self._end(1, "the configuration is not the one that this pod was made for")
        else:
            self._context.later(4.0, self._boot, phase)

    def _start(self, files: Files) -> None:
        self._launcher.kept[self.container.uid] = files
        self._running, self._state = digest(files), ProcessState.STARTING
        self.child = self._launcher.inner.start(replace(self.container, config=lambda: files, exited=self._exited))

    def _exited(self, code: int, why: str) -> None:
        """Handle the exit of the database; after an unexpected one the container exits too, for Kubernetes to react."""
        if self.ended:
            return
        self.child = None
        asked = self._state is ProcessState.STOPPING
        self._state = ProcessState.STOPPED
        if self._leaving or not asked:
            self._end(code, why)

    def _end(self, code: int, why: str) -> None:
        self.ended = True
        self.container.exited(code, why)


class Agents:
    """Starts the process of a container: an agent if the pod has one, or else the database itself."""

    def __init__(self, context: SimulationContext, inner: Launcher) -> None:
        self.context = context
        self.inner = inner
        self.kept: dict[str, Files] = {}
        """By pod: the configuration of the last start of its process."""
        self._agents: dict[str, Agent] = {}

    def start(self, container: Container) -> Process:
        """Start the process of a container."""
        if not container.managed:
            return self.inner.start(container)
        agent = self._agents[container.uid] = Agent(self, container)
        return agent

    def discard(self, disk: str) -> None:
        """Forget the files kept in a deleted pod, and its data if that was ephemeral."""
        self.kept.pop(disk, None)
        self._agents.pop(disk, None)
        self.inner.discard(disk)

    def at(self, address: str) -> Agent | None:
        """Return the agent that answers at an address."""
        return next((a for a in self._agents.values() if not a.ended and a.container.address == address), None)


def digest(files: Files) -> str:
    """Return the operator's checksum of files in base64; empty if there are none."""
    return checksum({name: base64.b64decode(content) for name, content in files.items()}) if files else ""
