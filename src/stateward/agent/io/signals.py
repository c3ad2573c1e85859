"""Signals, recorded on arrival and handled by the loop one after the other."""

import os
import signal
import socket

from stateward.agent.io.loop import NEVER, READ, ready

FORWARDED = (signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
ENDING = (signal.SIGTERM, signal.SIGINT)
HANDLED = frozenset({*FORWARDED, *ENDING, signal.SIGCHLD})


class Signals:
    """Collects signals in a set, so that many signals of one kind cannot displace a TERM."""

    def __init__(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        self._noted: set[int] = set()

    def install(self) -> None:
        """Start to receive signals, including those that arrived while a replaced agent had them blocked."""
        for number in HANDLED:
            signal.signal(number, lambda received, _frame: self._noted.add(received))
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)

    async def arrived(self) -> list[int]:
        """Wait for signals and return each kind once."""
        while not self._noted:
            await ready(self._reader.fileno(), READ, NEVER)
            self._reader.recv(4096)
        numbers = sorted(self._noted)
        self._noted.difference_update(numbers)
        return numbers

    def hold(self) -> None:
        """Keep signals pending over an `exec`, including recorded ones that are not handled yet.

        Between the old agent and the new one, process 1 has no handlers. Without this the kernel would drop the TERM of
        a pod that is being deleted, and the database would be killed at the end of the grace period. Blocked signals
        stay pending through the `exec`; recorded ones are sent again to be pending too.
        """
        signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
        for number in self._noted:
            os.kill(os.getpid(), number)
        self._noted.clear()

    def release(self) -> None:
        """Unblock signals after a failed `exec`."""
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
