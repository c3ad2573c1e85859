from bench.absence import Absences, Change, Recoveries, milliseconds
from bench.inplace import rows


def test_an_absence_lasts_from_the_last_sight_of_a_member_to_the_next() -> None:
    watched = Absences(frozenset({"a", "b"}))
    for now, there in ((0.0, "ab"), (1.0, "b"), (2.0, "b"), (5.0, "ab"), (6.0, "a")):
        watched.seen(now, set(there))
    assert watched.ended == [5.0]


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
    kept = Change("in kept pods", 60.0, (10.0, 11.0, 12.0), 4, 0, reads, reads)
    anew = Change("with new pods", 120.0, (30.0, 33.0, 36.0), 8, 2_000_000, reads, reads)
    found = rows(kept, anew)
    assert (found[-1].value, found[-1].aim) == ("3.0 times", "2 times")
    assert "11.0 / 12.0 s" in [row.value for row in found]
    assert any("2.0 MB" in row.note for row in found)
    assert milliseconds(reads).endswith(" ms")
