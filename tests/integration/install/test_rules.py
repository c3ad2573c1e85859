"""The alerts, run by promtool over invented series."""

import subprocess
from pathlib import Path

import pytest
import yaml

from sandbox.progress import Progress
from sandbox.toolchain.programs import PROMTOOL, build_program

pytestmark = pytest.mark.integration

RULES = Path(__file__).parents[3] / "charts/stateward/files/rules.yaml"
CASES = Path(__file__).with_name("rules_test.yaml")


@pytest.fixture(scope="module")
def promtool() -> Path:
    return build_program(PROMTOOL, Progress())


def run(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)


def test_promtool_accepts_the_rules(promtool: Path) -> None:
    done = run(promtool, "check", "rules", "--lint=all", "--lint-fatal", RULES)
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_fires_when_its_text_says_and_not_before(promtool: Path, tmp_path: Path) -> None:
    cases = yaml.safe_load(CASES.read_text())
    file = tmp_path / "cases.yaml"
    file.write_text(yaml.safe_dump({**cases, "rule_files": [str(RULES)]}))
    done = run(promtool, "test", "rules", file)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_expectation_would_be_noticed(promtool: Path, tmp_path: Path) -> None:
    cases = yaml.safe_load(CASES.read_text())
    cases["tests"][0]["alert_rule_test"][-1]["exp_alerts"] = []
    file = tmp_path / "cases.yaml"
    file.write_text(yaml.safe_dump({**cases, "rule_files": [str(RULES)]}))
    assert run(promtool, "test", "rules", file).returncode == 1
