"""The judgement of a chaos run, its schedule and its edits; the faults themselves are tried by the run."""

from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.api.validation import errors, validate
from tests.chaos.edits import LEAST, MOST, MOST_OF_A_ZONE, NEW, OLD, edited, first, resized
from tests.chaos.faults import FAULTS
from tests.chaos.history import Broken, Operation, judge, judged_again, red_spells, save
from tests.chaos.schedule import OF_CONTROL, OF_DATA, Edit, Fault, episodes
from tests.chaos.world import ZONES
from tests.unit.api.documents import cluster


def write(value: int, begin: float, *, answered: bool = True) -> Operation:
    return Operation("write", "k", value, begin, begin + 0.5, answered)


def read(value: int | None, begin: float) -> Operation:
    return Operation("read", "k", value, begin, begin + 0.5, answered=True)


def test_a_run_without_losses_has_no_violation() -> None:
    history = [write(1, 0), read(1, 1), write(2, 2), read(2, 3)]
    verdict = judge(history, {"k": 2})
    assert (verdict.violations, verdict.acknowledged, verdict.reads, verdict.stale) == ((), 2, 2, 0)
    assert verdict.longest == 2.0


@pytest.mark.parametrize("final", [{"k": 1}, {"k": None}, {}])
def test_an_acknowledged_write_that_is_not_there_in_the_end_is_a_violation(final: dict[str, int | None]) -> None:
    (violation,) = judge([write(1, 0), write(2, 1)], final).violations
    assert "2 was acknowledged at 1.5 s" in violation


def test_a_write_without_an_answer_may_be_there_or_not() -> None:
    history = [write(1, 0), write(2, 1, answered=False)]
    assert judge(history, {"k": 1}).violations == ()
    assert judge(history, {"k": 2}).violations == ()
    assert judge(history, {"k": 1}).unanswered == 1


def test_a_value_that_was_never_written_is_a_violation_in_the_end_and_during_the_run() -> None:
    assert "never written" in judge([write(1, 0)], {"k": 7}).violations[0]
    (violation,) = judge([write(1, 0), read(3, 1)], {"k": 1}).violations
    assert "read as 3 at 1.5 s, which was never written" in violation
    (violation,) = judge([read(1, 1), write(1, 5)], {"k": 1}).violations
    assert "never written" in violation


def test_an_old_value_is_a_stale_read_and_no_violation() -> None:
    verdict = judge([write(1, 0), write(2, 1), write(3, 4), read(1, 6), read(None, 0.6)], {"k": 3})
    assert verdict.violations == ()
    assert verdict.stale == 2
    assert verdict.stalest == 4.5


def test_no_write_is_called_lost_if_nothing_could_be_read_in_the_end() -> None:
    assert judge([write(1, 0)], None).violations == ()


def test_a_saved_history_is_judged_again_to_the_same_verdict(tmp_path: Path) -> None:
    history, final = [write(1, 0), write(2, 1), read(None, 2)], {"k": 1}
    save(history, final, tmp_path)
    assert judged_again(tmp_path) == judge(history, final)


@given(st.integers(0, 1000), st.integers(1, 30))
def test_a_longer_run_begins_with_the_episodes_of_a_shorter_one(seed: int, length: int) -> None:
    longer = list(islice(episodes(seed), length + 5))
    assert longer[:length] == list(islice(episodes(seed), length))


@given(st.integers(0, 1000))
def test_an_episode_takes_at_most_one_copy_of_the_data_away_and_all_faults_come(seed: int) -> None:
    found = list(islice(episodes(seed), 60))
    for episode in found:
        assert sum(each.fault in OF_DATA for each in episode.faults) <= 1
    assert {each.fault for episode in found for each in episode.faults} == set(Fault)


def test_every_fault_is_of_one_kind_and_can_be_carried_out() -> None:
    assert sorted((*OF_DATA, *OF_CONTROL)) == sorted(Fault)
    assert FAULTS.keys() == set(Fault)


@given(st.lists(st.tuples(st.sampled_from(Edit), st.sampled_from(ZONES))), st.booleans())
def test_edits_stay_within_what_the_cluster_can_be(edits: list[tuple[Edit, str]], secured: bool) -> None:
    wanted = first(secured=secured)
    versions = [wanted.version]
    for edit, zone in edits:
        member = f"chaos-hot-{zone}-0"
        asked = edited(wanted, edit, member)
        assert LEAST <= sum(asked.hot) <= MOST
        assert min(asked.hot) >= 1
        assert max(asked.hot) == MOST_OF_A_ZONE, "a volume is destroyed beside another member of its pool"
        assert asked.spec().get("members") == ({"replace": [member]} if edit is Edit.REPLACE else None)
        assert errors(validate(cluster(**asked.spec()))) == []
        if edit is not Edit.WRONG_VERSION:
            wanted = asked
            versions.append(wanted.version)
    assert set(versions) <= ({wanted.version} if secured else {OLD, NEW})


def test_growth_and_shrinking_are_of_the_chosen_zone_if_it_has_room() -> None:
    assert resized((2, 1, 1), 1, "c") == (2, 1, 2)
    assert resized((2, 1, 1), 1, "a") == (2, 2, 1)
    assert resized((2, 2, 1), 1, "c") == (2, 2, 1)
    assert resized((2, 2, 1), -1, "a") == (1, 2, 1)
    assert resized((1, 2, 2), -1, "a") == (1, 1, 2)
    assert resized((2, 1, 1), -1, "a") == (2, 1, 1)


def test_each_zone_has_a_manager_and_data_members_that_know_it() -> None:
    spec = first(secured=False).spec()
    assert spec["config"]["cluster.routing.allocation.awareness.attributes"] == "zone"
    for pool in spec["pools"]:
        kind, _, zone = pool["name"].rpartition("-")
        assert pool["podTemplate"]["spec"]["nodeSelector"] == {"topology.kubernetes.io/zone": f"zone-{zone}"}
        assert pool.get("config") == (None if kind == "managers" else {"node.attr.zone": zone})
    assert [p["replicas"] for p in spec["pools"] if p["roles"] == ["cluster_manager"]] == [1, 1, 1]


def test_red_seconds_are_told_as_spells_with_the_faults_of_their_episode() -> None:
    faults = [
        Broken(3, "node off (n1)", 90, 120),
        Broken(4, "webhook off (webhook)", 205, 260),
        Broken(4, "network cut (n2)", 200, 240),
    ]
    told = "episode 4: webhook off (webhook) at 205 to 260 s; network cut (n2) at 200 to 240 s"
    assert list(red_spells([], faults)) == []
    assert list(red_spells([210.2, 211.3, 222.0, 300.0], faults)) == [
        f"the database was red from 210 to 222 s (checks: 3); {told}",
        f"the database was red from 300 to 300 s (checks: 1); {told}",
    ]
    assert list(red_spells([50.0], faults)) == ["the database was red from 50 to 50 s (checks: 1); no fault before"]
