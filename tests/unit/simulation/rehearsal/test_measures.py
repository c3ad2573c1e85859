"""Counters that follow each change equal a count of everything."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.planning.model.observation import Copy, CopyState, Health, Unit
from stateward.simulation.rehearsal.measures import Gauge, ShardMeasures

STARTED, LOST = CopyState.STARTED, CopyState.UNASSIGNED


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def unit(name: str, *copies: Copy, wanted: int = 2) -> Unit:
    return Unit(name, wanted, copies)


def copy(member: str, *, primary: bool = False) -> Copy:
    return Copy(STARTED if member else LOST, primary, member, in_sync=bool(member))


def test_a_gauge_adds_up_the_time_of_overlapping_states() -> None:
    gauge = Gauge()
    for now, name, on in ((10.0, "a", True), (15.0, "b", True), (20.0, "a", False), (30.0, "b", False)):
        gauge.set(name, now, on=on)
    gauge.set("c", 40.0, on=True)
    total = gauge.total(45.0)
    assert (total.seconds, total.times, total.longest, total.most) == (25.0, 2, 20.0, 2)
    assert total.lasting


def test_a_shard_with_one_copy_lacks_the_second_only_if_it_should_have_one() -> None:
    clock = Clock()
    measures = ShardMeasures(clock, [unit("a", copy("x", primary=True), wanted=1), unit("b", copy("x", primary=True))])
    assert measures.single.names == {"b"}
    assert not measures.red.on


def test_a_primary_on_a_lost_machine_refuses_writes_while_another_copy_lives() -> None:
    clock = Clock()
    measures = ShardMeasures(clock, [unit("a", copy("x", primary=True), copy("y"))])
    measures.unreachable(frozenset({"x"}))
    clock.now = 30.0
    measures.unit(unit("a", copy(""), copy("y", primary=True)))
    totals = [gauge.total(40.0).seconds for gauge in (measures.refused, measures.red, measures.single)]
    assert totals == [30.0, 0.0, 40.0]


def test_without_an_elected_manager_all_writes_are_refused() -> None:
    clock = Clock()
    measures = ShardMeasures(clock, [unit("a", copy("x", primary=True), copy("y"))])
    measures.quorum(present=False)
    clock.now = 7.0
    measures.quorum(present=True)
    assert measures.refused.total(9.0).seconds == 7.0
    assert measures.health is Health.GREEN


MEMBERS = st.sampled_from(["", "x", "y", "z"])


@given(
    st.lists(
        st.one_of(
            st.tuples(st.integers(0, 3), st.tuples(MEMBERS, MEMBERS)),
            st.frozensets(st.sampled_from(["x", "y", "z"])),
        ),
        max_size=30,
    )
)
def test_the_counters_follow_every_change(changes: list[tuple[int, tuple[str, str]] | frozenset[str]]) -> None:
    clock, units = Clock(), {f"u{n}": unit(f"u{n}", copy("x", primary=True), copy("y")) for n in range(4)}
    measures, silent = ShardMeasures(clock, units.values()), frozenset[str]()
    expected = 0.0
    for change in changes:
        clock.now += 1.0
        live = [[c for c in u.copies if c.live and c.member not in silent] for u in units.values()]
        expected += any(not found for found in live)
        if isinstance(change, frozenset):
            silent = change
            measures.unreachable(silent)
        else:
            number, (first, second) = change
            units[f"u{number}"] = unit(f"u{number}", copy(first, primary=True), copy(second))
            measures.unit(units[f"u{number}"])
    assert measures.red.total(clock.now).seconds == pytest.approx(expected)
    live = {u.name: [c for c in u.copies if c.live and c.member not in silent] for u in units.values()}
    assert measures.single.names == {name for name, found in live.items() if len(found) < 2}
    assert measures.refused.names == {name for name, found in live.items() if not any(c.primary for c in found)}
