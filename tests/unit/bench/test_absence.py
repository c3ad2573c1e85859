from bench.databases.absence import Absence, Absences, Change, Recoveries, milliseconds
from bench.databases.inplace import rows


def test_an_absence_lasts_from_the_last_sight_of_a_member_to_the_next() -> None:
    watched = Absences(frozenset({"a", "b"}))
    for now, there in ((0.0, "ab"), (1.0, "b"), (2.0, "b"), (5.0, "ab"), (6.0, "a")):
        watched.seen(now, set(there))
    assert watched.ended == [("a", 0.0, 5.0)]
    (absence,) = watched.explained({"a": 2.0, "b": 0.0})
    assert (absence.seconds, absence.without) == (5.0, 2.0)
    assert watched.explained({"a": -1.0, "b": 0.0}) == (), "no process was started in it"


def test_recoveries_of_before_are_not_counted_and_each_other_one_once() -> None:
    def shard(started: int, size: int) -> dict[str, object]:
        return {
            "id": 0,
            "target": {"name": "a"},
            "start_time_in_millis": started,
            "index": {"size": {"recovered_in_bytes": size}},
        }

    old = Recoveries()
    old.seen({"docs": {"shards": [shard(1, 5)]}})
    new = Recoveries(frozenset(old.found))
    new.seen({"docs": {"shards": [shard(1, 5), shard(2, 0)]}})
    new.seen({"docs": {"shards": [shard(2, 7)]}})
    assert list(new.found.values()) == [7]


def test_the_rows_tell_both_ways_and_how_they_compare() -> None:
    reads = (0.002, 0.004)
    kept, anew = (
        Change("in kept pods", (60.0,), absences(10.0, 11.0, 12.0), (), 4, 0, reads, reads)
        + Change("in kept pods", (40.0,), absences(9.0, 11.0, 13.0), (), 6, 0, reads, reads),
        Change("with new pods", (120.0,), absences(30.0, 33.0, 36.0), (), 8, 2_000_000, reads, reads),
    )
    found = rows(kept, anew)
    assert (found[-2].value, found[-2].aim) == ("3.0 times", "2 times")
    assert found[-1].value == "3.0 times"
    values = [row.value for row in found]
    assert "11.0 / 13.0 s" in values
    assert "50 s" in values
    assert "5" in values
    assert any("2.0 MB" in row.note for row in found)
    assert milliseconds(reads).endswith(" ms")


def absences(*seconds: float) -> tuple[Absence, ...]:
    """Return absences so long, in the half of which the next process was started."""
    return tuple(Absence("a", 0.0, each, each / 2) for each in seconds)
