"""The process that does large jobs, within the limits on memory and time of `stateward.engines.connection.worker`."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from stateward.engines.connection import worker
from stateward.engines.connection.answer_limits import mib
from stateward.engines.connection.base import EngineError, TooLargeError, UnreachableError
from stateward.operator.installations.execution.jobs import Job, Problem, problem
from stateward.operator.installations.execution.opening import NoPackageError
from stateward.operator.installations.objects.faults import HeldError
from stateward.packages.format.parameters import BadValue
from stateward.packages.rendering.step_budget import Spent, large
from stateward.packages.rendering.templates import TemplateProblem

_DONE, _FAILED = b"done", b"failed"
LARGEST = 32 << 20
"""Bytes of a result: the limit for all rendered templates, as sent."""


class NotNowError(HeldError):
    """No process can be started at the moment."""


async def in_process(job: Job) -> Any:
    """Return the result of a job in a process of its own; raises what the job raises, and NotNowError.

    Exceeding a limit on time or memory is an error of the job, because it would happen again.
    """
    try:
        async with worker.run_in_worker(__name__, (msgspec.msgpack.encode(job),), "a package") as parts:
            outcome = await anext(parts)
            found = b"".join([part async for part in parts])
    except UnreachableError as error:
        raise NotNowError(f"packages cannot be processed now: {error}") from error
    except EngineError as error:
        raise job.exceeds(_limit(error)) from error
    if outcome == _FAILED:
        raise msgspec.msgpack.decode(found, type=Problem).error(job)
    return msgspec.msgpack.decode(found, type=job.result)


def _limit(error: EngineError) -> str:
    if isinstance(error, TooLargeError):
        return f"it takes more than the {worker.MEMORY >> 20} MiB of memory that it may use, or its result is too large"
    if isinstance(error.__cause__, TimeoutError):
        return f"it takes more than the {worker.SECONDS} s that it may take"
    return (
        f"its process has ended, which happens above {worker.SECONDS} s of processor time or"
        f" {worker.MEMORY >> 20} MiB of memory"
    )


def do_job(frames: Iterator[bytes]) -> Iterable[bytes]:
    """Do one job, and return what came of it in parts."""
    job: Job = msgspec.msgpack.decode(b"".join(frames), type=Job)
    try:
        outcome, found = _DONE, msgspec.msgpack.encode(job.do(large()))
    except (TemplateProblem, BadValue, NoPackageError, Spent) as error:
        outcome, found = _FAILED, msgspec.msgpack.encode(problem(error))
    if len(found) > LARGEST:
        raise TooLargeError(f"the result has {mib(len(found))}")
    yield outcome
    for start in range(0, len(found), worker.PART):
        yield found[start : start + worker.PART]


if __name__ == "__main__":
    worker.serve(do_job)
