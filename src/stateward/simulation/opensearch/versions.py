"""Versions as the database compares them."""

from functools import cache


@cache
def number(version: str) -> tuple[int, ...]:
    """Return a version as numbers; an invalid version is older than all others."""
    parts = version.split(".")
    return tuple(int(part) for part in parts) if all(part.isdigit() for part in parts) else ()


def older(first: str, second: str) -> bool:
    """Return whether the first version is older than the second."""
    return number(first) < number(second)


def may_join(version: str, others: list[str]) -> bool:
    """Return whether a node may join nodes of these versions: it may not be older than all of them.

    Source: `JoinTaskExecutor.ensureNodesCompatibility`; a refused node stays alive and retries.
    """
    return not others or not all(older(version, other) for other in others)
