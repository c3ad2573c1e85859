"""The register of the stand-in never elects two leaders, not even after a restart."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.foundationdb.options import UsageError, parse
from sandbox.foundationdb.register import LEASE, Register

KEY = "test:first"


def test_a_vote_is_for_one_leader_until_the_leader_is_silent(tmp_path: Path) -> None:
    register = Register(tmp_path)
    assert register.vote(KEY, "a", 1, 100.0)["granted"]
    assert not register.vote(KEY, "b", 2, 101.0)["granted"]
    assert register.vote(KEY, "a", 1, 101.5)["granted"]
    assert register.leader(KEY, 102.0)["leader"] == "a"
    assert register.vote(KEY, "b", 2, 101.5 + LEASE)["granted"]
    assert not register.vote(KEY, "a", 1, 110.0)["granted"]


def test_the_same_number_is_for_one_candidate_alone(tmp_path: Path) -> None:
    register = Register(tmp_path)
    register.vote(KEY, "a", 1, 100.0)
    assert not register.vote(KEY, "b", 1, 200.0)["granted"]


def test_a_leader_of_before_writes_nothing_any_more(tmp_path: Path) -> None:
    register = Register(tmp_path)
    register.vote(KEY, "a", 1, 100.0)
    assert register.write(KEY, [1, 1], {"of": "a"})["kept"]
    register.vote(KEY, "b", 2, 110.0)
    assert not register.write(KEY, [1, 2], {"of": "a"})["kept"]
    assert register.read(KEY) == {"version": [1, 1], "state": {"of": "a"}}


def test_it_remembers_everything_except_the_time(tmp_path: Path) -> None:
    before = Register(tmp_path)
    before.vote(KEY, "a", 3, 100.0)
    before.write(KEY, [3, 1], {"of": "a"})
    after = Register(tmp_path)
    assert after.read(KEY)["version"] == [3, 1]
    assert not after.vote(KEY, "b", 2, 101.0)["granted"]


def test_generations_of_coordinators_are_apart_and_lead_on(tmp_path: Path) -> None:
    register = Register(tmp_path)
    register.write(KEY, [1, 1], {"of": "a"})
    register.forward(KEY, "test:second@10.0.0.1:4500")
    assert not register.write(KEY, [1, 2], {"of": "a"})["kept"]
    assert not register.vote(KEY, "a", 5, 100.0)["granted"]
    assert register.leader(KEY, 100.0)["forward"] == "test:second@10.0.0.1:4500"
    assert register.read("test:second")["state"] is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 2), st.floats(0, 1.5)), max_size=40))
def test_two_leaders_never_both_have_a_majority_of_the_newest_number(turns: list[tuple[str, int, float]]) -> None:
    """Three coordinators, candidates that ask some of them in any order: no number is won by two."""
    registers = [Register(Path("/nonexistent")) for _ in range(3)]
    for register in registers:
        register._save = lambda: None
    now, won = 100.0, dict[int, str]()
    for candidate, left_out, passed in turns:
        now += passed
        epoch = max(register.leader(KEY, now)["epoch"] for register in registers) + 1
        asked = [register for number, register in enumerate(registers) if number != left_out]
        if all(register.vote(KEY, candidate, epoch, now)["granted"] for register in asked):
            assert won.setdefault(epoch, candidate) == candidate


def test_the_options_are_taken_in_both_forms() -> None:
    words = "--class=log -p 10.0.0.1:4500 --datadir /d --cluster-file /f --locality_zoneid z1 --knob_x=y"
    options = parse(words.split())
    assert (options.kind, options.address, options.listen) == ("log", "10.0.0.1:4500", "10.0.0.1:4500")
    assert options.locality == {"zoneid": "z1", "machineid": "z1"}
    assert options.command_line == f"/usr/bin/fdbserver {words}"


@pytest.mark.parametrize(
    "words",
    [
        "--datadir /d --cluster_file /f",
        "-p 10.0.0.1:4500 --cluster_file /f",
        "-p 10.0.0.1:4500:tls --datadir /d --cluster_file /f",
        "-p 10.0.0.1:4500 -l 10.0.0.1:4501 --datadir /d --cluster_file /f",
        "-p 10.0.0.1:4500 --class nonsense --datadir /d --cluster_file /f",
        "nonsense",
        "--datadir",
    ],
)
def test_what_the_real_one_would_not_take_is_refused(words: str) -> None:
    with pytest.raises(UsageError):
        parse(words.split())
