"""Times that are ahead in a status are put back to now, but for those that tell of the future."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct

from stateward.api.kinds.scaling.pool_scale import PoolScale
from stateward.api.kinds.search import SearchCluster
from stateward.api.kinds.search_object import SearchObject
from stateward.api.kinds.search_user import SearchUser
from stateward.api.kinds.snapshots.restore import SearchRestore
from stateward.api.kinds.snapshots.schedule import SearchSnapshotSchedule
from stateward.api.kinds.snapshots.snapshot import SearchSnapshot
from stateward.api.kinds.status import ClusterStatus, PoolStatus, WaitStatus
from stateward.planning.model.past_times import AHEAD, PastTimes
from stateward.planning.model.times import parse_time, rfc3339
from stateward.planning.report.past_times import LEFT, fields_of, is_time, records_in, with_past_times

NOW = 1_767_225_600.0
YEARS = 10 * 365 * 86400
KINDS = (PoolScale, SearchCluster, SearchObject, SearchUser, SearchRestore, SearchSnapshotSchedule, SearchSnapshot)
moments = st.integers(min_value=-YEARS, max_value=YEARS).map(lambda seconds: rfc3339(NOW + seconds)) | st.just("")


def records(kind: Any) -> set[type[Struct]]:
    """Return the records in a status, itself too."""
    found: set[type[Struct]] = set()
    left = records_in(kind)
    while left:
        each = left.pop()
        if each not in found:
            found.add(each)
            left += [record for field in msgspec.structs.fields(each) for record in records_in(field.type)]
    return found


STATUSES = [next(f.type for f in msgspec.structs.fields(kind) if f.name == "status") for kind in KINDS]
RECORDS = {record for kind in STATUSES for record in records(kind)}


def filled(kind: type[Struct], data: st.DataObject) -> Struct:
    """Return a record that has all parts, and any times."""
    made: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        inner = [each for each in records_in(field.type) if each is not kind]
        if inner:
            part = filled(inner[0], data)
            made[field.name] = [part, part] if "list" in str(field.type) else part
        elif is_time(field.name, field.type):
            made[field.name] = data.draw(moments)
        elif field.required:
            made[field.name] = next(v for v in ("x", 0, []) if fits(v, field.type))
    return kind(**made)


def fits(value: object, kind: Any) -> bool:
    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return False
    return True


def times(status: Any) -> Iterator[tuple[str, str]]:
    """Yield all times in a status, with their places."""
    for field in msgspec.structs.fields(status):
        value = getattr(status, field.name)
        if is_time(field.name, field.type):
            yield f"{type(status).__name__}.{field.name}", value
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, Struct):
                yield from times(part)


@pytest.mark.parametrize("kind", STATUSES)
@given(data=st.data())
def test_no_time_is_ahead_afterwards_but_those_that_may_be_and_all_others_stay(kind: Any, data: st.DataObject) -> None:
    status = filled(records_in(kind)[0], data)
    made = with_past_times(status, PastTimes().at(NOW))
    before, after = list(times(status)), list(times(made))
    assert [place for place, _ in before] == [place for place, _ in after]
    for (place, was), (_, found) in zip(before, after, strict=True):
        late = (parse_time(was) or 0.0) > NOW + AHEAD and place not in LEFT
        assert found == (rfc3339(NOW) if late else was), place
    assert (made is status) == (before == after)
    assert with_past_times(made, PastTimes().at(NOW + 3600)) is made, "it is put back once"


def test_each_time_that_stays_ahead_exists() -> None:
    there = {f"{each.__name__}.{f.name}" for each in RECORDS for f in msgspec.structs.fields(each)}
    assert set(LEFT) <= there


def test_no_record_is_where_it_is_not_looked_for() -> None:
    parts = [(each, name) for each in RECORDS for name in fields_of(each)[1]]
    kinds = {f.name: str(f.type) for each in RECORDS for f in msgspec.structs.fields(each)}
    assert not [(each, name) for each, name in parts if "dict" in kinds[name]]


@pytest.mark.parametrize("seconds", [-5, 0, 60, int(AHEAD)])
def test_clocks_that_differ_a_little_cause_no_write(seconds: int) -> None:
    wait = WaitStatus(subject="a", reason="b", message="c", since_time=rfc3339(NOW + seconds))
    status = ClusterStatus(waiting=[wait], last_progress_time=rfc3339(NOW + seconds))
    assert with_past_times(status, PastTimes().at(NOW)) is status


def test_what_is_no_time_stays() -> None:
    status = ClusterStatus(last_progress_time="tomorrow", pools=[PoolStatus(name="hot")])
    assert with_past_times(status, PastTimes().at(NOW)) is status
