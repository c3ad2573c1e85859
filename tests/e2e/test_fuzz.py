"""Attacks on what reads what others write: many times as many as in `make test`, each time with another seed.

What is attacked: the agent's API and its server, archives and templates of packages, answers of databases, questions
to the webhook, pod templates and documents. Each area runs in a process of its own; the seed is printed, and with the
same seed the same attacks are drawn.
"""

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fuzz import SEED, TIMES

pytestmark = [pytest.mark.e2e, pytest.mark.full]

_ROOT = Path(__file__).parents[2]
_PATIENCE = 1200.0
"""Seconds after which the attacks of one area are given up: each needs a few minutes."""

AREAS = {"agent": 20, "packages": 20, "engines": 8, "operator": 5, "api": 20}
"""How many times as many examples as in `make test` each area draws."""


def attacked(where: str, times: int, seed: int) -> str:
    """Return the report of a failure; empty if every attack was handled."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-m",
        "fuzz",
        "-p",
        "no:cacheprovider",
        f"--hypothesis-seed={seed}",
    ]
    environment = {**os.environ, "STATEWARD_EXPLORE": "1", TIMES: str(times)}
    ended = subprocess.run(
        [*command, where], cwd=_ROOT, env=environment, capture_output=True, text=True, timeout=_PATIENCE, check=False
    )
    return "" if ended.returncode == 0 else f"{ended.stdout[-20_000:]}{ended.stderr[-2000:]}"


@pytest.mark.parametrize("area", AREAS)
def test_attacks_that_are_drawn_for_minutes_find_nothing(area: str, capsys: pytest.CaptureFixture[str]) -> None:
    seed = int(os.environ.get(SEED) or random.SystemRandom().randrange(2**32))
    with capsys.disabled():
        sys.stdout.write(f"\n{area}: {SEED}={seed} has the same attacks again\n")
    found = attacked(f"tests/unit/{area}", AREAS[area], seed)
    assert not found, f"{SEED}={seed}\n{found}"


_WEAK = """
from pathlib import Path
from hypothesis import given, strategies as st
from tests.support.fuzz import fuzzed

@fuzzed(100)
@given(st.integers(0, 1000))
def test_weak(number):
    with (Path(__file__).parent / "drawn").open("a") as drawn:
        print(number, file=drawn)
    assert number != 42
"""


def test_a_weakness_that_few_examples_meet_is_found_and_again_with_the_same_seed(tmp_path: Path) -> None:
    (tmp_path / "test_weak.py").write_text(_WEAK)
    drawn: list[str] = []
    for _ in range(2):
        assert "number=42" in attacked(str(tmp_path), 50, 7)
        drawn.append((tmp_path / "drawn").read_text())
        (tmp_path / "drawn").unlink()
    assert drawn[0].count("\n") > 42
    assert drawn[0] == drawn[1]
