"""Captures the log of the operator in a world, and keeps it off the terminal."""

import logging
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any

import structlog

from stateward.engines.connection.base import EngineError
from stateward.kube.election.fence import LostLease
from stateward.kube.objects.errors import ApiError
from stateward.operator.act.act import NotOwnedError
from stateward.operator.databases.agents import AgentError

Listener = Callable[[str, Mapping[str, object]], None]


@contextmanager
def to(listener: Listener) -> Generator[None]:
    """Pass each log event to a function while the block runs."""

    def hear(_logger: object, _method: str, values: Any) -> Any:
        listener(str(values.get("event", "")), values)
        raise structlog.DropEvent

    before = structlog.get_config()
    # The level too: an earlier configuration may filter these lines.
    levels = structlog.make_filtering_bound_logger(logging.INFO)
    structlog.configure(processors=[hear], wrapper_class=levels, cache_logger_on_first_use=False)
    try:
        yield
    finally:
        structlog.configure(**before)


def expected(error: BaseException) -> bool:
    """Return whether the operator handles an error by design: it is no bug."""
    return isinstance(error, ApiError | EngineError | AgentError | NotOwnedError | LostLease | TimeoutError)
