"""Runs work on packages of others beside the event loop, which watches, renews leases and answers probes.

Small work runs in one thread, within an allowance of a tenth of a second. Large work runs in a process of its own, with
limits on time and memory, which then exits. Each namespace has one job at a time, small or large, and the namespaces
alternate: expensive packages delay only their own namespace.

There is one thread because a compiled template counts the work of a rendering: two at once would count together.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar

from stateward.kube.queue.locks import Locks
from stateward.operator.installations.execution.worker import in_process
from stateward.packages.format.parameters import BadValue
from stateward.packages.rendering.step_budget import Allowance, Spent, small
from stateward.packages.rendering.templates import TemplateProblem

PLACES = 2
"""Processes at once."""
Result_co = TypeVar("Result_co", covariant=True)
_THREAD = ThreadPoolExecutor(1, "aside")


class Job(Protocol[Result_co]):
    """A job, and its result."""

    def do(self, allowance: Allowance | None = None) -> Result_co:
        """Return the result."""
        ...


class Background(Protocol):
    """Does jobs without keeping the event loop from going on; raises what they raise, and NotNowError."""

    async def __call__(self, job: Job[Result_co]) -> Result_co:
        """Return the result of the job."""
        ...


async def in_foreground(job: Job[Result_co]) -> Result_co:
    """Return the result, while everything else waits: for virtual time, which no real process follows."""
    return job.do()


class WorkerPool:
    """The thread, the slots for processes, and the queue of namespaces."""

    def __init__(self, places: int = PLACES) -> None:
        self._places = asyncio.Semaphore(places)
        self._turns = Locks[str]()

    async def __call__(self, job: Any) -> Any:
        """Return the result of a job, when its namespace is next."""
        async with self._turns[job.namespace]:
            if job.may_be_small:
                try:
                    return await asyncio.get_running_loop().run_in_executor(_THREAD, job.do, small())
                except (Spent, TemplateProblem, BadValue):
                    pass  # It is more than may be done here, or wrong; the process says which.
            async with self._places:
                return await in_process(job)
