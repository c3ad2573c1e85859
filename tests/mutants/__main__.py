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
NOTICED, NOT_NOTICED = "noticed    ", "NOT NOTICED"
ROOMS = ("src/stateward/planning", "src/stateward/operator")


def main(words: Sequence[str]) -> int:
    """Try changes until the time is over; return 1 if a change was not noticed."""
    chosen = parser().parse_args(words)
    again = chosen.again.read_text() if chosen.again else ""
    found = [change for room in chosen.rooms for change in in_room(ROOT / room) if change.key not in EQUIVALENT]
    found = [change for change in found if not again or f"{NOT_NOTICED} {change.key}\n" in again]
    order = random.Random(chosen.seed)  # noqa: S311 - a sample that can be repeated
    order.shuffle(found)
    print(f"{len(found)} decisions; a sample by seed {chosen.seed} for {chosen.minutes:g} minutes")
    noticed, survivors = attempts(found[: chosen.number], chosen)
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
    words.add_argument("--again", type=Path, metavar="FILE", help="only those that the output in FILE says survived")
    words.add_argument("--tests", nargs="*", default=[], metavar="PATH", help="run these, not the nearest unit tests")
    return words


def in_room(place: Path) -> list[Change]:
    """Return the changes of a file, or of all files in a folder."""
    files = [place] if place.is_file() else sorted(place.rglob("*.py"))
    return [change for file in files for change in changes(ROOT, file)]


def attempts(found: Sequence[Change], chosen: argparse.Namespace) -> tuple[int, list[Change]]:
    """Try changes; return how many were noticed, and those that were not."""
    end = time.monotonic() + chosen.minutes * 60
    with ExitStack() as stack, ThreadPoolExecutor(chosen.jobs) as pool:
        free: SimpleQueue[Copy] = SimpleQueue()
        for _ in range(chosen.jobs):
            free.put(stack.enter_context(copy(ROOT)))

        def attempt(change: Change) -> bool | None:
            if time.monotonic() > end:
                return None
            place = free.get()
            try:
                noticed = place.notices(change, chosen.tests)
            finally:
                free.put(place)
            print(NOTICED if noticed else NOT_NOTICED, change.key, flush=True)
            return noticed

        results = list(pool.map(attempt, found))
    survivors = [change for change, noticed in zip(found, results, strict=True) if noticed is False]
    return results.count(True), survivors


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
