"""Times of a schedule: as in a crontab, in UTC; compared with a search that looks at every minute."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.engines.search.snapshots.cron import Cron, CronError


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("schedule", "now", "following"),
    [
        ("30 3 * * *", "2026-11-25T03:29:59", "2026-11-25T03:30:00"),
        ("30 3 * * *", "2026-11-25T03:30:00", "2026-11-26T03:30:00"),
        ("*/15 * * * *", "2026-12-31T23:50:00", "2027-01-01T00:00:00"),
        ("0 0 29 2 *", "2026-03-01T00:00:00", "2028-02-29T00:00:00"),
        ("0 12 * * mon-fri", "2026-11-27T12:00:00", "2026-11-30T12:00:00"),
        ("0 12 * * 7", "2026-11-25T00:00:00", "2026-11-29T12:00:00"),
        ("0 12 1 * sun", "2026-11-25T00:00:00", "2026-11-29T12:00:00"),
        ("0 12 1 * sun", "2026-11-30T00:00:00", "2026-12-01T12:00:00"),
        ("0 3 L * *", "2028-02-01T00:00:00", "2028-02-29T03:00:00"),
        ("5/20 1,2 * JAN *", "2026-11-25T00:00:00", "2027-01-01T01:05:00"),
    ],
)
def test_the_next_time_is_that_of_a_crontab(schedule: str, now: str, following: str) -> None:
    assert Cron(schedule).after(at(now)) == at(following)


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ("* * * *", "five fields"),
        ("60 * * * *", "bad minute"),
        ("* 24 * * *", "bad hour"),
        ("* * 0 * *", "bad day-of-month"),
        ("* * * 13 *", "bad month"),
        ("* * * * 8", "bad day-of-week"),
        ("*/0 * * * *", "bad minute"),
        ("5-3 * * * *", "bad minute"),
        ("x * * * *", "bad minute"),
        ("1;2 * * * *", "bad minute"),
        ("5-5/2 * * * *", "range of one value"),
        ("0 0 */20 * 1L", "has no time at all"),
        ("0 0 30 2 *", "bad day-of-month"),
    ],
)
def test_what_is_no_schedule_is_refused_with_what_is_accepted(schedule: str, said: str) -> None:
    with pytest.raises(CronError, match=said):
        Cron(schedule)


def fields(low: int, high: int) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    ranges = st.tuples(number, number).map(lambda pair: f"{min(pair)}-{max(pair)}")
    spans = st.tuples(number, number).filter(lambda pair: pair[0] < pair[1]).map(lambda pair: f"{pair[0]}-{pair[1]}")
    steps = st.tuples(spans, st.integers(1, 20)).map(lambda pair: f"{pair[0]}/{pair[1]}")
    part = st.one_of(number.map(str), ranges, steps)
    return st.one_of(st.just("*"), st.lists(part, min_size=1, max_size=3).map(",".join))


def values(text: str, low: int, high: int) -> set[int]:
    """Return the values of a field, found by trying each."""
    found = set[int]()
    for part in text.split(","):
        span, _, step = part.partition("/")
        first, _, last = span.partition("-")
        begin, end = (low, high) if span == "*" else (int(first), int(last or first))
        found |= {value for value in range(begin, end + 1) if (value - begin) % int(step or 1) == 0}
    return found


@given(
    minute=fields(0, 59),
    hour=fields(0, 23),
    day=fields(1, 28),
    weekday=fields(0, 6),
    now=st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)),  # noqa: DTZ001 - hypothesis takes naive ones
)
def test_no_time_is_missed_and_none_is_invented(minute: str, hour: str, day: str, weekday: str, now: datetime) -> None:
    now = now.replace(tzinfo=UTC)
    cron = Cron(f"{minute} {hour} {day} * {weekday}")

    def holds(time: datetime) -> bool:
        of_month, of_week = time.day in values(day, 1, 31), time.isoweekday() % 7 in values(weekday, 0, 6)
        both = day != "*" and weekday != "*"
        on = (of_month or of_week) if both else (of_month and of_week)
        return on and time.hour in values(hour, 0, 23) and time.minute in values(minute, 0, 59)

    following, last = cron.after(now.timestamp()), cron.before(now.timestamp())
    assert following is not None
    assert last is not None
    assert last <= now.timestamp() < following
    assert holds(datetime.fromtimestamp(following, UTC))
    assert holds(datetime.fromtimestamp(last, UTC))
    begin = now.replace(second=0, microsecond=0)
    assert cron.before(following) == following
    assert cron.after(last) == following
    for minutes in range(1, 200):
        time = begin + timedelta(minutes=minutes)
        if time.timestamp() < following:
            assert not holds(time)
