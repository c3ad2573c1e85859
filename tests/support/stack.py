"""Room on the interpreter's stack for everything that a test calls.

CPython keeps the frames of calls in chunks of 16 KiB (`push_chunk` in Python/pystate.c). A call that begins a chunk
maps memory, and its return unmaps it. A loop that calls just there takes up to 200 times as long, and where that is
depends on how deep the test runner is.
"""

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")
ROOM = 64 * 1024
"""Slots of 8 bytes: the chunk for such a frame is twice as large, and the rest holds the frames of all calls below."""


def with_room(call: Callable[[], T]) -> T:
    """Call something; it and what it calls share one chunk."""
    return call()


with_room.__code__ = with_room.__code__.replace(co_stacksize=ROOM)
