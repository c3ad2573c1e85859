"""A few searches with fixed numbers: no promise is broken on the way, and at the end all is as the spec asks for."""

import pytest

from tests.unit.operator.installations.search.search import search


@pytest.mark.parametrize("seed", range(10))
def test_an_installation_is_as_its_spec_in_the_end_whatever_happens_if_users_follow_the_advice(seed: int) -> None:
    story = search(seed)
    assert not story, f"\n{story}"
