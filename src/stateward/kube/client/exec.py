"""Commands in a container: the interface, and what may go wrong."""

from collections.abc import Awaitable, Callable, Sequence

from stateward.kube.objects.metadata import Key

Execute = Callable[[Key, str, Sequence[str], int], Awaitable[bytes]]
"""Runs a command in a container of a pod and returns what it writes, at most so many bytes; may raise ExecError."""


class ExecError(Exception):
    """The command could not run, failed, or wrote more than the limit."""


class TooMuchError(ExecError):
    """The command wrote more than the limit."""


async def no_exec(pod: Key, container: str, command: Sequence[str], limit: int) -> bytes:
    """Refuse commands in pods if they are not available."""
    raise ExecError(f"the operator cannot run commands in pods here ({pod}, {container}: {' '.join(command)}, {limit})")
