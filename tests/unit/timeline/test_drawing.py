"""The picture of a timeline: complete, self-contained, safe, and readable without colours."""

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateward.timeline.chart import lines
from stateward.timeline.from_history import latest_work, timeline_of
from stateward.timeline.history import Entry, History, Kind
from stateward.timeline.model import Band, Mark, Row, Span, Stretch, Timeline, cut, totals
from stateward.timeline.page import page
from stateward.timeline.phases import BANDS, STYLES, Phase
from stateward.timeline.svg import svg
from stateward.timeline.times import duration, tick_times

BEGIN = 1_767_000_000.0
SPANS = (
    Span("hot-0", Phase.WAIT, BEGIN, BEGIN + 60, "it waits"),
    Span("hot-0", Phase.UPGRADE, BEGIN + 60, BEGIN + 90, "restarts to apply version"),
    Span("hot-1", Phase.DOWN, BEGIN + 100, None, "<script>alert(1)</script>"),
)
HEALTH = Band("health", (Stretch("green", BEGIN, BEGIN + 60), Stretch("yellow", BEGIN + 60, BEGIN + 90)))
MARKS = (Mark(BEGIN + 5, "the spec was edited"), Mark(BEGIN + 70, "hot-1 is to leave", "hot-1"))
ROWS = (Row("logs"), Row("hot-0", "hot"), Row("hot-1", "hot"))
SAMPLE = Timeline("logs", BEGIN, BEGIN + 120, ROWS, SPANS, (HEALTH,), MARKS, now=BEGIN + 120)
SVG = "{http://www.w3.org/2000/svg}"


def parsed(drawn: str) -> ET.Element:
    """Return a picture as XML."""
    return ET.fromstring(drawn)  # noqa: S314 - it is our own


def bars(drawn: str, kind: str) -> list[dict[str, str]]:
    """Return the bars of a class in a picture."""
    return [rect.attrib for rect in parsed(drawn).iter(f"{SVG}rect") if rect.get("class") == kind]


def test_letters_tell_phases_apart_without_colours() -> None:
    assert set(STYLES) == set(Phase)
    letters = [style.letter for style in STYLES.values()]
    assert len(set(letters)) == len(letters)


def test_each_span_is_one_bar_with_its_meaning_as_title() -> None:
    drawn = svg(SAMPLE)
    titles = [title.text or "" for title in parsed(drawn).iter(f"{SVG}title")]
    assert titles[0] == "Timeline of logs"
    said = "hot-0 restarts with another version, 09:21:00 to 09:21:30 (30 s): restarts to apply version"
    assert said in titles
    assert len(bars(drawn, "p-down")) == 2  # its bar, and its line of the legend


def test_lengths_are_proportional_and_an_open_span_reaches_the_end() -> None:
    down, up = (float(bars(svg(SAMPLE), f"p-{name}")[0]["width"]) for name in ("down", "upgrade"))
    assert abs(up / down - 30 / 20) < 0.02


def test_the_shortest_step_is_still_seen() -> None:
    short = Timeline("x", 0, 86400 * 7, (Row("m", "p"),), (Span("m", Phase.RESTART, 5, 6),))
    assert float(bars(svg(short), "p-restart")[0]["width"]) >= 2


def test_nothing_comes_from_elsewhere_and_no_text_becomes_markup() -> None:
    for drawn in (svg(SAMPLE), page(SAMPLE)):
        assert "<script" not in drawn
        assert not re.search(r"(?:src|href)=|url\(|@import|http(?!://www\.w3\.org/2000/svg)", drawn)
        assert "prefers-color-scheme:dark" in drawn


def test_the_page_has_everything_as_a_table() -> None:
    shown = page(SAMPLE)
    assert shown.count("<tr>") == 1 + len(SPANS) + len(HEALTH.stretches) + len(MARKS)
    assert "upgrade (U)" in shown
    assert "lasts" in shown


def test_time_that_no_stretch_covers_is_unknown() -> None:
    assert totals(SAMPLE, "health") == {"green": 60, "yellow": 30, "unknown": 30}
    health = "".join(text for text, _ in lines(SAMPLE, 12)[0].pieces)
    assert health == "ggggggyyy???"


