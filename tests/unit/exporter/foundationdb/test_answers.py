"""An answer that is whole and fresh is served; any other one is none, and leaves no earlier value in its place."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from stateward.engines.foundationdb.exporter.settings import KILLED, LARGEST, MARK, OLDEST, PAUSE
from stateward.exporter.foundationdb.answers import Answers
from stateward.exporter.metric import DURATION, PREFIX, UP
from stateward.exporter.rounds import Round
from stateward.exporter.text import text_of
from tests.unit.exporter.foundationdb.recordings import LABELS, TRANSCRIPTS, WHOSE, recorded

NOW = 1795635200.0
HEALTHY = json.dumps(recorded("healthy"), indent=4)
ASIDES = "\nWARNING: Long delay (Ctrl-C to interrupt)\nThe database is available.\n"


def answers(tmp_path: Path, output: str, age: float = 3.0, took: float = 0.5) -> Answers:
    path = tmp_path / "status"
    path.write_text(f"{output}\n{MARK} {NOW - age - took:.9f} {NOW - age:.9f}\n")
    return Answers(replace(WHOSE, answer=str(path)), lambda: NOW)


def value(found: Round, name: str) -> float | None:
    return next((each.value for each in found.samples if each.metric.name == f"{PREFIX}{name}"), None)


def nothing(found: Round) -> bool:
    return [(each.metric, each.labels, each.value) for each in found.samples] == [(UP, LABELS, 0)]


@pytest.mark.parametrize("output", [HEALTHY, ASIDES + HEALTHY, f"{HEALTHY}\n{ASIDES}"])
async def test_a_fresh_answer_is_served_with_its_age_and_time(tmp_path: Path, output: str) -> None:
    found = await answers(tmp_path, output).ask()
    assert found.failure == ""
    assert value(found, "up") == value(found, "available") == 1
    assert value(found, "answer_age_seconds") == pytest.approx(3, abs=0.01)
    assert value(found, DURATION.name.removeprefix(PREFIX)) == pytest.approx(0.5, abs=0.01)
    assert value(found, "processes") == 8


async def test_an_old_answer_is_none_and_so_is_one_from_the_future(tmp_path: Path) -> None:
    assert (await answers(tmp_path, HEALTHY, OLDEST - 1).ask()).failure == ""
    for age, why in (
        (OLDEST + 1, "its container does not run"),
        (86400 * 365, "not run"),
        (-60, "a clock was set back"),
    ):
        found = await answers(tmp_path, HEALTHY, age).ask()
        assert nothing(found)
        assert "the last answer of fdbcli is from" in found.failure
        assert found.failure.endswith(why)


async def test_an_old_answer_is_said_in_the_same_words_each_time(tmp_path: Path) -> None:
    """Others would be a line in the log with each scrape, and a write of the status with each round of the operator."""
    answers(tmp_path, HEALTHY, OLDEST + 1)
    found = [
        await Answers(replace(WHOSE, answer=str(tmp_path / "status")), lambda later=later: NOW + later).ask()
        for later in (0.0, 15.0)
    ]
    assert found[0].failure == found[1].failure != ""


def test_answers_of_a_database_that_is_down_come_before_the_last_one_is_too_old() -> None:
    slowest = max(TRANSCRIPTS[label]["seconds"] for label in ("down-status", "never-created-status"))
    assert slowest < KILLED - 5
    assert PAUSE + KILLED < OLDEST


async def test_a_database_that_is_down_is_said_with_its_own_words(tmp_path: Path) -> None:
    found = await answers(tmp_path, TRANSCRIPTS["down-status"]["output"], took=34.8).ask()
    assert value(found, "up") == value(found, "available") == 0
    assert value(found, "processes") is None
    assert "Timed out fetching cluster status." in found.failure
    assert not found.starting


async def test_before_the_first_answer_it_is_starting(tmp_path: Path) -> None:
    found = await Answers(replace(WHOSE, answer=str(tmp_path / "status")), lambda: NOW).ask()
    assert nothing(found)
    assert found.starting


@pytest.mark.parametrize(
    "output",
    [
        "",
        "{",
        "[]",
        "Killed",
        '{"client": ' + "[" * 100_000,
        "ERROR: Unable to read cluster file test:secretkey@10.0.0.1:4500",
        f"{HEALTHY}\nanother line",
        f"\x1b[2J{HEALTHY}",
        '{"cluster": {}, "client": {}}',
        '{"cluster": 5, "client": "x"}',
    ],
)
async def test_an_answer_that_makes_no_sense_is_none(tmp_path: Path, output: str) -> None:
    found = await answers(tmp_path, output).ask()
    assert value(found, "up") == 0
    assert value(found, "available") is None
    assert found.failure.isprintable()
    assert "secretkey" not in found.failure


async def test_an_answer_without_times_or_with_garbled_ones_is_none(tmp_path: Path) -> None:
    path = tmp_path / "status"
    for end in (
        "",
        f"\n{MARK} 1 2",
        f"\n{MARK} x.0 y.0\n",
        f"\n{MARK} {NOW:.3f} {NOW:.3f}\nmore\n",
        f"\n{MARK} {NOW:.3f}\n",
    ):
        path.write_text(HEALTHY + end)
        found = await Answers(replace(WHOSE, answer=str(path)), lambda: NOW).ask()
        assert nothing(found)
        assert found.failure == "the answer of fdbcli has no times"


async def test_a_large_answer_is_none(tmp_path: Path) -> None:
    found = await answers(tmp_path, " " * LARGEST + HEALTHY).ask()
    assert nothing(found)
    assert "more than" in found.failure


async def test_an_answer_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "status").mkdir()
    found = await Answers(replace(WHOSE, answer=str(tmp_path / "status")), lambda: NOW).ask()
    assert nothing(found)
    assert found.failure


async def test_the_key_of_the_cluster_file_is_in_no_metric_and_no_reason(tmp_path: Path) -> None:
    status = recorded("healthy")
    key = status["cluster"]["connection_string"].partition(":")[2].partition("@")[0]
    assert len(key) > 3
    served = await answers(tmp_path, json.dumps(status)).ask()
    assert served.samples
    assert key.encode() not in text_of(served.samples)
    told = f"the file has {status['cluster']['connection_string']}"
    down = {"client": {**status["client"], "messages": [{"description": told}]}, "cluster": {}}
    refused = await answers(tmp_path, json.dumps(down)).ask()
    assert "the file has" in refused.failure
    assert key not in refused.failure
