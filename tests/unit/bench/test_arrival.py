"""The delay of a changed Secret in its pod, as rows."""

from bench.databases.arrival import PROGRAM, pod, rows


def test_both_ways_are_reported_with_their_median_and_their_longest() -> None:
    alone, told = rows([10.0, 40.0, 70.0], [0.5, 1.0, 1.5])
    assert alone.value == "40.0 / 70.0 s"
    assert told.value == "1.0 / 1.5 s"
    assert alone.what != told.what


def test_the_pod_runs_a_program_that_can_be_read() -> None:
    compile(PROGRAM, "reader", "exec")
    assert "reader" in str(pod("image"))
