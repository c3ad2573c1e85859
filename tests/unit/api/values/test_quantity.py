"""Quantities are read exactly, for every form that Kubernetes writes, and written so that they read back the same."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.api.values.quantity import (
    LARGEST,
    SUFFIXES,
    QuantityError,
    amount,
    format_quantity,
    parse_bytes,
    parse_quantity,
    readable,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("20Gi", 20 * 1024**3),
        ("1.5Ki", 1536),
        (".5k", 500),
        ("5.", 5),
        ("250m", Fraction(1, 4)),
        ("3n", Fraction(3, 10**9)),
        ("7u", Fraction(7, 10**6)),
        ("2E", 2 * 10**18),
        ("2e3", 2000),
        ("2E3", 2000),
        ("2E-1", Fraction(1, 5)),
        ("-1Mi", -(1024**2)),
        ("+4", 4),
        ("9223372036854775807", LARGEST),
    ],
)
def test_every_form_has_its_exact_value(text: str, value: Fraction) -> None:
    assert parse_quantity(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Gi",
        "20GB",
        "20gi",
        "1,5Gi",
        "1 Gi",
        "0x10",
        "1e",
        "--1",
        "1.2.3",
        "20Gi\n",
        "٣Gi",
        "1e999",
        "10E",
        "9" * 65,
    ],
)
def test_what_is_no_quantity_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(QuantityError, match="quantity"):
        parse_quantity(text)


def test_bytes_are_rounded_away_from_zero() -> None:
    assert (parse_bytes("1500m"), parse_bytes("-1500m"), parse_bytes("1Ki")) == (2, -2, 1024)


@pytest.mark.parametrize(
    ("value", "binary", "text"),
    [
        (0, True, "0"),
        (20 * 1024**3, True, "20Gi"),
        (1500, True, "1500"),
        (1500, False, "1500"),
        (2000, False, "2k"),
        (Fraction(1, 4), True, "250m"),
        (Fraction(1, 3), False, "333333334n"),
        (-1024, True, "-1Ki"),
    ],
)
def test_a_value_is_written_with_its_largest_whole_suffix(value: Fraction, text: str, *, binary: bool) -> None:
    assert format_quantity(value, binary=binary) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0"),
        (999, "999"),
        (20 * 1024**3, "20Gi"),
        (20 * 10**9, "20G"),
        (1536 * 1024**2, "1536Mi"),
        (12_345_678_901, "11.5Gi"),
        (-12_345_678_901, "-11.5Gi"),
        (12_345, "12.1Ki"),
    ],
)
def test_a_size_is_written_for_users(size: int, text: str) -> None:
    assert readable(size) == text


@given(st.integers(min_value=-LARGEST, max_value=LARGEST), st.booleans())
def test_whole_numbers_survive_writing_and_reading(value: int, binary: bool) -> None:
    assert parse_quantity(format_quantity(value, binary=binary)) == value


@given(st.decimals(min_value=0, max_value=10**6, places=6), st.sampled_from(sorted(SUFFIXES)))
def test_a_number_with_a_suffix_is_the_number_times_the_suffix(number: object, suffix: str) -> None:
    expected = Fraction(str(number)) * SUFFIXES[suffix]
    if expected <= LARGEST:
        assert parse_quantity(f"{number}{suffix}") == expected


@given(st.text(max_size=80))
def test_any_text_is_a_quantity_or_refused(text: str) -> None:
    try:
        value = parse_quantity(text)
    except QuantityError:
        return
    assert abs(value) <= LARGEST or value < 0


@pytest.mark.parametrize(
    ("number", "nouns", "text"),
    [
        (1, ("shard",), "1 shard"),
        (0, ("shard",), "0 shards"),
        (1, ("index", "indices"), "1 index"),
        (2, ("index", "indices"), "2 indices"),
    ],
)
def test_a_number_has_its_noun_in_singular_or_plural(number: int, nouns: tuple[str, ...], text: str) -> None:
    assert amount(number, *nouns) == text
