"""A crash after every step of a change: `make test` tries every third step, this case tries all of them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.full]

_ROOT = Path(__file__).parents[2]
_PATIENCE = 3600.0
"""Seconds after which the case is given up: it takes ten minutes on a quiet core."""


def test_a_crash_after_any_step_changes_nothing_in_the_end() -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/simulation/seeds/test_exhaustive.py",
    ]
    environment = {**os.environ, "STATEWARD_EXPLORE": "1"}
    ended = subprocess.run(
        command, cwd=_ROOT, env=environment, capture_output=True, text=True, timeout=_PATIENCE, check=False
    )
    assert ended.returncode == 0, f"{ended.stdout[-20_000:]}{ended.stderr[-2000:]}"
