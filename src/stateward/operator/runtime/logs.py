"""Structured logs: one JSON object a line, with the cluster and member it is about; in colour on a terminal."""

import logging
import sys

import structlog

TRACEBACKS = structlog.processors.ExceptionRenderer(
    structlog.tracebacks.ExceptionDictTransformer(show_locals=False, max_frames=20)
)
"""Tracebacks without the values of variables: some are secrets, and all are long."""

PLAIN = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
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
            PLAIN if person else TRACEBACKS,
            *([] if person else [structlog.processors.JSONRenderer()]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(numbers[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
