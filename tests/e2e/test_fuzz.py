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

AREAS = {"agent": 20, "packages": 20, "engines": 8, "operator": 10, "api": 20}
"""How many times as many examples as in `make test` each area draws."""


def attacked(where: str, times: int, seed: int) -> str:
    """Return what is told of a failure, and nothing when every attack was held."""
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
from hypothesis import given, strategies as st
from tests.support.fuzz import fuzzed

@fuzzed(100)
@given(st.integers(0, 1000))
def test_weak(number):
    print("drawn", number)
    assert number != 42
"""


def test_a_weakness_that_few_examples_meet_is_found_and_again_with_the_same_seed(tmp_path: Path) -> None:
    (tmp_path / "test_weak.py").write_text(_WEAK)
    found = [attacked(str(tmp_path), 50, 7).split("short test summary")[0] for _ in range(2)]
    drawn = [[line for line in each.splitlines() if line.startswith("drawn ")] for each in found]
    assert "number=42" in found[0]
    assert drawn[0]
    assert drawn[0] == drawn[1]
