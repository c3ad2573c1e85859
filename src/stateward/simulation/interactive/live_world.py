"""One world with a cluster under load and the shipped operator, advanced as far as its driver asks."""

import asyncio
import math
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, TypeVar

from stateward.api.values.base import Json
from stateward.kube.client.client import PatchKind
from stateward.kube.objects.metadata import Key
from stateward.simulation.campaign.engine_setups import ENGINE_SETUPS
from stateward.simulation.campaign.run import AGENT_IMAGE
from stateward.simulation.interactive.inputs import Input, LoseNode, Patch, Recording, RestoreNode, TimedInput
from stateward.simulation.interactive.writes import WriteMeter
from stateward.simulation.timing.loop import WorldLoop
from stateward.simulation.world import log_capture, trace_text
from stateward.simulation.world.user_access import USER, UserApi
from stateward.simulation.world.world import Layout

LIMIT = 30.0
"""Seconds of virtual time for one question of a user."""
FORMING = 1200.0
"""Seconds of virtual time within which the cluster must be formed."""

R = TypeVar("R")


class LiveWorld:
    """A world that repeats from its recording. Use it from one thread; close it at the end."""

    def __init__(self, engine: str, seed: int, layout: Layout, spec: Json) -> None:
        """Start the operator, and create a cluster with this spec."""
        self._loop = WorldLoop()
        self._exits = ExitStack()
        self._exits.callback(self._end)
        self._setup = ENGINE_SETUPS[engine]
        self.engine, self.seed = engine, seed
        self.world = self._setup.world(seed, layout, self._loop)
        self.world.context.trace_lines = []
        self.at = 0.0
        """Virtual seconds since the start up to which everything has happened."""
        self.inputs: list[TimedInput] = []
        self.api = UserApi(self.world, self._patched)
        self.failures: list[str] = []
        """Errors of the operator that it does not handle by design."""
        self._loop.set_exception_handler(lambda _, context: self.failures.append(str(context.get("exception"))))
        self._exits.enter_context(log_capture.to(self._on_log_event))
        self._process = self._setup.process(self.world, "op", leader_elect=False)
        self._process.agent_image = AGENT_IMAGE
        self._process.failed = lambda error: self.failures.append(f"{type(error).__name__}: {error}")
        self._process.start()
        self.world.create(spec)
        self.meter: WriteMeter | None = None

    @property
    def recording(self) -> Recording:
        """The record that repeats this run."""
        return Recording(self.engine, self.seed, tuple(self.inputs), self.at)

    @property
    def trace(self) -> Sequence[tuple[float, str]]:
        """What has happened, in words with virtual times."""
        return tuple(self.world.context.trace_lines or ())

    def close(self) -> None:
        """End all tasks of the world."""
        self._exits.close()

    def form(self, write: Callable[[], None]) -> None:
        """Advance until the cluster is formed; then `write` starts the load. Raise TimeoutError."""
        while self.unmet():
            if self.at > FORMING:
                raise TimeoutError(f"the cluster was not formed: {'; '.join(self.unmet()[:3])}")
            self.advance(self.at + 5.0)
        write()

    def measure(self) -> None:
        """Begin to measure what clients experience."""
        self.meter = WriteMeter(self.world)

    def advance(self, until: float) -> None:
        """Let everything happen up to this virtual time."""
        self._loop.run_until(until)
        self.at = max(self.at, until)

    def give(self, what: Input) -> None:
        """Let an input happen now."""
        self.inputs.append(TimedInput(self.at, what))
        self._loop.call_at(self.at, self._perform, what)
        self._loop.run_until(self.at)

    def repeat(self, recording: Recording) -> None:
        """Advance to the end of a recording with its inputs."""
        for timed in recording.inputs:
            self.advance(timed.at)
            self.give(timed.what)
        self.advance(recording.end)

    def ask(self, work: Callable[[UserApi], Awaitable[R]]) -> R:
        """Return the result of a user's work with the API; it sees a whole second, and its writes are recorded."""
        # At whole seconds, because some models advance when they are read, as they do then anyway.
        self.advance(float(math.ceil(self.at)))
        try:
            return self._loop.run_until_complete(asyncio.wait_for(_task(work, self.api), LIMIT))
        finally:
            self.at = max(self.at, self._loop.time())

    def unmet(self) -> list[str]:
        """Return the differences from the desired state."""
        return self._setup.unmet(self.world)

    def lost_nodes(self) -> Sequence[str]:
        """Return the nodes without power."""
        return sorted(self.world.kubelets.powerless)

    def _perform(self, what: Input) -> None:
        match what:
            case LoseNode(node):
                self.world.nodes.lose(node, power=True)
            case RestoreNode(node):
                self.world.nodes.restore(node)
            case Patch():
                self.world.context.trace(f"a user changes {what.name}")
                key = Key(what.namespace, what.name)
                self.world.server.patch(what.kind, key, what.body, PatchKind(what.form), "", USER)

    def _patched(self, kind: str, key: Key, form: PatchKind, body: Any) -> None:
        self.inputs.append(TimedInput(self._loop.time(), Patch(kind, key.namespace, key.name, form.value, body)))
        self.world.context.trace(f"a user changes {key.name}")

    def _on_log_event(self, event: str, values: Mapping[str, object]) -> None:
        error = values.get("exc_info")
        if isinstance(error, BaseException) and not log_capture.expected(error):
            self.failures.append(f"{event}: {type(error).__name__}: {error}")
        if event == "action":
            name, member, why = (str(values.get(part, "")) for part in ("action", "member", "why"))
            self.world.context.trace(trace_text.action(name, member, why))

    def _end(self) -> None:
        self._process.kill()
        tasks = asyncio.all_tasks(self._loop)
        for task in tasks:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.run_until_complete(self._loop.shutdown_asyncgens())
        self._loop.close()


async def _task(work: Callable[[UserApi], Awaitable[R]], api: UserApi) -> R:
    return await work(api)
