"""The copies of a forecast: they leave, come back, move, and take the time that their bytes take."""

import pytest

from stateward.forecast.copies import Copies
from stateward.forecast.durations import Durations
from stateward.forecast.event_queue import EventQueue
from stateward.planning.model.observation import Allocation, Copy, CopyState, Node, Unit

GIB = 2**30
PACE = Durations(rate=GIB / 100, reopen=3.0, overhead=1.0)


def units(number: int, members: str = "ab") -> list[Unit]:
    copies = tuple(Copy(CopyState.STARTED, primary=i == 0, member=name) for i, name in enumerate(members))
    return [Unit(f"docs[{i}]", len(members), copies, size=GIB) for i in range(number)]


def world(found: list[Unit], nodes: str = "abc", pace: Durations = PACE) -> tuple[EventQueue, Copies]:
    agenda = EventQueue(0.0)
    copies = Copies(agenda, pace, found, lambda: None)
    copies.nodes = {name: Node(name, "2.17.1", data=True, voting=False) for name in nodes}
    copies.begin()
    return agenda, copies


def rest(agenda: EventQueue) -> float:
    """Let everything happen; return when the last thing did."""
    while not agenda.empty:
        agenda.step()
    return agenda.now


def where(copies: Copies) -> dict[str, list[str]]:
    return {n: [f"{'p' if c.primary else 'r'}:{c.member}" for c in u.copies] for n, u in copies.units.items()}


def test_a_primary_that_leaves_is_followed_by_its_replica() -> None:
    _, copies = world(units(1))
    copies.node_left("a")
    assert where(copies) == {"docs[0]": ["r:", "p:b"]}


def test_a_copy_whose_node_is_back_is_there_soon() -> None:
    agenda, copies = world(units(1))
    copies.node_left("a")
    copies.node_joined(Node("a", "2.17.1", data=True, voting=False))
    agenda.until(2.9)
    assert copies.busy
    agenda.until(3.1)
    assert not copies.busy
    assert where(copies) == {"docs[0]": ["r:a", "p:b"]}


def test_a_copy_whose_node_stays_away_is_recreated_after_a_minute() -> None:
    agenda, copies = world(units(1))
    copies.node_left("a")
    assert rest(agenda) == pytest.approx(60.1 + 1.0 + 100.0)
    assert where(copies) == {"docs[0]": ["r:c", "p:b"]}


def test_nothing_is_recreated_while_only_primaries_may_be_placed() -> None:
    agenda, copies = world(units(1))
    copies.allocation = Allocation.PRIMARIES
    copies.node_left("a")
    rest(agenda)
    assert where(copies) == {"docs[0]": ["r:", "p:b"]}


def test_a_drained_node_gives_two_copies_at_once() -> None:
    agenda, copies = world(units(4, "a"), "ab")
    copies.draining = frozenset("a")
    copies.route()
    assert sum(unit.copies[0].target == "b" for unit in copies.units.values()) == 2
    rest(agenda)
    assert copies.empty("a")
    assert agenda.now == pytest.approx(400.0, rel=0.3)


def test_a_copy_does_not_go_to_an_older_node() -> None:
    agenda, copies = world(units(1, "a"), "ab")
    copies.nodes["a"] = Node("a", "2.19.5", data=True, voting=False)
    copies.draining = frozenset("a")
    copies.route()
    rest(agenda)
    assert where(copies) == {"docs[0]": ["p:a"]}


def test_the_only_copy_waits_for_its_node() -> None:
    agenda, copies = world(units(1, "a"))
    copies.node_left("a")
    rest(agenda)
    assert where(copies) == {"docs[0]": ["p:"]}
    copies.node_joined(Node("a", "2.17.1", data=True, voting=False))
    rest(agenda)
    assert where(copies) == {"docs[0]": ["p:a"]}


def test_a_target_that_leaves_ends_the_move_and_another_one_begins() -> None:
    agenda, copies = world(units(1, "a"))
    copies.draining = frozenset("a")
    copies.route()
    copies.node_left("b")
    rest(agenda)
    assert where(copies) == {"docs[0]": ["p:c"]}


def test_only_a_copy_with_all_writes_becomes_the_primary_again() -> None:
    """The disaster this prevents: a copy that missed writes serves as if they had never been acknowledged."""
    agenda, copies = world(units(1), nodes="ab")
    copies.node_left("a")
    agenda.until(10.0)
    copies.node_left("b")
    copies.node_joined(Node("a", "2.17.1", data=True, voting=False))
    rest(agenda)
    assert where(copies) == {"docs[0]": ["r:", "p:"]}
    copies.node_joined(Node("b", "2.17.1", data=True, voting=False))
    rest(agenda)
    assert sorted(where(copies)["docs[0]"]) == ["p:b", "r:a"]


def test_a_recovery_whose_source_leaves_has_to_begin_again() -> None:
    found = (Copy(CopyState.STARTED, primary=True, member="a"), Copy(CopyState.UNASSIGNED))
    agenda, copies = world([Unit("docs[0]", 2, found, size=GIB)], nodes="ab")
    assert copies.busy
    copies.node_left("a")
    assert not copies.busy
    assert rest(agenda) == pytest.approx(101.0)
    assert where(copies) == {"docs[0]": ["p:", "r:"]}


def test_no_recovery_reaches_a_node_that_is_silent() -> None:
    agenda, copies = world(units(1))
    copies.node_left("a")
    agenda.until(70.0)
    copies.reach_all_but(frozenset("c"))
    agenda.until(500.0)
    assert copies.busy
    copies.reach_all_but(frozenset())
    assert where(copies) == {"docs[0]": ["r:c", "p:b"]}


def test_every_change_of_a_shard_is_reported() -> None:
    seen: list[Unit] = []
    agenda = EventQueue(0.0)
    copies = Copies(agenda, PACE, units(1), lambda: None, seen.append)
    copies.nodes = {name: Node(name, "2.17.1", data=True, voting=False) for name in "abc"}
    copies.begin()
    copies.node_left("a")
    rest(agenda)
    assert seen[-1] == copies.units["docs[0]"]
    assert len(seen) == 3
