"""The command of a random search: runs the searches of some numbers, and prints what fails."""

import argparse
from collections.abc import Callable, Sequence


def run_searches(
    name: str,
    search: Callable[[int, str], str],
    arguments: Sequence[str] | None,
    profiles: Sequence[str] = (),
) -> int:
    """Run searches, each with every profile; print what fails, and return 1 if anything does.

    `search` returns the story of a search of a number and a profile, or nothing if nothing is wrong. What is wrong
    begins with a line that begins with `seed` and the number.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {name}", description="Run random searches.")
    parser.add_argument("--first", type=int, default=0, help="first number (0)")
    parser.add_argument("--seeds", type=int, default=100, help="how many numbers (100)")
    if profiles:
        parser.add_argument("--profile", choices=profiles, default=None, help="only this profile")
    parser.add_argument("--story", action="store_true", help="print what happened, not only what is wrong")
    options = parser.parse_args(arguments)
    chosen = [options.profile] if profiles and options.profile else profiles or [""]
    failed = 0
    for seed in range(options.first, options.first + options.seeds):
        for profile in chosen:
            story = search(seed, profile)
            if story:
                failed += 1
                print(story if options.story else story[story.index(f"seed {seed}") :], flush=True)
    print(f"{options.seeds * len(chosen)} searches, {failed} failed")
    return 1 if failed else 0
