"""What is written as YAML is read back the same, by readers of YAML 1.1 and by the tools of Kubernetes."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from stateward.api.yaml_writer import NO_FOLD, to_yaml, to_yaml_documents
from stateward.packages.format import yamltext

UNQUOTED = r"""
y n Y N yes No ON off true FALSE ~ null Null
1 +1 -1 010 0o7 0O7 0b1 0B1 0x1F 0X1F -0x1f 0x_1F 1_000 -_1 0_x1
1.5 .5 5. 1e3 1E5 1e+3 -1e-3 1_e3 1e_3 1e_+3 1._5 .inf -.INF .nan .NaN
12:30:00 190:20:30.15 1:30 2026-11-27 2021-5-6 2026-11-27T10:00:00Z
= << --- ... a: # !a &a *a %a @a `a | > { } [ ] , ' " \ \n _1 _ - . +
"""
WORDS = (
    *UNQUOTED.split(),
    *("", "2026-11-27 10:00:00", "- a", "? a", "a: b", "a #b", " a", "a ", "a\n", "\na", "a\n\nb", "\t", "a\tb"),
    *("\x00", "\x7f", "\x85", "\x85\n", "\u2028", "a\u2029b", "\ufeff", "a\ufeff", "\U0001f600"),
    *("a" * 200, "a b " * 60),
)
"""Texts that some reader takes for something else if they have no quotes, or that need an escape."""
PLAIN = ("2.19.5", "1Gi", "100m", "10.0.0.1", "v1", "yes-man", "y1", "nginx:1.25", "a-b.c/d", "12e4567f", "0xyz")
"""Texts that need no quotes, and have none: a file is read by people, too."""


class LettersAreFlags(yaml.SafeLoader):
    """YAML 1.1 with the booleans `y` and `n`, which PyYAML leaves out."""


LettersAreFlags.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^[yYnN]$"), list("yYnN"))
LettersAreFlags.bool_values = {**yaml.SafeLoader.bool_values, "y": True, "n": False}


def with_flags(text: str) -> Any:
    return yaml.load(text, LettersAreFlags)  # noqa: S506 - it is a safe loader


READERS: tuple[Callable[[str], Any], ...] = (yaml.safe_load, with_flags, yamltext.document)
"""PyYAML, YAML 1.1, and the reader that follows that of kubectl."""

LARGEST = 2**63 - 1
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-LARGEST, LARGEST)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40)
    | st.text("yYnNoOxXbBeE01:._+-~= \n\t\x85\u2028\ufeff", max_size=8)
    | st.sampled_from(WORDS)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=12) | st.sampled_from(WORDS[:60]), inner, max_size=4)
    ),
    max_leaves=12,
)


def same(found: Any, wanted: Any) -> bool:
    """Return whether two values are the same with their types: 1 is neither 1.0 nor true."""
    if type(found) is not type(wanted):
        return False
    if isinstance(wanted, dict):
        return list(found) == list(wanted) and all(same(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    return found == wanted


@given(VALUES)
@example({"y": "n", "n": ["Y", "N"]})
def test_each_value_is_read_back_the_same_by_all_readers(value: Any) -> None:
    for width in (20, 120, NO_FOLD):
        text = to_yaml(value, width=width)
        assert text.endswith("\n")
        for read in READERS:
            assert same(read(text), value), (read, text)


@pytest.mark.parametrize("word", WORDS)
def test_a_text_stays_a_text_as_a_value_as_a_key_and_in_a_list(word: str) -> None:
    for value in (word, {word: word}, [word], {"a": {"b": [word, {word: 1}]}}):
        for read in READERS:
            assert same(read(to_yaml(value)), value)


@pytest.mark.parametrize("word", PLAIN)
def test_a_text_that_all_readers_take_for_text_has_no_quotes(word: str) -> None:
    assert to_yaml({"a": word}) == f"a: {word}\n"


@pytest.mark.parametrize("begin", ["1", "1_", "_1", "1.", "1e_"])
def test_a_long_text_that_is_nearly_a_number_is_judged_at_once(begin: str) -> None:
    """A package or a configuration may have it, and for hours nothing else would be done."""
    text = begin * 100_000 + "!"
    assert to_yaml({"a": text}, width=NO_FOLD) == f"a: {text}\n"


def test_what_occurs_twice_is_written_twice_and_a_scalar_has_no_mark_of_its_end() -> None:
    labels = {"app": "y"}
    assert to_yaml({"b": labels, "a": labels}) == "b:\n  app: 'y'\na:\n  app: 'y'\n"
    assert to_yaml({"b": 1, "a": 2}, sort_keys=True) == "a: 2\nb: 1\n"
    assert (to_yaml("text"), to_yaml(None), to_yaml(7)) == ("text\n", "null\n", "7\n")


@given(st.lists(st.dictionaries(st.text(max_size=5), SCALARS, max_size=3), max_size=4))
def test_a_stream_has_each_object_as_a_document(values: list[dict[str, Any]]) -> None:
    assert list(yaml.safe_load_all(to_yaml_documents(values))) == values
