"""Work on what others have written is done beside the event loop, which watches, renews leases and answers probes.

What is small is done in one thread, within an allowance of a tenth of a second. What is not is done in a process of its
own, which has limits on time and memory and then ends. Each namespace has one job at a time, small or large, and the
namespaces take turns: whoever writes packages that cost much holds up nobody but the own namespace.

It is one thread because a compiled template counts what a rendering does: two at once would count together.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeVar
from weakref import WeakValueDictionary

from stateward.operator.installations.execution.worker import in_process
from stateward.packages.format.parameters import BadValue
from stateward.packages.rendering.step_budget import Allowance, Spent, small
from stateward.packages.rendering.templates import TemplateProblem

PLACES = 2
"""Processes at once."""
Result_co = TypeVar("Result_co", covariant=True)
_THREAD = ThreadPoolExecutor(1, "aside")


class Doable(Protocol[Result_co]):
    """A job, and what comes of it."""

    def do(self, allowance: Allowance | None = None) -> Result_co:
        """Return the result."""
        ...


class Aside(Protocol):
    """Does jobs without keeping the event loop from going on; raises what they raise, and NotNowError."""

    async def __call__(self, job: Doable[Result_co]) -> Result_co:
        """Return the result of the job."""
        ...


async def at_once(job: Doable[Result_co]) -> Result_co:
    """Return the result, while everything else waits: for virtual time, which no process keeps up with."""
    return job.do()


class Beside:
    """The thread, the places for processes, and whose turn it is."""

    def __init__(self, places: int = PLACES) -> None:
        self._places = asyncio.Semaphore(places)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def __call__(self, job: Any) -> Any:
        """Return the result of a job, when its namespace has its turn."""
        turn = self._turns.setdefault(job.namespace, asyncio.Lock())
        async with turn:
            if job.may_be_small:
                try:
                    return await asyncio.get_running_loop().run_in_executor(_THREAD, job.do, small())
                except (Spent, TemplateProblem, BadValue):
                    pass  # It is more than may be done here, or wrong; the process says which.
            async with self._places:
                return await in_process(job)
