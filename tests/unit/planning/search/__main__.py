"""Runs searches: `python -m tests.unit.planning.search --first 1000 --seeds 500 [--profile restarts] [--story]`."""

import argparse
import sys

from tests.unit.planning.search.search import Profile, search


def main(arguments: list[str] | None = None) -> int:
    """Run the searches of these numbers; prints what fails, and returns 1 if anything does."""
    parser = argparse.ArgumentParser(prog="python -m tests.unit.planning.search", description=__doc__)
    parser.add_argument("--first", type=int, default=0, help="first number (0)")
    parser.add_argument("--seeds", type=int, default=100, help="how many numbers (100)")
    parser.add_argument("--profile", choices=list(Profile), default=None, help="only this profile")
    parser.add_argument("--story", action="store_true", help="print what happened, not only what is wrong")
    options = parser.parse_args(arguments)
    profiles = [Profile(options.profile)] if options.profile else list(Profile)
    failed = 0
    for seed in range(options.first, options.first + options.seeds):
        for profile in profiles:
            story = search(seed, profile)
            if story:
                failed += 1
                told = story if options.story else story[story.index(f"seed {seed}, profile") :]
                print(told, flush=True)
    print(f"{options.seeds * len(profiles)} searches, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
