"""`python -m tests.mutants`: breaks a sample of the decisions of planning and operator, and lists those not noticed."""

import argparse
import random
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import SimpleQueue

from tests.mutants.changes import Change, changes
from tests.mutants.equivalent import EQUIVALENT
from tests.mutants.trial import Copy, copy

ROOT = Path(__file__).parents[2]
ROOMS = ("src/stateward/planning", "src/stateward/operator")


def main(words: Sequence[str]) -> int:
    """Try changes until the time is over; return 1 if a change was not noticed."""
    chosen = parser().parse_args(words)
    found = [change for room in chosen.rooms for change in in_room(ROOT / room) if change.key not in EQUIVALENT]
    order = random.Random(chosen.seed)  # noqa: S311 - a sample that can be repeated
    order.shuffle(found)
    print(f"{len(found)} decisions; a sample by seed {chosen.seed} for {chosen.minutes:g} minutes")
    noticed, survivors = attempts(found[: chosen.number], chosen.minutes * 60, chosen.jobs)
    print(f"{noticed + len(survivors)} tried, {len(survivors)} not noticed")
    return 1 if survivors else 0


def parser() -> argparse.ArgumentParser:
    """Return what can be said on the command line."""
    words = argparse.ArgumentParser("python -m tests.mutants", description=__doc__)
    words.add_argument("rooms", nargs="*", default=list(ROOMS), metavar="PATH", help="files or folders of the source")
    words.add_argument("--seed", type=int, default=0, help="of the sample")
    words.add_argument("--minutes", type=float, default=5.0, help="no trial begins after that time")
    words.add_argument("--number", type=int, default=None, help="how many changes at most")
    words.add_argument("--jobs", type=int, default=2, help="trials at once")
    return words


def in_room(place: Path) -> list[Change]:
    """Return the changes of a file, or of all files in a folder."""
    files = [place] if place.is_file() else sorted(place.rglob("*.py"))
    return [change for file in files for change in changes(ROOT, file)]


def attempts(found: Sequence[Change], seconds: float, jobs: int) -> tuple[int, list[Change]]:
    """Try changes; return how many were noticed, and those that were not."""
    end = time.monotonic() + seconds
    with ExitStack() as stack, ThreadPoolExecutor(jobs) as pool:
        free: SimpleQueue[Copy] = SimpleQueue()
        for _ in range(jobs):
            free.put(stack.enter_context(copy(ROOT)))

        def attempt(change: Change) -> bool | None:
            if time.monotonic() > end:
                return None
            place = free.get()
            try:
                noticed = place.notices(change)
            finally:
                free.put(place)
            told = f"{change.file}:{change.line} in {change.function}: {change.before}  ->  {change.after}"
            print("noticed    " if noticed else "NOT NOTICED", told, flush=True)
            return noticed

        results = list(pool.map(attempt, found))
    survivors = [change for change, noticed in zip(found, results, strict=True) if noticed is False]
    return results.count(True), survivors


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
