"""`stateward simulate`: campaigns, traces, and reports of violations."""

import pytest
from click.testing import CliRunner, Result

from stateward.cli.main import cli
from stateward.cli.run import simulate as command
from stateward.cli.shared.failures import ExitCode
from stateward.cli.status.advice import ADVICE
from stateward.simulation.campaign import campaign, run
from stateward.simulation.campaign.branches import branches, out_of_reach
from stateward.simulation.campaign.campaign import Report
from stateward.simulation.campaign.engine_setups import ENGINES
from stateward.simulation.properties.invariants import Violation
from stateward.simulation.world.trace_text import clock, edited


def simulated(*words: str) -> Result:
    return CliRunner().invoke(cli, ["simulate", *words])


def test_a_seed_prints_its_trace() -> None:
    result = simulated("--seed", "5", "--hours", "0.001", "--trace")
    assert result.exit_code == 0, result.output
    assert "  0:00:00.0  the user creates the cluster resource\n" in result.output
    assert "the operator creates the objects of logs-" in result.output
    assert "joins data.logs" in result.output
    assert result.output.splitlines()[-1].startswith("1 run, 0 with violations; ")


def test_a_campaign_lists_what_was_met_and_what_was_not() -> None:
    result = simulated("--seeds", "2", "--hours", "0.001", "--jobs", "2")
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.output.splitlines()]
    assert ["fault", "zone", "lost", "never"] in lines
    assert next(line for line in lines if line[:2] == ["action", "Create"])[-1].isdigit()
    assert "never met: fault: operator killed, " in result.output
    assert "\n2 runs, 0 with violations; " in result.output


def test_what_was_never_met_is_a_failure_where_all_is_required() -> None:
    assert simulated("--seed", "5", "--hours", "0.001", "--require-all").exit_code == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_a_campaign_that_misses_one_fails_and_names_it_and_one_that_meets_all_does_not(
    monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    every = [name for name in branches(ADVICE.keys(), engine) if name not in out_of_reach(engine)]
    met = dict.fromkeys(every, 1)
    words = ("--engine", engine, "--seeds", "2", "--require-all")

    def lived(*_: object) -> Report:
        return Report(2, (), 1.0, 1.0, met)

    monkeypatch.setattr(command, "with_progress", lived)
    whole = simulated(*words)
    assert whole.exit_code == 0, whole.output
    assert "never met" not in whole.output
    del met["fault: node drained"]
    result = simulated(*words)
    assert result.exit_code == 1
    assert "never met: fault: node drained\n" in result.output


def test_ordinary_days_are_those_of_databases_with_shards() -> None:
    result = simulated("--engine", "foundationdb", "--seed", "1", "--days", "1")
    assert result.exit_code == ExitCode.USAGE
    assert "use --hours" in result.stderr


def test_a_seed_of_foundationdb_prints_its_trace() -> None:
    result = simulated("--engine", "foundationdb", "--seed", "6", "--hours", "0.001", "--trace")
    assert result.exit_code == 0, result.output
    assert "the operator creates the database" in result.output
    assert result.output.splitlines()[-1].startswith("1 run, 0 with violations; ")


def test_a_violation_comes_with_the_command_that_repeats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(seed: int, _: object) -> tuple[run.Outcome, float]:
        return run.Outcome(seed, (Violation("c", 61.0, "logs-hot-1 is taken down"),), 1.0, {}), 1.0

    monkeypatch.setattr(command, "simulate_one", broken)
    result = simulated("--seed", "7", "--hours", "0.5")
    assert result.exit_code == 1
    assert "seed 7: [c] at 61.0 s: logs-hot-1 is taken down\n" in result.output
    assert "stateward simulate --engine opensearch --seed 7 --hours 0.5 --trace\n" in result.output


def test_a_run_of_no_chosen_length_is_repeated_with_none(monkeypatch: pytest.MonkeyPatch) -> None:
    plans: list[run.Plan] = []

    def broken(seed: int, plan: run.Plan) -> tuple[run.Outcome, float]:
        plans.append(plan)
        return run.Outcome(seed, (Violation("c", 61.0, "logs-hot-1 is taken down"),), 1.0, {}), 1.0

    monkeypatch.setattr(command, "simulate_one", broken)
    result = simulated("--seed", "7")
    assert "stateward simulate --engine opensearch --seed 7 --trace\n" in result.output
    simulated("--seed", "20")
    simulated("--engine", "foundationdb", "--seed", "20")
    assert [(plan.chaos, plan.slower) for plan in plans] == [(3600.0, 1.0), (30 * 86400.0, run.YEAR), (3600.0, 1.0)]


def test_the_runs_of_a_campaign_are_those_that_are_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, run.Plan]] = []

    def brief(seed: int, plan: run.Plan) -> run.Outcome:
        seen.append((seed, plan))
        return run.Outcome(seed, (), 1.0, {})

    monkeypatch.setattr(campaign, "attempt", brief)
    for seed in (7, 20):
        campaign.run_one(seed, "elasticsearch", None)
    assert seen == [(seed, campaign.usual("elasticsearch", seed)) for seed in (7, 20)]
    campaign.run_one(20, "elasticsearch", run.Plan(chaos=5.0))
    assert seen[-1][1] == run.Plan(engine="elasticsearch", chaos=5.0)


def test_hours_and_days_exclude_each_other() -> None:
    result = simulated("--seed", "1", "--hours", "1", "--days", "1")
    assert result.exit_code == ExitCode.USAGE
    assert "not both" in result.stderr


def test_ordinary_days_are_mostly_skipped_and_the_report_says_so() -> None:
    result = simulated("--seed", "4", "--days", "0.5")
    assert result.exit_code == 0, result.output
    last = result.output.splitlines()[-1]
    assert last.startswith("1 run, 0 with violations; ")
    assert last.endswith(" of them skipped, because nothing could happen in them")


def test_a_trace_is_that_of_one_run() -> None:
    result = simulated("--trace")
    assert result.exit_code == ExitCode.USAGE
    assert "--trace prints one run: name it with --seed" in result.stderr


def test_an_edit_is_reported_by_what_differs() -> None:
    before = {"version": "1", "pools": [{"name": "hot", "replicas": 2}, {"name": "old", "replicas": 1}]}
    after = {"version": "2", "pools": [{"name": "hot", "replicas": 3}]}
    assert edited(before, after) == (
        "version 1 → 2, pools.hot.replicas 2 → 3, pools.old {'name': 'old', 'replicas': 1} → none"
    )
    assert edited(before, before) == ""


def test_times_are_hours_minutes_and_seconds() -> None:
    assert clock(3723.46) == "1:02:03.5"
