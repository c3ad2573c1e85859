"""Trials of changes: each in a copy of the checkout, by the tests nearest to the changed module first."""

import os
import shutil
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutants.changes import Change

LONGEST = 300.0
"""Seconds after which a trial ends; a change that makes the tests endless is noticed, too."""
NEEDED = ("src", "tests", "charts", "docs", "examples", "sandbox", "bench", "demo", "release", "requirements")
FILES = ("pyproject.toml", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "Makefile", "Dockerfile", "LICENSE")


class Copy:
    """A copy of the checkout in which one file at a time is changed."""

    def __init__(self, root: Path, place: Path) -> None:
        for name in NEEDED:
            shutil.copytree(root / name, place / name, ignore=shutil.ignore_patterns("__pycache__", "node_modules"))
        for name in FILES:
            shutil.copy(root / name, place / name)
        self._place = place
        self._green: set[str] = set()

    def notices(self, change: Change, chosen: Sequence[str] = ()) -> bool:
        """Return whether a test fails with the change: of those chosen, or else of those nearest.

        Raises RuntimeError if one fails without any change.
        """
        rooms = chosen or nearest(self._place, change.file)
        for tests in rooms:
            if tests not in self._green and not self._passes(tests):
                raise RuntimeError(f"{tests} fails in an unchanged copy, so it proves nothing")
            self._green.add(tests)
        file = self._place / change.file
        source = file.read_bytes()
        file.write_bytes(change.applied(source))
        try:
            return any(not self._passes(tests) for tests in rooms)
        finally:
            file.write_bytes(source)

    def _passes(self, tests: str) -> bool:
        words = (sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", tests)
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        try:
            done = subprocess.run(
                words, cwd=self._place, env=environment, capture_output=True, timeout=LONGEST, check=False
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
    """Return folders of tests for a module, the room that mirrors its own first, then those around it."""
    room = Path("tests/unit") / Path(file).relative_to("src/stateward").parent
    rooms = [room, *room.parents]
    around = [str(folder) for folder in rooms if len(folder.parts) > 2 and (root / folder).is_dir()]
    return around or ["tests/unit"]
