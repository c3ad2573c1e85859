"""Changes of a FoundationDB cluster, played by the shipped planner with its driver, without faults and with them."""

import math
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from stateward.planning.model.actions import (
    ConfigureDatabase,
    Create,
    DeletePod,
    Drain,
    LimitAllocation,
    RecordRemoval,
    Release,
    StartProcess,
)
from stateward.planning.model.observation import Database, Unknown
from stateward.simulation.rehearsal.faults import Fault, Kind
from stateward.simulation.rehearsal.foundationdb.rules import FoundationRules
from stateward.simulation.rehearsal.many import play_many
from stateward.simulation.rehearsal.rehearsal import Rehearsal, one_run, summary
from stateward.simulation.rehearsal.story import story
from tests.unit.simulation.rehearsal.foundationdb.samples import (
    GIB,
    POOLS,
    START,
    USUAL,
    Watched,
    cluster,
    running,
    wanted,
)

S1 = "ledger-storage-1"


def sized(pool: int, **changes: Any) -> list[dict[str, Any]]:
    pools = deepcopy(POOLS)
    pools[pool].update(changes)
    return pools


def fault(kind: Kind, *members: str, at: float = 100.0, seconds: float = math.inf) -> Fault:
    return Fault(kind, "node n1", members, at, seconds)


def seen(run: Watched) -> Database:
    assert isinstance(run.end.database, Database)
    return run.end.database


def test_nothing_to_do_takes_no_time_and_exposes_nothing() -> None:
    outcome = Watched(cluster()).outcome
    assert (outcome.completed, outcome.seconds, outcome.single.times, outcome.refused.times) == (True, 0.0, 0, 0)


def test_a_knob_restarts_all_processes_together_and_the_database_is_off_meanwhile() -> None:
    run = Watched(cluster(knobs={"max_trace_lines": "10"}))
    assert run.outcome.completed
    assert len(set(run.done(StartProcess))) == run.outcome.most_down == 12
    assert run.done(DeletePod) == []
    assert (run.outcome.refused.times, run.outcome.lost) == (1, 0)
    assert 10.0 < run.outcome.refused.seconds < run.outcome.seconds


def test_a_patch_release_recreates_one_member_at_a_time_with_its_zone_in_maintenance() -> None:
    run = Watched(cluster(version="7.1.67"))
    assert run.outcome.completed
    assert (len(run.done(DeletePod)), run.outcome.most_down, run.outcome.red.times) == (12, 1, 0)
    assert len(run.done(LimitAllocation)) >= 8
    assert {node.version for node in seen(run).nodes.values()} == {"7.1.67"}
    # Five storage members without a spare copy for about 25 s each, and three logs for a moment.
    assert run.outcome.single.seconds == pytest.approx(5 * 25.0 + 3 * 6.0, abs=15.0)
    assert 0.0 < run.outcome.refused.seconds < 30.0


def test_an_incompatible_version_switches_all_processes_at_one_moment() -> None:
    run = Watched(cluster(version="7.3.63"))
    assert run.outcome.completed
    assert run.outcome.most_down == 12
    assert {node.version for node in seen(run).nodes.values()} == {"7.3.63"}
    assert {m.pod.version for m in run.end.members if m.pod is not None} == {"7.3.63"}


def test_a_new_member_joins_and_gets_its_share() -> None:
    run = Watched(cluster(sized(0, replicas=6)))
    assert (run.outcome.completed, run.done(Create)) == (True, ["ledger-storage-5"])
    assert "ledger-storage-5" in seen(run).nodes
    assert run.outcome.single.times == run.outcome.refused.times == 0


def test_a_member_that_leaves_is_excluded_first_and_stays_until_its_data_is_elsewhere() -> None:
    run = Watched(cluster(sized(0, replicas=4)))
    assert (run.outcome.completed, run.done(Release)) == (True, ["ledger-storage-4"])
    assert run.outcome.single.times == run.outcome.red.times == 0
    # One GiB at 16 MiB/s.
    assert run.outcome.seconds > 64.0
    assert seen(run).draining == frozenset()


def test_four_times_the_data_takes_four_times_as_long_to_move() -> None:
    few = Watched(cluster(sized(0, replicas=4))).outcome.seconds
    much = Watched(cluster(sized(0, replicas=4)), start=running(stored=4 * GIB)).outcome.seconds
    assert much - few == pytest.approx(3 * 64.0, rel=0.1)


