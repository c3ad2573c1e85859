"""Which nodes may join, and which of them vote.

The voting configuration changes by itself when nodes join, leave or are excluded. Source of the rules: `Reconfigurator`
and `CoordinationMetadata.VotingConfiguration` of OpenSearch.
"""

from collections.abc import Collection
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


def quorum(configuration: Collection[str], present: Collection[str]) -> bool:
    """Return whether more than half of a configuration is present."""
    return len([v for v in configuration if v in present]) * 2 > len(configuration)


def reconfigure(
    configuration: Collection[str], live: Collection[str], excluded: Collection[str], leader: str
) -> tuple[str, ...]:
    """Return the next voting configuration for the live voting nodes; the present one if it cannot change.

    It has an odd number of nodes if possible, and prefers present members, the leader first. Departed nodes do not
    shrink it below three.
    """
    alive = [node for node in sorted(live) if node not in excluded]
    inside = [node for node in alive if node in configuration]
    inside.sort(key=lambda node: (node != leader, node))
    outside = [node for node in alive if node not in configuration]
    dead = [node for node in sorted(configuration) if node not in live and node not in excluded]
    enforced = 1 if len(inside) + len(dead) < 3 else 3
    size = max(len(alive) - (1 - len(alive) % 2), enforced)
    following = (*inside, *outside, *dead)[:size]
    possible = bool(following) and quorum(following, live)
    return tuple(sorted(following)) if possible else tuple(sorted(configuration))
