"""Runs searches: `python -m tests.unit.operator.installations.search --first 1000 --seeds 500 [--story]`."""

import sys

from tests.unit.operator.installations.search.search import search
from tests.unit.planning.search.command import run_searches

if __name__ == "__main__":
    sys.exit(run_searches("tests.unit.operator.installations.search", lambda seed, _: search(seed), None))
