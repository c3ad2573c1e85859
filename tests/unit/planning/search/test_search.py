"""A few searches with fixed numbers: no promise is broken on the way, and the cluster settles in the end."""

import pytest

from tests.unit.planning.search.__main__ import main
from tests.unit.planning.search.search import Profile, Search, search

SEEDS = range(20)


@pytest.mark.parametrize("profile", list(Profile))
@pytest.mark.parametrize("seed", SEEDS)
def test_the_cluster_settles_whatever_happens_if_the_user_follows_the_advice(seed: int, profile: Profile) -> None:
    story = search(seed, profile)
    assert not story, f"\n{story}"


def test_the_command_counts_what_fails_and_tells_its_story(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--first", "3", "--seeds", "1"]) == 0
    assert capsys.readouterr().out == f"{len(Profile)} searches, 0 failed\n"

    def broken(_: Search) -> None:
        raise AssertionError("two databases")

    monkeypatch.setattr(Search, "settle", broken)
    assert main(["--seeds", "1", "--profile", "restarts"]) == 1
    short = capsys.readouterr().out
    assert short.startswith("seed 0, profile restarts: AssertionError('two databases')")
    assert short.endswith("1 searches, 1 failed\n")
    main(["--seeds", "1", "--profile", "restarts", "--story"])
    told = capsys.readouterr().out
    assert len(told) > len(short)
    assert any(word in told for word in ("edit ", "fault "))
