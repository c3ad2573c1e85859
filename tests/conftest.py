"""What all tests share: logs that are quick to write.

The pretty tracebacks of the default take seconds to draw. In a test whose operator runs in the same event loop that is
long enough to lose the lease.
"""

import structlog

structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)
