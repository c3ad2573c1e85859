"""The history of a cluster: what it records of each observation, and its limits."""

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stateward.api.kinds.replacement import RemovalStatus
from stateward.api.kinds.status import ClusterStatus, MemberStatus, WaitStatus
from stateward.api.values.base import Condition
from stateward.planning.model.intent import Absence, State
from stateward.planning.model.times import rfc3339
from stateward.timeline import history as limits
from stateward.timeline.advance import advance, joined
from stateward.timeline.chart import lines
from stateward.timeline.from_history import latest_work, timeline_of
from stateward.timeline.history import LAST, Entry, History, Kind, bounded, decode, encode
from stateward.timeline.page import page
from tests.unit.cli.clusters import SPEC, typed

BEGIN = 1_767_000_000
CLUSTER = typed(SPEC | {"version": "2.19.5"}, "2.17.1")
MEMBERS = ("logs-hot-0", "logs-hot-1", "logs-managers-0")


def status(
    health: str = "green", generation: int = 1, version: str = "2.17.1", available: str = "True", **states: MemberStatus
) -> ClusterStatus:
    return ClusterStatus(
        observed_generation=generation,
        version=version,
        health=health,
        member_states=list(states.values()),
        conditions=[Condition(type="Available", status=available)],
    )


def member(
    state: State, *, pending: str = "", absence: Absence = Absence.NONE, since: int = 0, name: str = "logs-hot-0"
) -> MemberStatus:
    return MemberStatus(
        name=name, pool="hot", state=state.value, version="2.17.1", pending=pending, absence=absence.value,
        last_transition_time=rfc3339(since) if since else "",
    )  # fmt: skip


def phases(history: History, subject: str = "logs-hot-0") -> list[tuple[str, int, int]]:
    """Return what a member went through, with begin and end relative to the first moment."""
    mine = [e for e in (*history.ended, *history.lasting) if (e.kind, e.subject) == (Kind.MEMBER, subject)]
    return [(e.what, e.begin - BEGIN, e.end - BEGIN if e.end else -1) for e in mine]


def told(*observations: tuple[int, ClusterStatus], start: History | None = None) -> History:
    """Return the history after observations, each with its seconds after the beginning."""
    history = start or History()
    for after, seen in observations:
        history = advance(history, CLUSTER, seen, BEGIN + after)
    return history


def test_an_upgrade_lasts_from_the_stop_until_the_member_serves_again() -> None:
    history = told(
        (0, status(m=member(State.READY))),
        (5, status(m=member(State.WAITING, pending="recreate"))),
        (9, status(m=member(State.RESTARTING, pending="recreate"))),
        (10, status("yellow", m=member(State.DOWN, absence=Absence.PLANNED))),
        (20, status("yellow", m=member(State.STARTING, absence=Absence.PLANNED))),
        (30, status("green", m=member(State.READY))),
    )
    assert phases(history) == [("wait", 5, 9), ("upgrade", 9, 30)]
    bands = [(e.what, e.begin - BEGIN, e.end and e.end - BEGIN) for e in history.ended if e.kind is Kind.HEALTH]
    assert bands == [("green", 0, 10), ("yellow", 10, 30)]


def test_a_member_that_fails_to_start_during_its_step_is_down() -> None:
    history = told(
        (0, status(m=member(State.RESTARTING, pending="restart"))),
        (9, status(m=member(State.DOWN, absence=Absence.UNPLANNED))),
    )
    assert phases(history) == [("upgrade", 0, 9), ("down", 9, -1)]


def test_a_member_that_stops_without_a_step_is_down_and_then_starts() -> None:
    history = told(
        (0, status(m=member(State.WAITING, pending="recreate"))),
        (9, status(m=member(State.DOWN, pending="recreate", absence=Absence.UNPLANNED))),
        (20, status(m=member(State.STARTING, pending="recreate", absence=Absence.UNPLANNED))),
    )
    assert phases(history) == [("wait", 0, 9), ("down", 9, 20), ("start", 20, -1)]


def test_a_leaving_member_is_replaced_by_decision_and_removed_by_the_spec() -> None:
    leaving = status(m=member(State.LEAVING))
    decided = replace(leaving, pending_removals=[RemovalStatus(name="logs-hot-0", origin="User", reason="asked for")])
    assert phases(told((0, leaving))) == [("remove", 0, -1)]
    assert phases(told((0, decided))) == [("replace", 0, -1)]


