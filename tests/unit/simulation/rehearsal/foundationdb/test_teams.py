"""Which fault domains are taken to share data."""

from itertools import combinations

import pytest

from stateward.simulation.rehearsal.foundationdb.teams import PER_DOMAIN, teams


def named(count: int) -> list[str]:
    return [f"d{i:02}" for i in range(count)]


@pytest.mark.parametrize(("count", "copies"), [(5, 2), (11, 2), (5, 3), (7, 3), (4, 1)])
def test_any_domains_of_a_small_database_share_data(count: int, copies: int) -> None:
    assert teams(named(count), copies) == list(combinations(named(count), copies))


@pytest.mark.parametrize(("count", "copies"), [(12, 2), (30, 2), (12, 3), (31, 3)])
def test_a_large_one_has_as_many_teams_as_the_database_builds_and_each_domain_equally_often(
    count: int, copies: int
) -> None:
    found = teams(named(count), copies)
    assert len(found) <= PER_DOMAIN * count
    assert all(len(set(team)) == copies for team in found)
    often = [sum(name in team for team in found) for name in named(count)]
    assert max(often) - min(often) <= copies
    assert min(often) >= PER_DOMAIN


def test_with_fewer_domains_than_copies_all_are_one_team() -> None:
    assert teams(["b", "a"], 3) == [("a", "b")]
    assert teams([], 2) == []
