"""A sentence has the first texts of a long list, and how many more there are."""

import pytest

from stateward.api.values.problem import LONGEST, MOST_PROBLEMS, first_of, in_short


@pytest.mark.parametrize(
    ("texts", "most", "said"),
    [
        ([], 2, ""),
        (["a"], 2, "a"),
        (["a", "b"], 2, "a, b"),
        (["a", "b", "c"], 2, "a, b and 1 more"),
        (["a", "b", "c", "d"], 1, "a and 3 more"),
    ],
)
def test_the_first_texts_and_the_number_of_the_others(texts: list[str], most: int, said: str) -> None:
    assert first_of(texts, most) == said


def test_between_the_texts_is_what_the_sentence_needs() -> None:
    assert first_of(["a: b, c", "d"], 2, "; ") == "a: b, c; d"


def test_a_status_has_the_first_problems_of_a_spec_and_the_begin_of_long_ones() -> None:
    texts = [f"spec.a{i}: is wrong" for i in range(100_000)]
    assert in_short(texts[:2]) == "spec.a0: is wrong; spec.a1: is wrong"
    assert in_short(texts).endswith(f"spec.a{MOST_PROBLEMS - 1}: is wrong and {100_000 - MOST_PROBLEMS} more")
    assert in_short(["k" * 500_000]) == "k" * LONGEST + "..."