def test_writes_are_refused_without_a_copy_and_unknown_without_an_answer() -> None:
    history = told((0, status()), (5, status("red", available="False")), (9, status("unknown", available="Unknown")))
    writes = [e.what for e in (*history.ended, *history.lasting) if e.kind is Kind.WRITES]
    assert writes == ["accepted", "refused", "unknown"]


def test_edits_and_deployed_versions_are_events() -> None:
    history = told((0, status()), (5, status(generation=2)), (9, status(generation=2, version="2.19.5")))
    assert [(e.what, e.why) for e in history.ended if e.kind is Kind.EVENT] == [
        ("edited", "the spec now asks for 2.19.5 (generation 2)"),
        ("deployed", "every member runs 2.19.5"),
    ]


def test_an_event_that_two_processes_have_seen_is_one() -> None:
    edits = (0, status()), (5, status(generation=2))
    stored, later = told(*edits), told(*edits)
    moved = replace(later, ended=tuple(replace(e, begin=e.begin + 3, end=e.end + 3) for e in later.ended))
    events = [e.what for e in joined(stored, moved).ended if e.kind is Kind.EVENT]
    assert events == ["edited"]
    late = replace(later, ended=tuple(replace(e, begin=e.begin + 900, end=e.end + 900) for e in later.ended))
    assert [e.what for e in joined(stored, late).ended if e.kind is Kind.EVENT] == ["edited", "edited"]


def test_what_began_while_no_operator_observed_begins_when_the_status_says() -> None:
    history = told((100, status(m=member(State.DOWN, since=BEGIN + 40))))
    assert phases(history) == [("down", 40, -1)]


def test_a_wait_that_comes_back_at_once_continues() -> None:
    waits = replace(status(), waiting=[WaitStatus(subject="logs", reason="HealthGate", message="yellow")])
    history = told((0, waits), (5, status()), (7, waits), (8, status()), (60, waits))
    found = [
        (e.begin - BEGIN, e.end and e.end - BEGIN) for e in (*history.ended, *history.lasting) if e.kind is Kind.WAIT
    ]
    assert found == [(0, 8), (60, 0)]


def test_the_next_process_continues_the_history_of_the_last_one() -> None:
    stored = told((0, status(m=member(State.DOWN))), (5, status("yellow", m=member(State.DOWN))))
    later = told((100, status("yellow", generation=2)), (200, status("green", generation=2)))
    whole = joined(stored, later)
    assert phases(whole) == [("down", 0, 100)]
    health = [(e.what, e.begin - BEGIN) for e in (*whole.ended, *whole.lasting) if e.kind is Kind.HEALTH]
    assert health == [("green", 0), ("yellow", 5), ("green", 200)]
    assert [e.what for e in whole.ended if e.kind is Kind.EVENT] == ["edited"]


def test_a_step_continues_in_the_next_process_until_the_member_serves() -> None:
    stored = told((0, status(m=member(State.RESTARTING, pending="restart"))))
    later = told((9, status(m=member(State.STARTING, absence=Absence.PLANNED))), (20, status(m=member(State.READY))))
    assert phases(joined(stored, later)) == [("upgrade", 0, 20)]


def test_when_it_is_full_the_oldest_entries_go_and_the_beginning_moves() -> None:
    ended = tuple(
        Entry(kind=Kind.MEMBER, subject="m", what="wait", begin=i, end=i + 1) for i in range(1, limits.MAX_ENTRIES + 11)
    )
    kept = bounded(History(begin=1, ended=ended))
    assert len(kept.ended) == limits.MAX_ENTRIES
    assert kept.ended[0].begin == 11
    assert kept.begin == 11


def test_lines_that_cannot_be_read_are_left_out() -> None:
    good = told((0, status(m=member(State.DOWN))))
    assert decode(encode(good) + b'{"kind":"of tomorrow"}\nnot json\n') == good
    assert decode(b"") == History()
    assert decode(b"\xff\xfe") == History()


DEEP = b'{"x":' + b"[" * 5000


@pytest.mark.parametrize("head", [DEEP, b'{"version":"\xff"}', b'{"begin":-1}', b'{"begin":%d}' % 10**30])
def test_a_head_that_someone_has_made_up_is_none(head: bytes) -> None:
    assert decode(head + b"\n") == History()


@pytest.mark.parametrize(
    "line",
    [
        DEEP,
        b'{"kind":"member","subject":"\xff","what":"down","begin":1}',
        b'{"kind":"member","subject":"a","what":"down","begin":%d}' % 10**30,
        b'{"kind":"member","subject":"a","what":"down","begin":-1}',
        b'{"kind":"event","subject":"a","what":"edited","begin":1,"end":253402300800}',
    ],
)
def test_an_entry_that_someone_has_made_up_is_left_out(line: bytes) -> None:
    good = advance(History(), CLUSTER, status(), BEGIN)
    assert decode(encode(good) + line + b"\n") == good


