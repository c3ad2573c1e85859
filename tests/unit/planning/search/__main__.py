"""Runs searches: `python -m tests.unit.planning.search --first 1000 --seeds 500 [--profile restarts] [--story]`."""

import sys

from tests.unit.planning.search.command import run_searches
from tests.unit.planning.search.search import Profile, search


def main(arguments: list[str] | None = None) -> int:
    """Run the searches of these numbers; prints what fails, and returns 1 if anything does."""
    return run_searches(
        "tests.unit.planning.search", lambda seed, profile: search(seed, Profile(profile)), arguments, list(Profile)
    )


if __name__ == "__main__":
    sys.exit(main())
