"""Teams: sets of fault domains that hold copies of the same data.

The database does not report its teams. It builds five for each storage server, and more often than not any two fault
domains of a small database share one. So all combinations are teams as long as they are not more than that.
"""

from collections.abc import Sequence
from itertools import combinations
from math import comb

PER_DOMAIN = 5
"""Teams for each fault domain. Source: `DESIRED_TEAMS_PER_SERVER` of FoundationDB."""

Team = tuple[str, ...]


def teams(domains: Sequence[str], copies: int) -> list[Team]:
    """Return the teams of some fault domains, each sorted: all combinations, or an even choice of them."""
    names = sorted(domains)
    if len(names) <= copies:
        return [tuple(names)] if names else []
    if comb(len(names), copies) <= PER_DOMAIN * len(names):
        return list(combinations(names, copies))
    return even(names, copies)


def even(names: Sequence[str], copies: int) -> list[Team]:
    """Return teams in which each fault domain is equally often, with as many different partners as possible."""
    count = len(names)
    patterns = list(combinations(range(1, count // 2 + 1 if copies == 2 else count), copies - 1))
    chosen = [patterns[i * len(patterns) // PER_DOMAIN] for i in range(min(PER_DOMAIN, len(patterns)))]
    found = dict.fromkeys(
        tuple(sorted([names[i], *(names[(i + step) % count] for step in pattern)]))
        for pattern in chosen
        for i in range(count)
    )
    return list(found)
