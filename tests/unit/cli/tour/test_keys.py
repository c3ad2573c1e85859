"""Keys of the tour: as they are pressed, and the end of the terminal."""

import asyncio
import os
import pty

import pytest

from stateward.cli.tour.keys import GONE, pressed


class Terminal:
    """Standard input on a terminal of its own."""

    def __init__(self) -> None:
        self.outer, self.inner = pty.openpty()

    def fileno(self) -> int:
        return self.inner


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    found = Terminal()
    monkeypatch.setattr("sys.stdin", found)
    return found


async def test_each_pressed_key_is_given(terminal: Terminal) -> None:
    with pressed() as keys:
        os.write(terminal.outer, b"kv")
        async with asyncio.timeout(10):
            assert [await keys.get(), await keys.get()] == ["k", "v"]
    os.close(terminal.outer)
    os.close(terminal.inner)


async def test_a_terminal_that_is_closed_is_told_once_and_read_no_more(terminal: Terminal) -> None:
    with pressed() as keys:
        os.close(terminal.outer)
        async with asyncio.timeout(10):
            assert await keys.get() == GONE
        assert not asyncio.get_running_loop().remove_reader(terminal.inner)
        assert keys.empty()
    os.close(terminal.inner)
