"""Configuration of all tests: fast logs, and Hypothesis examples without a deadline.

A test of properties says nothing about time: on a busy machine an example of a millisecond takes half a second, and the
test would fail at random.

The pretty tracebacks of the default take seconds to draw. In a test whose operator runs in the same event loop that is
long enough to lose the lease.

A run that was started in the background ignores Ctrl-C, and so would the programs that tests start and interrupt.

Each test runs with room on the interpreter's stack, see `tests.support.stack`.
"""

import os
import signal

import hypothesis
import pytest
import structlog

from tests.support.stack import with_room

hypothesis.settings.register_profile(
    "stateward",
    derandomize=not os.environ.get("STATEWARD_EXPLORE"),  # the same examples every time, unless new ones are wanted
    deadline=None,
    suppress_health_check=(hypothesis.HealthCheck.too_slow,),
)
hypothesis.settings.load_profile("stateward")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback),
    ]
)
LOGS = structlog.get_config()


@pytest.fixture(autouse=True)
def _logs() -> None:
    """Logging is set for the whole process: a command that an earlier test ran may have left out all but errors."""
    structlog.configure(**LOGS)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> object:
    """Run a test as pytest does, with room on the stack."""
    runner = item.config.pluginmanager.get_plugin("runner")
    assert runner is not None
    return with_room(lambda: runner.pytest_runtest_protocol(item, nextitem))
