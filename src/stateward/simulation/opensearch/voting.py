"""Automatic changes of the voting configuration when nodes join, leave or are excluded.

Source of the rules: `Reconfigurator` and `CoordinationMetadata.VotingConfiguration` of OpenSearch.
"""

from collections.abc import Collection


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
