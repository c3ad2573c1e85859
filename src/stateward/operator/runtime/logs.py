"""Structured logs: one JSON object a line, with the cluster and member it is about; in colour on a terminal."""

import logging
import sys
from io import StringIO
from typing import TextIO

import structlog
from structlog.typing import EventDict, ExcInfo, WrappedLogger

from stateward.api.values.problem import printable

TRACEBACKS = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False, max_frames=20)
)
"""Tracebacks without the values of variables: some are secrets, and all are long."""


def harmless(_logger: WrappedLogger, _name: str, entry: EventDict) -> EventDict:
    """Return an entry for a terminal, which obeys some characters of names and messages: they are shown as escapes."""
    return {name: printable(value) if isinstance(value, str) else value for name, value in entry.items()}


def _traceback(target: TextIO, error: ExcInfo) -> None:
    text = StringIO()
    structlog.dev.plain_traceback(text, error)
    target.write(printable(text.getvalue(), "\n"))


PLAIN = structlog.dev.ConsoleRenderer(exception_formatter=_traceback)
"""For a terminal. Rich tracebacks take seconds to render, during which the lease is not renewed."""


def configure(level: str = "info") -> None:
    """Log to standard error from a level on: debug, info, warning or error; raises ValueError for others."""
    numbers = {"debug": logging.DEBUG, "info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}
    if level not in numbers:
        raise ValueError(f"log level {level!r} is none of {', '.join(numbers)}")
    person = sys.stderr.isatty()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *((harmless, PLAIN) if person else (TRACEBACKS, structlog.processors.JSONRenderer())),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(numbers[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
