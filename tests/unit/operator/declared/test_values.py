"""Messages of the database never repeat a value of a Secret, in whatever form it says it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.engines.connection.base import Answer
from stateward.engines.search.database.session import CUT, LONGEST_REASON, reason
from stateward.operator.declared.values import without_values

VALUES = st.text('aäb\\"\n7/', min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("said", "values", "shown"),
    [
        ("no p-1 here", ("p-1",), "no *** here"),
        ('body {"key": "p\\"w\\n"}', ('p"w\n',), 'body {"key": "***"}'),
        ("body pass-w\\u00f6rter", ("pass-wörter",), "body ***"),
        ("GET /x?key=a%2Fb%20c", ("a/b c",), "GET /x?key=***"),
        ("Authorization: Basic Z2VoZWlt", ("geheim",), "Authorization: Basic ***"),
        ("abcdef", ("abc", "abcdef"), "***"),
        ("nothing of it", ("",), "nothing of it"),
        (f"connect with gehe{CUT}", ("geheim-77",), f"connect with ***{CUT}"),
        ("connect with gehe", ("geheim-77",), "connect with gehe"),
        (f"connect with others{CUT}", ("geheim-77",), f"connect with others{CUT}"),
    ],
)
def test_values_are_hidden(said: str, values: tuple[str, ...], shown: str) -> None:
    assert without_values(said, values) == shown


@given(value=VALUES, before=st.integers(LONGEST_REASON - 22, LONGEST_REASON + 2), as_json=st.booleans())
def test_no_part_of_a_value_is_left_wherever_a_reason_is_cut(value: str, before: int, as_json: bool) -> None:
    said = json.dumps(value)[1:-1] if as_json else value
    told = reason(Answer(400, json.dumps({"error": {"reason": " " * before + said}}).encode()))
    assert set(without_values(told, (value,))) <= set(f" ***{CUT}")


def test_a_long_reason_is_cut_and_says_so() -> None:
    def told(length: int) -> str:
        return reason(Answer(400, json.dumps({"error": {"reason": "x" * length}}).encode()))

    assert told(LONGEST_REASON) == "x" * LONGEST_REASON
    assert told(LONGEST_REASON + 1) == "x" * LONGEST_REASON + CUT


def test_the_begin_of_a_long_value_is_left_out_of_a_short_reason() -> None:
    """Each begin of a value was compared, of any length: a Secret as large as they may be took minutes."""
    values = tuple(letter * (1 << 20) for letter in "abcd")
    assert without_values(f"wrong: {'a' * 30}{CUT}", values) == f"wrong: ***{CUT}"
