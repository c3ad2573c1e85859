"""The choice of coordinators, and the commands and output of the command line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.engines.foundationdb.database import commands
from stateward.engines.foundationdb.database.commands import Outcome, Printed, judge
from stateward.engines.foundationdb.spec.connection import Address
from stateward.engines.foundationdb.spec.coordinators import Candidate, Prospect, choose, count_of, has_to_change

NOBODY: frozenset[str] = frozenset()


def storage(count: int, zones: int) -> list[Candidate]:
    return [Candidate(f"s{i}", f"z{i % zones}", "storage") for i in range(count)]


def test_coordinators_are_spread_over_zones() -> None:
    choice = choose(storage(9, 3), NOBODY, 3)
    assert choice.members == {"s0", "s1", "s2"}
    assert not choice.problem


def test_those_that_are_coordinators_stay() -> None:
    now = frozenset({"s3", "s4", "s5"})
    assert choose(storage(9, 3), now, 3).members == now


def test_one_that_leaves_or_does_not_serve_is_none() -> None:
    candidates = storage(9, 3)
    candidates[0] = Candidate("s0", "z0", "storage", leaves=True)
    candidates[1] = Candidate("s1", "z1", "storage", serves=False)
    choice = choose(candidates, frozenset({"s0", "s1", "s2"}), 3)
    assert choice.members == {"s2", "s3", "s4"}
    assert has_to_change(frozenset({"s0", "s1", "s2"}), choice, candidates, frozenset({"s0", "s1", "s2"}))


def test_members_that_will_go_or_be_away_soon_are_chosen_only_where_no_others_are() -> None:
    goes, away = Prospect.GOES, Prospect.AWAY_SOON
    candidates = [Candidate(f"s{i}", f"z{i}", "storage", prospect=goes) for i in range(5)]
    candidates += [
        Candidate("l0", "z5", "log", prospect=away),
        Candidate("l1", "z6", "log"),
        Candidate("l2", "z7", "log"),
    ]
    now = frozenset({"s0", "s1", "s2"})
    assert choose(candidates, now, 3).members == {"l0", "l1", "l2"}
    assert choose(candidates[:-1], now, 3).members == {"l0", "l1", "s0"}
    assert not has_to_change(now, choose(candidates, now, 3), candidates, now)


def test_a_zone_of_its_own_counts_more_than_that_a_member_stays() -> None:
    candidates = [*storage(4, 2), Candidate("s9", "z9", "storage", prospect=Prospect.GOES)]
    assert choose(candidates, NOBODY, 3).members == {"s0", "s1", "s9"}


def test_a_majority_in_one_zone_is_reported() -> None:
    assert "losing it stops the database" in choose(storage(5, 1), NOBODY, 3).problem


def test_too_few_members_make_an_odd_number_and_report_it() -> None:
    choice = choose(storage(4, 4), NOBODY, 5)
    assert len(choice.members) == 3
    assert "only 4 of the remaining members" in choice.problem


def test_what_is_as_good_changes_nothing() -> None:
    now = frozenset({"s3", "s4", "s5"})
    candidates = storage(9, 3)
    assert not has_to_change(now, choose(candidates, now, 3), candidates, now)
    assert has_to_change(now, choose(candidates, now, 3), candidates, now - {"s3"})
    assert has_to_change(frozenset({"s0"}), choose(candidates, now, 3), candidates, frozenset({"s0"}))


def test_the_number_follows_the_redundancy() -> None:
    assert [count_of(mode) for mode in ("single", "double", "triple")] == [1, 3, 5]
    with pytest.raises(KeyError):
        count_of("quadruple")


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans(), st.booleans()), max_size=12),
    st.sets(st.integers(0, 11)),
    st.sampled_from([1, 3, 5]),
)
def test_no_choice_has_one_that_leaves_nor_an_even_number(
    drawn: list[tuple[str, bool, bool]], now: set[int], count: int
) -> None:
    candidates = [Candidate(f"s{i}", zone, "storage", serves, leaves) for i, (zone, serves, leaves) in enumerate(drawn)]
    choice = choose(candidates, frozenset(f"s{i}" for i in now), count)
    fit = {c.name for c in candidates if c.serves and not c.leaves}
    assert choice.members <= fit
    assert len(choice.members) % 2 == 1 or not choice.members
    assert len(choice.members) <= count
    assert len(choice.members) == count or choice.problem


ONE = Address("10.0.0.1", 4500, tls=True)


def test_members_are_excluded_by_name_and_by_address_where_they_have_no_process() -> None:
    assert commands.exclude(["b", "a"], wait=True) == "exclude locality_instance_id:a locality_instance_id:b"
    assert commands.exclude(["a"], [ONE], wait=False) == "exclude no_wait locality_instance_id:a 10.0.0.1:4500"
    assert commands.include(["a"], [ONE]) == "include locality_instance_id:a 10.0.0.1:4500"


def test_addresses_are_named_without_tls_except_to_coordinators() -> None:
    """The command line refuses `exclude 10.0.0.1:4500:tls`, and with code 0; `kill` does not know such a process."""
    told = (commands.exclude([], [ONE], wait=True), commands.include([], [ONE]), commands.kill([ONE]))
    assert not any(":tls" in command for command in told)
    assert ":tls" in commands.coordinators([ONE])


def test_a_bounce_lists_the_processes_first_and_waits_until_it_has_an_effect() -> None:
    assert commands.kill([ONE]) == "kill; kill 10.0.0.1:4500; sleep 5"


def test_the_rest_is_written_as_the_command_line_has_it() -> None:
    assert commands.coordinators([ONE]) == "coordinators 10.0.0.1:4500:tls"
    assert commands.maintenance("z1", 600) == "maintenance on z1 600"
    assert commands.configure("double", "ssd-2", new=True) == "configure new double ssd-2"
    assert commands.configure("triple", "ssd-2") == "configure triple ssd-2"


def test_no_command_is_made_that_means_something_else_than_was_meant() -> None:
    two = [ONE, Address("10.0.0.2", 4500)]
    for make in (
        lambda: commands.exclude([], wait=True),
        lambda: commands.include([]),
        lambda: commands.kill([]),
        lambda: commands.coordinators(two),
        lambda: commands.coordinators([]),
        lambda: commands.maintenance("", 600),
        lambda: commands.maintenance("z1", 0),
    ):
        with pytest.raises(ValueError, match=r".+"):
            make()


SAFE = "---- Successfully excluded. It is now safe to remove this process from the cluster."
GOING = "---- WARNING: Exclusion in progress! It is not safe to remove this process from the cluster"
NOBODY_THERE = (
    "---- WARNING: Currently no servers found with this locality match! Be sure that you excluded the correct locality."
)
MISSING = (
    "---- WARNING: Missing from cluster! Be sure that you excluded the correct processes before removing them "
    "from the cluster!"
)


@pytest.mark.parametrize(
    ("output", "proved"),
    [
        (f"  10.0.0.1:4500  {SAFE}", True),
        (f"  10.0.0.1:4500  {MISSING}", True),
        ("", False),
        (f"  locality_instance_id:x  {NOBODY_THERE}", False),
        (f"  10.0.0.1:4500  {SAFE}\n  locality_instance_id:x  {NOBODY_THERE}", False),
        (f"  10.0.0.1:4500  {SAFE}\n  10.0.0.2:4500  {GOING}", False),
        (f"  10.0.0.1:4500  {SAFE}\nWARNING: 10.0.0.1:4500 is a coordinator!", False),
    ],
)
def test_only_words_prove_that_nothing_is_left(output: str, *, proved: bool) -> None:
    assert (commands.not_empty_problem(Printed(0, output)) is None) == proved


@pytest.mark.parametrize(
    ("code", "output", "outcome"),
    [
        (0, "", Outcome.DONE),
        (0, f"  10.0.0.1:4500  {SAFE}", Outcome.DONE),
        (1, "Specified timeout reached -- exiting...", Outcome.GOES_ON),
        (0, f"  10.0.0.1:4500  {SAFE}\n  10.0.0.2:4500  {GOING}", Outcome.GOES_ON),
        (0, "ERROR: '10.1.2' is neither a valid network endpoint address nor a locality", Outcome.REFUSED),
        (0, f"  10.0.0.1:4500  {SAFE}\n  locality_instance_id:x  {NOBODY_THERE}", Outcome.MATCHES_NOBODY),
        (0, f"  10.0.0.1:4500  {MISSING}", Outcome.MISSING),
        (0, f"  10.0.0.1:4500  {SAFE}\nWARNING: 10.0.0.1:4500 is a coordinator!", Outcome.COORDINATES),
        (0, "ERROR: This exclude may cause the total free space in the cluster to drop below 10%.", Outcome.REFUSED),
        (1, "", Outcome.REFUSED),
        (139, "something", Outcome.REFUSED),
    ],
)
def test_what_is_printed_decides_and_not_the_exit_code_alone(code: int, output: str, outcome: Outcome) -> None:
    assert judge(Printed(code, output))[0] is outcome
