"""A few searches with fixed numbers: no promise is broken on the way, and the cluster settles in the end."""

import pytest

from tests.unit.planning.search.search import Profile, search

SEEDS = range(20)


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("seed", SEEDS)
def test_the_cluster_settles_whatever_happens_if_the_user_follows_the_advice(seed: int, profile: Profile) -> None:
    story = search(seed, profile)
    assert not story, f"\n{story}"
