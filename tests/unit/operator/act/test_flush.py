"""A flush that fails costs time in the next recovery, and nothing else."""

from typing import Any, cast

import pytest

from stateward.engines.connection.base import Engine, EngineError, RefusedError, Target, UnreachableError
from stateward.operator.act.act import in_database
from stateward.planning.model import actions as a

TARGET = Target(("http://10.0.0.1:9200",), "ns.c")


class Unwilling:
    """A database that refuses all commands."""

    def __init__(self, error: EngineError) -> None:
        self._error = error

    async def flush(self, _target: Target) -> None:
        raise self._error

    async def drain(self, _target: Target, _members: frozenset[str]) -> None:
        raise self._error


@pytest.mark.parametrize("error", [RefusedError("1 copies could not be flushed"), UnreachableError("no answer")])
async def test_a_flush_that_fails_does_not_end_the_round(error: EngineError) -> None:
    call = in_database(a.Flush(why="a member restarts"), cast("Engine", Unwilling(error)), TARGET)
    assert call is not None
    await call


async def test_whatever_else_fails_does() -> None:
    engine: Any = Unwilling(RefusedError("no"))
    call = in_database(a.Drain(why="it leaves", members=frozenset({"c-hot-0"})), engine, TARGET)
    assert call is not None
    with pytest.raises(RefusedError):
        await call
