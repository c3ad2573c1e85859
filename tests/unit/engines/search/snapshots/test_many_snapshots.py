"""A repository with as many snapshots as one answer can have: what expires is found at once."""

import pytest

from stateward.engines.search.snapshots import schedule
from stateward.engines.search.snapshots.schedule import expired
from tests.unit.engines.search.snapshots.test_retention import desired, found, taken

MANY = 300


def test_the_work_grows_with_the_number_of_snapshots(monkeypatch: pytest.MonkeyPatch) -> None:
    """5,000 of a database that lies took 10 s of the event loop, every quarter of a minute."""
    calls, usual = list[int](), schedule.age

    def counting(snapshot: schedule.Snapshot) -> tuple[int, str]:
        calls.append(1)
        return usual(snapshot)

    monkeypatch.setattr(schedule, "age", counting)
    expired(desired(max_count=3), found(*(taken(number) for number in range(MANY))))
    assert len(calls) < 50 * MANY


def test_a_snapshot_that_comes_twice_is_not_later_than_itself() -> None:
    assert expired(desired(max_count=1), found(taken(1), taken(1))) == []
