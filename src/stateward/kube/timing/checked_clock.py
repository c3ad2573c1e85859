"""The clock of a machine that may be wrong."""

import time
from datetime import UTC, datetime

import structlog

from stateward.kube.timing.clock import SystemClock

_log = structlog.get_logger(__name__)
TOLERANCE = 60.0
"""Seconds by which the clocks of this machine and the API server may differ: a slow answer's date is up to 30 old."""
LASTING = 900.0
"""Seconds after which the API server's clock is right, if it no longer agrees with this machine's."""


class CheckedClock(SystemClock):
    """The clock of this machine, checked against the dates in the API server's answers.

    The disaster this prevents: an operator starts on a machine whose clock is wrong. It issues certificates that are
    not valid yet or no longer, every member refuses them, and those they have expire; or it deletes snapshots whose
    time seems to be over. Objects, leases and events have the API server's time, so that is the one to follow.

    While both clocks agree, the machine's is used: it has fractions of a second. When they stop agreeing, one of them
    has jumped, and time continues from where they agreed. If that lasts, the API server's is right.
    """

    def __init__(self) -> None:
        self._served: tuple[float, float] | None = None
        self._known: tuple[float, float] | None = None
        self._parted: float | None = None

    def told(self, date: float) -> None:
        """Take the date of an answer that the API server has just sent, in seconds since the epoch."""
        self._served = self.monotonic(), date

    @property
    def ahead(self) -> float:
        """Seconds by which this machine's clock is ahead of the API server's; 0 before its first answer."""
        return 0.0 if self._served is None else time.time() - _continued(self._served, self.monotonic())

    def now(self) -> datetime:
        """Return the wall time in UTC."""
        return datetime.fromtimestamp(self._now(self.monotonic(), time.time()), UTC)

    def _now(self, monotonic: float, wall: float) -> float:
        if self._served is None:
            return wall
        served = _continued(self._served, monotonic)
        if abs(wall - served) < TOLERANCE:
            if self._parted is not None:
                _log.info("the clock of this machine agrees with the API server's again")
            self._known, self._parted = (monotonic, wall), None
            return wall
        if self._parted is None:
            self._parted = monotonic
            _log.warning(
                "the clock of this machine is wrong, or the API server's is", seconds_ahead=round(wall - served)
            )
        # The dates are whole seconds, so time that continues from one of them is steadier than the next date.
        known = served if self._known is None else _continued(self._known, monotonic)
        if abs(known - served) >= TOLERANCE and monotonic - self._parted >= LASTING:
            known = served
        self._known = monotonic, known
        return known


def _continued(known: tuple[float, float], monotonic: float) -> float:
    """Return the wall time of a moment, from the monotonic and the wall time of an earlier one."""
    return known[1] + monotonic - known[0]
