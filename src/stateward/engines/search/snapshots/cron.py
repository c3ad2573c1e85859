"""Times of a schedule: the five fields of a crontab as Debian's cron reads them, in UTC."""

import re
from datetime import UTC, datetime, timedelta

from cronsim import CronSim, CronSimError

FIELDS = ("minute", "hour", "day of month", "month", "day of week")
_ONE_VALUE = re.compile(r"\b(\w+)-\1/", re.IGNORECASE)
"""A step in a range of one value: cron stays at that value, and the library would go on from it."""
_START = datetime(2000, 1, 1, tzinfo=UTC)


class CronError(ValueError):
    """A text that is no schedule; the message says which field is wrong."""


class Cron:
    """A schedule; raises CronError, also if it has no time at all, such as 30 February."""

    def __init__(self, text: str) -> None:
        self._text = text
        if len(text.split()) != len(FIELDS):
            raise CronError(f"must have five fields: {', '.join(FIELDS)}")
        if _ONE_VALUE.search(text):
            raise CronError("must not have a step in a range of one value")
        try:
            found = self._first(_START)
        except CronSimError as error:
            raise CronError(f"must be a time as in a crontab, such as 30 3 * * *: {error}".lower()) from None
        if found is None:
            raise CronError("has no time at all in 50 years")

    def after(self, seconds: float) -> float | None:
        """Return the first time after a time, both in seconds since the epoch; None if there is none in 50 years."""
        return self._first(datetime.fromtimestamp(seconds, UTC))

    def before(self, seconds: float) -> float | None:
        """Return the last time that is not after a time, both in seconds since the epoch; None as in `after`."""
        end = datetime.fromtimestamp(seconds, UTC).replace(microsecond=0) + timedelta(seconds=1)
        return self._first(end, reverse=True)

    def due(self, since: float, now: float) -> float | None:
        """Return the last time after `since` and not after `now`: missed times count once. None if there is none."""
        last = self.before(now)
        return last if last is not None and last > since else None

    def overdue(self, since: float) -> float | None:
        """Return when two times have passed since a time, all in seconds since the epoch; None as in `after`."""
        first = self.after(since)
        return None if first is None else self.after(first)

    def _first(self, start: datetime, *, reverse: bool = False) -> float | None:
        found = next(CronSim(self._text, start, reverse), None)
        return None if found is None else found.timestamp()
