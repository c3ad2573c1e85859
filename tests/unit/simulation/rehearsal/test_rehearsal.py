"""What many runs say together, and the timeline of one."""

import pytest
from msgspec.structs import replace

from stateward.simulation.rehearsal.faults import Kind
from stateward.simulation.rehearsal.many import play_many
from stateward.simulation.rehearsal.measures import Total
from stateward.simulation.rehearsal.rehearsal import Rehearsal, Run, quantile, summary
from stateward.simulation.rehearsal.story import described, story
from tests.unit.cli.clusters import SPEC, typed
from tests.unit.simulation.rehearsal.samples import START, USUAL, fault, upgrade

REHEARSAL = Rehearsal(upgrade(), START, USUAL, kinds=tuple(Kind))


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return play_many(REHEARSAL, range(1, 41))


def test_quantiles_are_values_that_occurred() -> None:
    values = [float(number) for number in range(1, 11)]
    assert [quantile(values, part) for part in (0.0, 0.1, 0.5, 0.95, 1.0)] == [1.0, 1.0, 5.0, 10.0, 10.0]


def test_a_summary_does_not_depend_on_the_order_of_runs(runs: list[Run]) -> None:
    assert summary(runs) == summary(runs[::-1])


def test_the_worst_run_is_the_one_with_most_damage(runs: list[Run]) -> None:
    said = summary(runs)
    assert said.worst.outcome.damage == max(run.outcome.damage for run in runs)
    assert said.hurts[0].outcome.damage >= said.hurts[-1].outcome.damage
    places = [(run.outcome.fault.kind, run.outcome.fault.place) for run in said.hurts if run.outcome.fault]
    assert len(places) == len(set(places))


def test_runs_that_do_not_complete_are_counted_by_what_they_wait_for(runs: list[Run]) -> None:
    said = summary(runs)
    assert said.completed + sum(count for count, _ in said.waits) == said.runs == 40
    assert said.seconds is not None
    assert said.seconds.p10 <= said.seconds.p50 <= said.seconds.p95 <= said.seconds.worst


def test_data_counts_more_than_time(runs: list[Run]) -> None:
    one = runs[0].outcome
    assert replace(one, lost=1).damage > replace(one, lost=0, seconds=1e9).damage


def test_without_shards_a_run_that_does_not_complete_is_worse_than_one_without_a_manager_for_a_while(
    runs: list[Run],
) -> None:
    said = summary(runs, known=False)
    assert 0 < said.completed < said.runs
    assert not said.worst.outcome.completed
    assert not said.hurts[0].outcome.completed
    done = next(run for run in runs if run.outcome.completed)
    away = replace(done, outcome=replace(done.outcome, refused=Total(1e6, 1)))
    stuck = replace(done, outcome=replace(done.outcome, completed=False))
    assert summary([away, stuck], known=False).worst == stuck


def test_the_timeline_of_a_run_has_its_members_its_health_and_its_fault(runs: list[Run]) -> None:
    seed = summary(runs).worst.outcome.seed
    again, drawn = story(REHEARSAL, typed(SPEC, "2.17.1"), seed)
    assert again == next(run for run in runs if run.outcome.seed == seed)
    assert drawn.begin == pytest.approx(START, abs=2.0)
    assert {band.name for band in drawn.bands} == {"health", "writes"}
    found = again.outcome.fault
    assert found is not None
    assert [mark.at for mark in drawn.marks if described(found) in mark.text] == [START + found.at]
    assert {row.name for row in drawn.rows} & set(found.members)


@pytest.mark.parametrize(
    ("kind", "seconds", "words"),
    [
        (Kind.NODE, 240.0, "node n1 loses power for 4 min"),
        (Kind.NODE, float("inf"), "node n1 loses power and does not return"),
        (Kind.NETWORK, 20.0, "node n1 cannot be reached for 20 s"),
        (Kind.DISK, float("inf"), "node n1 fails, and no other takes its place"),
        (Kind.DISK, 0.0, "node n1 fails, and is empty after that"),
    ],
)
def test_faults_are_described_in_words(kind: Kind, seconds: float, words: str) -> None:
    assert described(fault(kind, "a", seconds=seconds)) == words