@pytest.mark.parametrize("begin", [0, LAST])
@pytest.mark.parametrize("name", ["logs-hot-²", f"logs-hot-{'9' * 5000}", "\u202e", ""])
def test_whatever_was_read_can_be_drawn(begin: int, name: str) -> None:
    entries = tuple(Entry(kind=kind, subject=name, what="down", begin=begin) for kind in Kind)
    ended = tuple(replace(entry, end=max(1, begin)) for entry in entries)
    found = decode(encode(History(begin=begin, ended=ended, lasting=entries)))
    timeline = timeline_of(found, "logs", float(BEGIN))
    assert "logs" in page(timeline)
    assert lines(timeline, 60)
    assert latest_work(timeline) <= timeline.end


states = st.sampled_from(list(State))
observations = st.lists(
    st.tuples(
        st.integers(0, 90),
        st.sampled_from(["green", "yellow", "red", "unknown", ""]),
        st.sampled_from(["True", "False", "Unknown"]),
        st.fixed_dictionaries({}, optional=dict.fromkeys(MEMBERS, states)),
        st.lists(st.sampled_from(["HealthGate", "NoRoom", "Paused"]), max_size=2),
    ),
    max_size=40,
)


def statuses(drawn: Sequence[tuple[int, str, str, dict[str, State], list[str]]]) -> list[tuple[int, ClusterStatus]]:
    """Return drawn observations as statuses with their time."""
    now, found = BEGIN, list[tuple[int, ClusterStatus]]()
    for number, (after, health, available, members, waits) in enumerate(drawn):
        now += after
        seen = status(health, number // 7 + 1, available=available)
        found.append((
            now,
            replace(
                seen,
                member_states=[member(state, name=name, pending="restart") for name, state in members.items()],
                waiting=[WaitStatus(subject="logs", reason=reason, message="w" * 300) for reason in waits],
            ),
        ))  # fmt: skip
    return found


def overlaps(history: History) -> list[tuple[Entry, Entry]]:
    """Return entries of one subject that are there at the same time, though only one can be."""
    single = (Kind.MEMBER, Kind.HEALTH, Kind.WRITES)
    subjects = dict[tuple[Kind, str], list[Entry]]()
    for entry in (*history.ended, *history.lasting):
        if entry.kind in single:
            subjects.setdefault((entry.kind, entry.subject), []).append(entry)
    pairs = (pair for mine in subjects.values() for pair in pairwise(mine))
    return [(a, b) for a, b in pairs if not a.end or a.end > b.begin]


@given(observations, st.integers(0, 40))
@settings(max_examples=150)
def test_a_history_is_ordered_bounded_and_survives_a_change_of_process_anywhere(
    drawn: list[tuple[int, str, str, dict[str, State], list[str]]], cut: int
) -> None:
    seen = statuses(drawn)
    whole, first, second = History(), History(), History()
    for number, (now, current) in enumerate(seen):
        after = advance(whole, CLUSTER, current, now)
        assert advance(after, CLUSTER, current, now) is after
        whole = after
        if number < cut:
            first = advance(first, CLUSTER, current, now)
        else:
            second = advance(second, CLUSTER, current, now)
    both = joined(first, second)
    for history in (whole, both):
        assert not overlaps(history)
        assert all(entry.begin <= entry.end for entry in history.ended)
        assert decode(encode(history)) == history
    assert {e.identity[:2] for e in both.lasting} == {e.identity[:2] for e in whole.lasting}


@given(observations)
@settings(max_examples=30)
def test_the_limits_hold_after_every_observation(
    drawn: list[tuple[int, str, str, dict[str, State], list[str]]],
) -> None:
    text = "w" * limits.MAX_TEXT
    full = tuple(
        Entry(kind=Kind.MEMBER, subject=f"m{i}", what="wait", begin=i, end=i + 1, why=text)
        for i in range(1, limits.MAX_ENTRIES)
    )
    history = History(begin=1, ended=full)
    for now, current in statuses(drawn):
        history = advance(history, CLUSTER, current, now)
        if history.ended[:1] != full[:1]:
            assert len(encode(history)) <= limits.MAX_BYTES
            assert len(history.ended) + len(history.lasting) <= limits.MAX_ENTRIES
