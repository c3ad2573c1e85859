"""Structured logs: one JSON object a line, with the cluster and member it is about; in colour on a terminal."""

import logging
import sys

import structlog


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
            structlog.dev.ConsoleRenderer() if person else structlog.processors.dict_tracebacks,
            *([] if person else [structlog.processors.JSONRenderer()]),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(numbers[level]),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
