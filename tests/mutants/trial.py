"""Trials of changes: each in a copy of the checkout, by the tests nearest to the changed module first."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutants.changes import Change

LONGEST = 1800.0
"""Seconds after which tests of an unchanged copy end."""
ENDLESS = 5
"""A trial ends after so many times what its tests take without a change, and after a minute at least.

A change that makes the tests endless is noticed, too.
"""
NEEDED = ("src", "tests", "charts", "docs", "examples", "sandbox", "bench", "demo", "release", "requirements")
WHOLE = {"src/stateward/operator/clusters": "tests/simulation/test_settled.py"}
"""Rooms that hold the rest together, so that some of their decisions show only in the whole, and a test of it."""
FILES = ("pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "Dockerfile", "LICENSE")


class Copy:
    """A copy of the checkout in which one file at a time is changed."""

    def __init__(self, root: Path, place: Path) -> None:
        for name in NEEDED:
            shutil.copytree(root / name, place / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        for name in FILES:
            shutil.copy(root / name, place / name)
        self._place = place
        self._seconds: dict[tuple[str, ...], float] = {}

    def notices(self, change: Change, chosen: Sequence[str] = ()) -> bool:
        """Return whether a test fails with the change: of those chosen, or else of those nearest.

        Raises RuntimeError if one fails without any change.
        """
        rooms = chosen or nearest(self._place, change.file)
        runs = [(tests, *(f"--ignore={inner}" for inner in rooms[:number])) for number, tests in enumerate(rooms)]
        for words in runs:
            began = time.monotonic()
            if words not in self._seconds and not self._passes(words, LONGEST):
                raise RuntimeError(f"{words[0]} fails in an unchanged copy, so it proves nothing")
            self._seconds.setdefault(words, time.monotonic() - began)
        file = self._place / change.file
        source = file.read_bytes()
        file.write_bytes(change.applied(source))
        try:
            return any(not self._passes(words, max(60.0, ENDLESS * self._seconds[words])) for words in runs)
        finally:
            file.write_bytes(source)

    def _passes(self, tests: Sequence[str], longest: float) -> bool:
        words = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests)
        # Programs that tests start get the changed source, too.
        own = {"PYTHONPATH": f"{self._place / 'src'}:{self._place}", "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                words, cwd=self._place, env={**os.environ, **own}, capture_output=True, timeout=longest, check=False
            )
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0


@contextmanager
def copy(root: Path) -> Generator[Copy]:
    """Make a copy of the checkout, and remove it in the end."""
    with TemporaryDirectory(prefix="stateward-mutants-") as place:
        yield Copy(root, Path(place))


def nearest(root: Path, file: str) -> list[str]:
    """Return the tests for a module: the room that mirrors its own first, those around it, and one of the whole."""
    room = Path("tests/unit") / Path(file).relative_to("src/stateward").parent
    rooms = [room, *room.parents]
    around = [str(folder) for folder in rooms if len(folder.parts) > 2 and (root / folder).is_dir()]
    whole = [tests for room, tests in WHOLE.items() if file.startswith(f"{room}/")]
    return (around or ["tests/unit"]) + whole