def test_a_coordinator_that_is_replaced_hands_over_first() -> None:
    run = Watched(cluster(members={"replace": [S1]}))
    assert (run.outcome.completed, run.done(Release)) == (True, [S1])
    assert S1 not in seen(run).voters
    assert len(seen(run).voters) == 3
    assert run.outcome.single.times == 0


def test_another_redundancy_is_set_and_gets_its_copies_and_coordinators() -> None:
    run = Watched(cluster(redundancy="triple"), start=running("double"))
    assert run.outcome.completed
    assert len(run.done(ConfigureDatabase)) >= 1
    assert (seen(run).redundancy, len(seen(run).voters)) == ("triple", 5)
    assert run.outcome.seconds > 5 * 64.0 / 2


def test_other_numbers_of_processes_replace_the_members_also_under_names_that_were_used_before() -> None:
    run = Watched(cluster(sized(0, processesPerMember=2)))
    assert run.outcome.completed
    assert len(run.done(Create)) == 5
    assert set(run.done(Create)) & {f"ledger-storage-{i}" for i in range(5)}
    assert run.outcome.lost == 0


def test_smaller_volumes_replace_member_by_member() -> None:
    run = Watched(cluster(sized(1, storage={"size": "5Gi"})))
    assert run.outcome.completed
    assert len(run.done(Release)) == 4
    assert run.outcome.lost == 0


def test_two_copies_do_not_bear_the_loss_of_a_second_domain_during_a_restart() -> None:
    quiet = Watched(cluster(version="7.1.67"))
    down = next(at for at, _, made in quiet.rounds if any(isinstance(a, DeletePod) for a in made.actions)) - START
    run = Watched(cluster(version="7.1.67"), fault(Kind.NODE, "ledger-storage-2", at=down + 5.0, seconds=200.0))
    assert run.outcome.red.times == 1
    assert 15.0 < run.outcome.red.seconds < 60.0
    assert run.outcome.refused.seconds >= run.outcome.red.seconds
    assert (run.outcome.lost, run.outcome.completed) == (0, True)


def test_three_copies_bear_it() -> None:
    down = 5.0
    run = Watched(cluster(version="7.1.67", redundancy="triple"), fault(Kind.NODE, S1, at=down, seconds=200.0))
    assert (run.outcome.red.times, run.outcome.lost) == (0, 0)
    assert run.outcome.completed


def test_two_lost_volumes_of_two_copies_lose_data() -> None:
    run = Watched(cluster(), fault(Kind.DISK, "ledger-storage-3", "ledger-storage-4", seconds=0.0))
    assert run.outcome.lost == 1
    assert run.outcome.red.lasting
    assert (
        Watched(
            cluster(redundancy="triple"), fault(Kind.DISK, "ledger-storage-3", "ledger-storage-4", seconds=0.0)
        ).outcome.lost
        == 0
    )


def test_a_lost_volume_is_filled_again() -> None:
    run = Watched(cluster(), fault(Kind.DISK, "ledger-storage-4", seconds=0.0))
    assert (run.outcome.completed, run.outcome.lost) == (True, 0)
    # Silent at no moment, and copied again from a minute on: one GiB at 16 MiB/s.
    assert run.outcome.single.seconds == pytest.approx(60.0 + 64.0, abs=15.0)


def test_a_network_cut_of_some_seconds_costs_these_seconds_of_writes() -> None:
    run = Watched(cluster(), fault(Kind.NETWORK, "ledger-stateless-1", seconds=3.0))
    assert run.outcome.refused.seconds == pytest.approx(3.0, abs=0.2)
    longer = Watched(cluster(), fault(Kind.NETWORK, "ledger-stateless-1", seconds=60.0))
    # Four seconds until it is noticed, two for the recovery, and two more when it is back and gets its role again.
    assert 6.0 <= longer.outcome.refused.seconds < 9.0


def test_the_operator_does_not_get_an_answer_without_a_majority_of_the_coordinators() -> None:
    run = Watched(cluster(), fault(Kind.NODE, "ledger-storage-0", S1, seconds=120.0))
    assert isinstance(run.at(110.0).database, Unknown)
    assert run.outcome.completed
    # 120 s without power, and twenty for the start.
    assert run.outcome.refused.seconds == pytest.approx(142.0, abs=5.0)


