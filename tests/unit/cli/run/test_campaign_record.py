"""Campaigns in parts: shards of the seeds, a record that continues, and records that merge into one."""

import json
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml
from click import UsageError
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from stateward.cli.main import cli
from stateward.cli.run import simulate as command
from stateward.cli.shared.failures import ExitCode
from stateward.simulation.campaign.campaign import Report, report
from stateward.simulation.campaign.record import Campaign, Record, RecordError, read
from stateward.simulation.campaign.run import Outcome, Plan
from stateward.simulation.properties.invariants import Violation

COMMON = Campaign("opensearch", "c0de", 1000)


def simulated(*words: str) -> Result:
    return CliRunner().invoke(cli, ["simulate", *words])


def outcome(seed: int) -> Outcome:
    broken = (Violation("c", 61.0, "logs-hot-1 is taken down"),) if seed in (7, 1_000_007) else ()
    return Outcome(seed, broken, 1.5, {"fault: node lost": seed})


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Runs of no world: their seeds, in the order in which they were run."""
    seen: list[int] = []

    def runs(_: Campaign, seeds: Sequence[int], _jobs: int, add: Callable[[Outcome], None] = lambda _: None) -> Report:
        for seed in seeds:
            seen.append(seed)
            add(outcome(seed))
        return report([outcome(seed) for seed in seeds], 1.0)

    monkeypatch.setattr(command, "with_progress", runs)
    return seen


@given(first=st.integers(0, 1000), count=st.integers(1, 60), data=st.data())
def test_shards_are_the_seeds_each_once_and_about_the_same_number(first: int, count: int, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, count))
    parts = [command.part_of(range(first, first + count), f"{k}/{n}") for k in range(1, n + 1)]
    assert [seed for part in parts for seed in part] == list(range(first, first + count))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


@pytest.mark.parametrize("shard", ["0/2", "3/2", "1", "a/2", "1/0", "1/11", "-1/2", "auto/2"])
def test_a_shard_that_is_invalid_is_refused_with_what_is_accepted(shard: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JOB_COMPLETION_INDEX", raising=False)
    with pytest.raises(UsageError, match=f"--shard {shard}: "):
        command.part_of(range(10), shard)


def test_a_pod_of_an_indexed_job_takes_its_own_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JOB_COMPLETION_INDEX", "1")
    assert command.part_of(range(10), "auto/5") == range(2, 4)


def test_an_interrupted_campaign_continues_where_it_was(tmp_path: Path, ran: list[int]) -> None:
    file = tmp_path / "storms"
    words = ("--hours", "0.5", "--results", str(file))
    assert simulated("--seeds", "3", *words).exit_code == 0
    file.write_text(file.read_text() + '{"line":"run","outc')
    result = simulated("--seeds", "6", *words)
    assert result.exit_code == 0, result.output
    assert ran == [0, 1, 2, 3, 4, 5]
    assert result.output.splitlines()[-1] == "6 runs, 0 with violations; 9.0 cluster-hours"
    assert read([file])[1] == {seed: outcome(seed) for seed in range(6)}


@pytest.mark.parametrize("other", [("--engine", "foundationdb"), ("--hours", "1"), ("--step-limit", "5")])
def test_a_record_of_another_campaign_is_refused_and_left_as_it_is(
    tmp_path: Path, ran: list[int], other: tuple[str, str]
) -> None:
    file = tmp_path / "storms"
    assert simulated("--seeds", "1", "--hours", "0.5", "--results", str(file)).exit_code == 0
    before = file.read_text()
    result = simulated("--seeds", "2", "--hours", "0.5", *other, "--results", str(file))
    assert result.exit_code == 1
    assert f"{file}: " in result.stderr
    assert other[0].removeprefix("--").replace("-", "_") in result.stderr
    assert file.read_text() == before
    assert ran == [0]


def test_records_of_shards_merge_into_one_with_all_violations(tmp_path: Path, ran: list[int]) -> None:
    files = [str(tmp_path / f"part-{k}") for k in (1, 2, 3)]
    for k, file in enumerate(files, 1):
        simulated("--seeds", "10", "--hours", "0.5", "--shard", f"{k}/3", "--results", file)
    assert sorted(ran) == list(range(10))
    whole = tmp_path / "whole"
    result = simulated(*(word for file in files for word in ("--merge", file)), "--results", str(whole))
    assert result.exit_code == 1
    assert "seed 7: [c] at 61.0 s: logs-hot-1 is taken down\n" in result.output
    assert "--engine opensearch --seed 7 --hours 0.5 --trace" in result.output
    assert "10 runs, 1 with violations; 15.0 cluster-hours" in result.output
    assert read([whole]) == read(map(Path, files))


def test_logs_of_all_pods_in_one_file_are_a_record(tmp_path: Path, ran: list[int]) -> None:
    texts = [simulated("--seeds", "6", "--shard", f"{k}/2", "--results", "-").output for k in (1, 2)]
    logs = tmp_path / "logs"
    logs.write_text("".join(texts))
    assert [json.loads(line)["line"] for line in logs.read_text().splitlines()] == ["campaign", *["run"] * 3] * 2
    assert list(read([logs])[1]) == sorted(ran)
    assert simulated("--merge", str(logs)).exit_code == 0


def test_each_pod_of_the_example_runs_its_part_and_ends_well_also_with_violations(
    ran: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = yaml.safe_load((Path(__file__).parents[4] / "examples/simulation/job.yaml").read_text())
    (container,) = job["spec"]["template"]["spec"]["containers"]
    for index in range(job["spec"]["completions"]):
        monkeypatch.setenv("JOB_COMPLETION_INDEX", str(index))
        result = CliRunner().invoke(cli, container["args"])
        assert result.exit_code == 0, result.output
    assert ran == list(range(1_000_000, 1_003_000))


def test_two_results_of_one_seed_are_an_error_that_names_both_records(tmp_path: Path) -> None:
    for name, hours in (("a", 1.0), ("b", 2.0)):
        with Record(tmp_path / name, COMMON) as record:
            record.add(Outcome(3, (), hours, {}))
    with pytest.raises(RecordError, match=f"{tmp_path}/b: seed 3 ended differently in {tmp_path}/a"):
        read([tmp_path / "a", tmp_path / "b"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing\n", "line 1: "),
        ('{"line":"run","outcome":{"seed":1,"violations":[],"hours":1,"counts":{}}}\n', "does not name the campaign"),
        ("", "names its campaign"),
    ],
)
def test_a_file_that_is_no_record_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "file"
    file.write_text(text)
    result = simulated("--merge", str(file))
    assert result.exit_code == 1
    assert message in result.stderr


@pytest.mark.parametrize(
    "words",
    [("--seed", "1", "--shard", "1/2"), ("--seed", "1", "--results", "x"), ("--merge", "/dev/null", "--shard", "1/2")],
)
def test_options_that_exclude_each_other_are_refused(words: tuple[str, ...]) -> None:
    assert simulated(*words).exit_code == ExitCode.USAGE


def test_a_failing_run_is_made_small_written_and_repeated(
    tmp_path: Path, ran: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[Plan] = []

    def attempt(seed: int, plan: Plan) -> Outcome:
        tried.append(plan)
        return structs.replace(outcome(7), seed=seed)

    @contextmanager
    def pool(_: int) -> Generator[Callable[[Sequence[tuple[int, Plan]]], list[Outcome]]]:
        yield lambda cases: [attempt(*case) for case in cases]

    monkeypatch.setattr(command, "workers", pool)
    folder = tmp_path / "small"
    result = simulated("--first", "6", "--seeds", "3", "--hours", "0.5", "--shrink", str(folder))
    assert result.exit_code == 1
    assert ran == [6, 7, 8]
    assert [file.name for file in folder.iterdir()] == ["opensearch-7.json"]
    assert "seed 7, made small in " in result.output
    assert ": 1 min with no fault\n" in result.output
    assert f"stateward simulate --replay {folder}/opensearch-7.json --trace" in result.output

    def again(seed: int, plan: Plan) -> tuple[Outcome, float]:
        return attempt(seed, plan), 1.0

    monkeypatch.setattr(command, "simulate_one", again)
    result = simulated("--replay", str(folder / "opensearch-7.json"))
    assert result.exit_code == 1
    assert "logs-hot-1 is taken down" in result.output
    assert (tried[-1].chaos, tried[-1].only, tried[-1].processes) == (60.0, frozenset(), 1)


def test_a_file_that_is_no_small_run_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text('{"seed": "five"}')
    result = simulated("--replay", str(file))
    assert result.exit_code == 1
    assert f"{file}: not a run that --shrink wrote: " in result.stderr
