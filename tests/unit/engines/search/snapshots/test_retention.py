"""Which snapshots of a schedule are deleted: never the last successful one, never a foreign one, none in doubt."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from stateward.api.kinds.search_object import ClusterKindName, ClusterReference
from stateward.api.kinds.snapshots.schedule import (
    ScheduledSnapshot,
    SearchSnapshotScheduleSpec,
    SearchSnapshotScheduleStatus,
    SnapshotRetention,
)
from stateward.engines.search.snapshots.records import Snapshot
from stateward.engines.search.snapshots.schedule import DesiredSchedule, Repository, expired, problems

DAY = 86400
NOW = 1000.0 * DAY
ONE = frozenset({"2.19.3"})


def desired(paused: bool = False, **kept: Any) -> DesiredSchedule:
    spec = SearchSnapshotScheduleSpec(
        cluster=ClusterReference(kind=ClusterKindName.OPENSEARCH, name="logs"),
        schedule="0 3 * * *",
        repository="files",
        retention=SnapshotRetention(**kept) if kept else None,
        paused=paused,
    )
    return DesiredSchedule("nightly", "prod/nightly", "uuid-1", 0.0, NOW, spec, SearchSnapshotScheduleStatus())


MARKS = desired().marks


def taken(age: int, state: str = "SUCCESS", marks: dict[str, str] = MARKS) -> Snapshot:
    """Return a snapshot that is some days old."""
    began = int((NOW - age * DAY) * 1000)
    return Snapshot(f"nightly-{1000 - age:04}", "u", state, metadata=dict(marks), start_time_in_millis=began)


def found(*snapshots: Snapshot, running: tuple[str, ...] = (), versions: frozenset[str] = ONE) -> Repository:
    return Repository(snapshots, running, versions)


def test_only_so_many_are_kept() -> None:
    several = [taken(age) for age in range(5)]
    assert expired(desired(max_count=3), found(*several)) == ["nightly-0996", "nightly-0997"]


@pytest.mark.parametrize(("ahead", "goes"), [(0, ["nightly-0997"]), (119, ["nightly-0997"]), (121, [])])
def test_none_is_deleted_while_one_is_dated_ahead(ahead: int, goes: list[str]) -> None:
    """The database's clock was ahead: its snapshot would count as the newest one, and each later one would go."""
    late = structs.replace(taken(0), start_time_in_millis=int((NOW + ahead) * 1000))
    several = [taken(age) for age in range(1, 4)]
    assert expired(desired(max_count=3), found(*several, late)) == goes


@pytest.mark.parametrize(
    ("kept", "wrong"),
    [
        ({"min_count": 5, "max_count": 3}, True),
        ({"min_count": 3, "max_count": 3}, False),
        ({"min_count": 5}, False),
        ({"max_count": 3}, False),
    ],
)
def test_at_least_more_than_at_most_is_refused(kept: dict[str, Any], wrong: bool) -> None:
    told = ["spec.retention.minCount: must not exceed maxCount, 3"]
    assert [each.public for each in problems(desired(**kept).spec)] == (told if wrong else [])


def test_old_ones_go_but_so_many_stay_whatever_their_age() -> None:
    several = [taken(age) for age in (40, 50, 60, 70)]
    assert expired(desired(max_age="720h"), found(*several)) == ["nightly-0930", "nightly-0940", "nightly-0950"]
    assert expired(desired(max_age="30d", min_count=3), found(*several)) == ["nightly-0930"]


def test_failed_ones_are_kept_as_long_as_they_are_among_the_last_ones_of_all() -> None:
    several = [taken(0), taken(1, "FAILED"), taken(2), taken(3, "PARTIAL"), taken(4)]
    assert expired(desired(max_count=1), found(*several)) == [
        "nightly-0996",
        "nightly-0997",
        "nightly-0998",
        "nightly-0999",
    ]
    assert expired(desired(max_count=2), found(*several)) == ["nightly-0996", "nightly-0997"]


def test_without_a_success_the_last_ones_stay_whatever_they_are() -> None:
    several = found(taken(9, "PARTIAL"), taken(8, "FAILED"))
    assert expired(desired(max_count=1, max_age="24h"), several) == ["nightly-0991"]


def test_while_the_newest_one_failed_no_successful_one_goes() -> None:
    several = [taken(0, "FAILED"), taken(1, "PARTIAL"), taken(2), taken(3), taken(4, "FAILED")]
    assert expired(desired(max_count=1), found(*several)) == ["nightly-0996", "nightly-0999"]
    assert expired(desired(max_age="24h"), found(*several)) == ["nightly-0996"]


def test_snapshots_of_others_are_left_alone() -> None:
    other = taken(30, marks={**MARKS, "stateward.dev/cluster-uuid": "another database"})
    unmarked = taken(31, marks={})
    assert expired(desired(max_count=1), found(taken(0), other, unmarked)) == []


def test_nothing_goes_while_anything_is_in_doubt() -> None:
    several = [taken(age) for age in range(5)]
    assert expired(desired(max_count=1), found(*several, running=("theirs",))) == []
    assert expired(desired(max_count=1), found(*several, versions=frozenset())) == []
    assert expired(desired(max_count=1), found(*several, versions=frozenset({"2.19.3", "3.1.0"}))) == []
    assert expired(desired(max_count=1), found(*several, taken(0, "IN_PROGRESS"))) == []
    assert expired(desired(paused=True, max_count=1), found(*several)) == []
    assert expired(desired(), found(*several)) == []


@pytest.mark.parametrize("early", [0, 1])
def test_people_are_told_when_two_times_have_passed_though_the_clock_of_the_database_is_behind(early: int) -> None:
    last = ScheduledSnapshot(name="nightly-202611250300", start_time=f"2026-11-25T0{3 - early}:{59 * early:02}:00Z")
    since = desired()
    noon = datetime(2026, 11, 25, 12, tzinfo=UTC).timestamp()
    since = replace(since, now=noon, status=SearchSnapshotScheduleStatus(last_success=last))
    assert since.overdue() == datetime(2026, 11, 27, 3, tzinfo=UTC).timestamp()


STATES = st.sampled_from(["SUCCESS", "SUCCESS", "PARTIAL", "FAILED"])
SNAPSHOTS = st.lists(st.tuples(st.integers(0, 90), STATES, st.booleans()), max_size=12, unique_by=lambda each: each[0])


@given(
    several=SNAPSHOTS,
    most=st.none() | st.integers(1, 5),
    least=st.none() | st.integers(1, 5),
    age=st.none() | st.integers(1, 60).map(lambda days: f"{days * 24}h"),
)
def test_the_last_successful_snapshots_and_those_of_others_always_stay(
    several: list[tuple[int, str, bool]], most: int | None, least: int | None, age: str | None
) -> None:
    marks = {True: MARKS, False: {}}
    repository = found(*(taken(days, state, marks[mine]) for days, state, mine in several))
    gone = set(expired(desired(max_count=most, min_count=least, max_age=age), repository))
    own = {f"nightly-{1000 - days:04}" for days, _, mine in several if mine}
    good = sorted(
        (f"nightly-{1000 - days:04}" for days, state, mine in several if mine and state == "SUCCESS"), reverse=True
    )
    assert gone <= own
    assert not gone & set(good[: least or 1])
    states = [state for _, state, mine in sorted(several) if mine]
    if most is not None and states[:1] == ["SUCCESS"]:
        assert len(set(good) - gone) <= max(most, least or 1)
    if states[:1] not in ([], ["SUCCESS"]):
        assert not gone & set(good)
    if most is not None:
        assert len(own - gone - set(good)) <= max(most, least or 1)
