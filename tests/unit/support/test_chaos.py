"""The judgement of a chaos run, its schedule and its edits; the faults themselves are tried by the run."""

import asyncio
from itertools import islice
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.chaos.clients import Clients
from tests.chaos.edits import LEAST, MOST, NEW, OLD, Wanted, edited, first
from tests.chaos.faults import FAULTS
from tests.chaos.history import Operation, judge, judged_again, save
from tests.chaos.run import Run, Story
from tests.chaos.schedule import OF_CONTROL, OF_DATA, Edit, Fault, destroys, episodes
from tests.chaos.world import World


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


async def test_an_edit_waits_for_the_volume_that_its_episode_destroys() -> None:
    """Members that an edit restarts, and a destroyed volume, would be both copies of a shard."""
    edits: list[bool] = []
    world = World(None, None, None, secured=False)  # type: ignore[arg-type]

    class Asked(Run):
        async def _apply(self, wanted: Wanted) -> None:
            edits.append(world.destroyed.is_set())

    async def members(_: World) -> list[str]:
        return ["chaos-hot-0"]

    async def at_once(_: float) -> None:
        await asyncio.sleep(0)

    episode = next(each for each in episodes(2) if destroys(each) and each.edit is Edit.MEMORY)
    run = Asked(world, 2, lambda _: None)
    run._wanted = first(secured=False)
    clients = Clients(None, Random(1))  # type: ignore[arg-type]  # noqa: S311 - no secret
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(World, "data_members", members)
        patch.setattr("tests.chaos.run.wait", at_once)
        waiting = asyncio.create_task(run._edit(episode, Story(0, 0.0, []), clients))
        for _ in range(5):
            await asyncio.sleep(0)
        assert edits == []
        world.destroyed.set()
        await waiting
    assert edits == [True]


def test_every_fault_is_of_one_kind_and_can_be_carried_out() -> None:
    assert sorted((*OF_DATA, *OF_CONTROL)) == sorted(Fault)
    assert FAULTS.keys() == set(Fault)


@given(st.lists(st.sampled_from(Edit)), st.booleans())
def test_edits_stay_within_what_the_cluster_can_be(edits: list[Edit], secured: bool) -> None:
    wanted = first(secured=secured)
    versions = [wanted.version]
    for edit in edits:
        asked = edited(wanted, edit, "chaos-hot-0")
        assert LEAST <= asked.hot <= MOST
        assert asked.spec().get("members") == ({"replace": ["chaos-hot-0"]} if edit is Edit.REPLACE else None)
        if edit is not Edit.WRONG_VERSION:
            wanted = asked
            versions.append(wanted.version)
    assert set(versions) <= ({wanted.version} if secured else {OLD, NEW})
