"""Times and numbers in the dashboards' Secret that users have edited stop no round."""

import pytest

from stateward.engines.search.dashboards.credentials import MADE, TOKEN_NAME, Due, next_token, token_prefix

ODD = pytest.mark.parametrize("text", ["²", "\uff11", "9" * 5000, "-1"])


@ODD
def test_a_time_that_is_none_is_not_due(text: str) -> None:
    assert not Due(60.0, 1_800_000_000.0).of({MADE: text})


@ODD
def test_a_token_with_a_strange_number_is_followed_by_the_first(text: str) -> None:
    prefix = token_prefix("data/logs")
    assert next_token({TOKEN_NAME: f"{prefix}{text}"}, "data/logs") == f"{prefix}1"
    assert next_token({TOKEN_NAME: f"{prefix}7"}, "data/logs") == f"{prefix}8"