def test_a_terminal_shows_each_step_even_if_it_is_shorter_than_a_column() -> None:
    drawn = {line.label: "".join(text for text, _ in line.pieces) for line in lines(SAMPLE, 12)}
    assert drawn["hot-0"] == "wwwwwwUUU···"
    assert drawn["hot-1"] == "··········DD"
    assert "U" in "".join(text for text, _ in lines(SAMPLE, 2)[2].pieces)


def test_a_cut_has_what_is_inside_and_no_more() -> None:
    part = cut(SAMPLE, BEGIN + 65, BEGIN + 95)
    assert [(s.phase, s.begin - BEGIN, s.end and s.end - BEGIN) for s in part.spans] == [(Phase.UPGRADE, 65, 90)]
    assert [mark.row for mark in part.marks] == ["hot-1"]


def test_the_latest_work_begins_after_half_an_hour_of_quiet() -> None:
    def span(begin: int, end: int) -> Entry:
        return Entry(kind=Kind.MEMBER, subject="hot-0", what="restart", begin=begin, end=end, pool="hot")

    history = History(begin=1000, ended=(span(1000, 1100), span(9000, 9100), span(9500, 9600)))
    found = timeline_of(history, "logs", 20000)
    assert found.begin == 1000
    assert latest_work(found) == 9000


def test_events_and_removals_are_told_in_the_order_in_which_they_happened() -> None:
    def removal(subject: str, begin: int) -> Entry:
        return Entry(kind=Kind.REMOVAL, subject=subject, what="removed", begin=begin, why="pool hot shrinks")

    edited = Entry(kind=Kind.EVENT, subject="", what="edited", begin=12, end=12, why="the spec was edited")
    lasting = (removal("logs-hot-1", 12), removal("logs-hot-2", 11))
    found = timeline_of(History(begin=10, until=20, ended=(edited,), lasting=lasting), "logs", 20)
    assert [(mark.at, mark.row) for mark in found.marks] == [(11, "logs-hot-2"), (12, ""), (12, "logs-hot-1")]


def test_durations_have_two_units() -> None:
    assert [duration(s) for s in (0, 45, 725, 11100, 180000)] == ["0 s", "45 s", "12 min 5 s", "3 h 5 min", "2 d 2 h"]


@given(st.floats(1, 1e8), st.integers(2, 20))
def test_ticks_are_round_within_the_period_and_few(length: float, most: int) -> None:
    times = tick_times(BEGIN, BEGIN + length, most)
    assert len(times) <= most + 1
    assert all(BEGIN <= at <= BEGIN + length for at in times)


spans = st.builds(
    Span,
    row=st.sampled_from(["logs", "hot-0", "nowhere"]),
    phase=st.sampled_from(Phase),
    begin=st.floats(BEGIN - 100, BEGIN + 100),
    end=st.none() | st.floats(BEGIN - 100, BEGIN + 100),
    text=st.text(max_size=30),
)
stretches = st.builds(
    Stretch, value=st.sampled_from([*BANDS, "other"]), begin=st.floats(BEGIN, BEGIN + 90), end=st.none()
)


@given(st.lists(spans, max_size=8), st.lists(stretches, max_size=4), st.text(max_size=20))
@settings(max_examples=100)
def test_any_timeline_is_drawn_as_valid_xml_within_its_frame(
    found: list[Span], values: list[Stretch], title: str
) -> None:
    timeline = Timeline(title, BEGIN, BEGIN + 50, ROWS, tuple(found), (Band("health", tuple(values)),), MARKS)
    root = parsed(svg(timeline))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    for rect in root.iter(f"{SVG}rect"):
        assert 0 <= float(rect.get("x", "0")) <= width
        assert 0 <= float(rect.get("y", "0")) <= height
    assert all(len("".join(t for t, _ in line.pieces)) == 40 for line in lines(timeline, 40)[:-1])


@pytest.mark.parametrize("end", [None, 100_000.0, 99_990.0])
def test_work_that_lasts_does_not_include_what_was_long_before(end: float | None) -> None:
    spans = (Span("a", Phase.RESTART, 99_000.0, end), Span("a", Phase.RESTART, 10_000.0, 20_000.0))
    assert latest_work(Timeline("c", 0.0, 100_000.0, (Row("c"),), spans)) == 99_000.0
