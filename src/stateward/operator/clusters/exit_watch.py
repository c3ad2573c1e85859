"""Notices at once that a stopping process has ended, so that its member does not wait for the next reconciliation.

A member is down from the stop on, and a reconciliation comes once a second: without this, each restart would lose half
a second. Agents cannot call the operator, so it asks them a few times a second while a process ends, and requeues the
cluster when one has. This is only a hint: reconciliations come without it too, and what they observe decides.
"""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Sequence
from typing import Any

import structlog

from stateward.kube.objects.metadata import Key
from stateward.kube.timing.clock import Clock
from stateward.operator.act.agent_requests import AgentRequests
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.planning.model.actions import StopProcess
from stateward.planning.model.observation import Member, Observation
from stateward.planning.model.process import Process, ProcessState
from stateward.planning.plan import Plan

_log = structlog.get_logger(__name__)

PAUSE = 0.2
"""Seconds between two questions to the agents of one cluster."""
TIMES = 25
"""How often the agents are asked; reconciliations in between start this again."""
MOST = 16
"""Processes of one cluster that are watched at once: beyond that number the regular reconciliations are enough."""


class ExitWatch:
    """Watches processes that are stopping, and requeues their cluster when one has ended."""

    def __init__(self, agent_requests: AgentRequests, clock: Clock, wake: Callable[[Key], None]) -> None:
        self._agent_requests = agent_requests
        self._clock = clock
        self._wake = wake
        self._spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]] | None = None
        self._watched: dict[Key, asyncio.Task[None]] = {}

    def begin(self, group: asyncio.TaskGroup) -> None:
        """Watch from now on, in tasks of a group."""
        self._spawn = group.create_task

    def end(self) -> None:
        """Watch no more."""
        self._spawn = None
        for task in self._watched.values():
            task.cancel()

    def keep(self, key: Key, existing: ClusterObjects, members: Sequence[Member]) -> None:
        """Watch the processes of these members of a cluster, unless some of it are watched already."""
        if self._spawn is None or key in self._watched or not 0 < len(members) <= MOST:
            return
        self._watched[key] = self._spawn(self._watch(key, existing, members))

    async def _watch(self, key: Key, existing: ClusterObjects, members: Sequence[Member]) -> None:
        try:
            for _ in range(TIMES):
                await self._clock.sleep(PAUSE)
                answers = await self._agent_requests.ask(existing, members)
                if ended(answers.values()):
                    self._wake(key)
                    return
        except Exception as error:  # noqa: BLE001 - a hint that fails is no reason to end the operator
            _log.warning(
                "the operator does not watch for the end of a process", error=f"{type(error).__name__}: {error}"
            )
        finally:
            self._watched.pop(key, None)


def ended(answers: Collection[object]) -> bool:
    """Return whether one of the agents reports that its process has ended."""
    return any(isinstance(said, Process) and said.state is ProcessState.STOPPED for said in answers)


def ending(observed: Observation, plan: Plan) -> tuple[Member, ...]:
    """Return the members whose processes a plan stops, or that are still stopping."""
    told = {action.member for action in plan.steps if isinstance(action, StopProcess)}
    going = (ProcessState.STOPPING,)
    return tuple(
        m for m in observed.members if m.name in told or (isinstance(m.process, Process) and m.process.state in going)
    )