def test_a_member_whose_node_stays_away_is_replaced_by_the_policy() -> None:
    policy = {"enabled": True, "after": "10m"}
    run = Watched(cluster(replacement=policy), fault(Kind.NODE, "ledger-storage-4"))
    assert (run.done(RecordRemoval), run.done(Create)) == (["ledger-storage-4"], ["ledger-storage-5"])
    assert run.outcome.completed
    assert run.outcome.lost == 0
    waiting = Watched(cluster(), fault(Kind.NODE, "ledger-storage-4")).outcome
    assert not waiting.completed
    assert waiting.waits_for[1]
    # Its data is on the others again all the same.
    assert (waiting.lost, waiting.single.lasting) == (0, False)


def test_exclusions_are_undone_after_a_fault() -> None:
    run = Watched(cluster(sized(0, replicas=4)), fault(Kind.NETWORK, "ledger-log-0", at=20.0, seconds=60.0))
    assert run.outcome.completed
    assert len(run.done(Drain)) >= 2
    assert seen(run).draining == frozenset()


REHEARSAL = Rehearsal(
    replace(running(), desired=replace(wanted(cluster(version="7.1.67")), template_revision=1)),
    START,
    USUAL,
    kinds=tuple(Kind),
    rules=FoundationRules(cluster(version="7.1.67")),
)


def test_a_seed_repeats_its_run_and_its_timeline() -> None:
    first = one_run(REHEARSAL, 7)
    again, drawn = story(REHEARSAL, cluster(version="7.1.67"), 7)
    assert msgspec.structs.asdict(again) == msgspec.structs.asdict(first)
    found = again.outcome.fault
    assert found is not None
    assert {row.name for row in drawn.rows} >= {"ledger-storage-4", *found.members}


def test_many_runs_are_summarized_and_do_not_depend_on_the_number_of_processes() -> None:
    runs = play_many(REHEARSAL, range(1, 10), jobs=2)
    assert runs == play_many(REHEARSAL, range(1, 10))
    said = summary(runs)
    assert said.runs == said.single.runs == 9
    assert said.hurts


def test_what_the_database_does_not_report_is_not_known() -> None:
    assert REHEARSAL.known
    database = running().database
    assert isinstance(database, Database)
    for silent in (
        replace(database, redundancy=""),
        replace(database, voters=frozenset()),
        replace(database, nodes={n: replace(node, duties=None) for n, node in database.nodes.items()}),
    ):
        start = replace(REHEARSAL.start, database=silent)
        assert not REHEARSAL.rules.known(start)
        assert REHEARSAL.rules.problem(start) is None
        assert one_run(replace(REHEARSAL, start=start, kinds=()), 1).outcome.completed


def test_what_cannot_be_played_says_why() -> None:
    database = running().database
    assert isinstance(database, Database)
    rules = REHEARSAL.rules
    assert (
        rules.problem(replace(running(), database=Unknown("no pod runs")))
        == "the database cannot be asked: no pod runs"
    )
    halls = replace(running(), database=replace(database, redundancy="three_data_hall"))
    assert rules.problem(halls) == "its redundancy is three_data_hall, which a rehearsal does not know"


KINDS = st.sampled_from(list(Kind))
EDITS = [cluster(version="7.1.67"), cluster(knobs={"max_trace_lines": "10"}), cluster(sized(0, replicas=4))]


@settings(max_examples=12, deadline=None)
@given(kind=KINDS, seconds=st.floats(0.0, 1200.0) | st.just(math.inf), at=st.floats(0.0, 300.0), data=st.data())
def test_every_run_ends_and_its_measures_fit_together(
    kind: Kind, seconds: float, at: float, data: st.DataObject
) -> None:
    edited = data.draw(st.sampled_from(EDITS))
    names = data.draw(st.sets(st.sampled_from([m.name for m in running().members]), min_size=1, max_size=4))
    run = Watched(edited, fault(kind, *sorted(names), seconds=seconds, at=at))
    outcome = run.outcome
    assert outcome.completed or outcome.waits_for[0]
    assert outcome.red.seconds <= outcome.refused.seconds + 1e-6
    if outcome.completed:
        assert {m.pod.version for m in run.end.members if m.pod is not None} == {edited.spec.version}
        assert not outcome.refused.lasting or outcome.lost
        assert isinstance(run.end.database, Database)
        assert (run.end.database.draining, run.end.database.maintenance) == (frozenset(), "")
