"""A sentence has the first texts of a long list, and how many more there are."""

import pytest

from stateward.api.values.problem import first_of


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
