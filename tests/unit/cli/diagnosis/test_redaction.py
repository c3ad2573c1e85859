"""How much work the search for secrets in a report is, whatever its texts and however many Secrets there are."""

import time

import pytest

from stateward.cli.diagnosis.redaction import GONE, Redactor

LONG = 200_000
"""Characters: an annotation may have more, and so may a line of a log."""


@pytest.mark.parametrize(
    "piece", ["a", "a.", "a-", "a:", "eyJ-", "eyJab", "secret", "password ", "AKIA", "://a:", "-----BEGIN A-----"]
)
def test_a_long_word_without_a_secret_holds_up_no_report(piece: str) -> None:
    """The disaster: a tenant puts an annotation of one word on its pod, and `diagnose` works for an hour."""
    before = time.process_time()
    Redactor().text(piece * (LONG // len(piece)))
    assert time.process_time() - before < 5


def test_a_namespace_with_many_secrets_holds_up_no_report() -> None:
    """The disaster: a namespace has some thousand Secrets, and `diagnose` works for an hour."""
    redactor = Redactor()
    for number in range(20_000):
        redactor.learn(f"value-{number:05}-of-a-secret")
    before = time.process_time()
    found = redactor.text("hot-1 relocates shards, value-7 is value-01234-of-a-secret\n" * 5_000)
    assert found == f"hot-1 relocates shards, value-7 is {GONE}\n" * 5_000
    assert time.process_time() - before < 10


def test_values_with_one_begin_hold_up_no_report() -> None:
    """Many values are each the begin of the next one, and none of them is in the text but for their common begin."""
    redactor = Redactor()
    for length in range(1, 4000):
        redactor.learn(f"begins{'a' * length}")
    before = time.process_time()
    redactor.text("beginsb" * 5_000)
    assert time.process_time() - before < 10


def test_the_longest_of_the_values_that_begin_alike_is_replaced() -> None:
    redactor = Redactor()
    for value in ("longer", "longer-word", "longer-wave", "longer-word-still", "words-and"):
        redactor.learn(value)
    for text, shown in {
        "longer-wor": f"{GONE}-wor",
        "longer-words-and": f"{GONE}s-and",
        "longer-word-still": GONE,
        "longe longer": f"longe {GONE}",
        "longer-wzz words-and.": f"{GONE}-wzz {GONE}.",
    }.items():
        assert redactor.text(text) == shown
