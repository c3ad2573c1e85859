"""Versions of the search engines: which upgrades are possible, and which names a version goes by.

OpenSearch renamed "master" to "cluster manager" in 2.0; nodes of 1.x know only the old names.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

_GRAMMAR = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)", re.ASCII)

MANAGER_ROLES = frozenset({"cluster_manager", "master"})
"""Both names of the role that votes and can be elected."""


class Version(NamedTuple):
    """A version that compares by number."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        """Return the version as the database writes it."""
        return f"{self.major}.{self.minor}.{self.patch}"


STEPPING_STONES = {2: Version(1, 3, 0), 3: Version(2, 19, 0)}
"""The oldest version that can talk to nodes of the next major version.

3.x nodes close the connection of anything older than 2.19.0 ("minimal compatible version is: [2.19.0]"); 2.x is
documented from 1.3 on, and 1.0.0 cannot talk to it at all.
"""


def parse(text: str) -> Version | None:
    """Return the version that a text names; None where it names none."""
    match = _GRAMMAR.fullmatch(text)
    return Version(*(int(part) for part in match.groups())) if match else None


def refuse_upgrade(current: str, target: str) -> str | None:
    """Return why a cluster of version `current` cannot become `target`; None where it can, or nothing runs yet."""
    if not current or current == target:
        return None
    before, after = parse(current), parse(target)
    if before is None or after is None:
        return f"{target if after is None else current!r} is not a version such as 2.19.5"
    if after < before:
        return (
            f"{target} is older than {current}, which the cluster runs:"
            " a database cannot read what a newer version has written"
        )
    if after.major > before.major + 1:
        return (
            f"{target} is more than one major version above {current}:"
            f" go through {before.major + 1}.x first, step by step"
        )
    stone = STEPPING_STONES.get(after.major)
    if after.major > before.major and stone is not None and before < stone:
        return (
            f"nodes of {target} cannot talk to nodes of {current}: upgrade to {stone} or a later {stone.major}.x first"
        )
    return None


def role_name(role: str, version: str) -> str:
    """Return the name by which a version knows a role."""
    if role not in MANAGER_ROLES:
        return role
    return "master" if _speaks_of_masters(version) else "cluster_manager"


def role_names(roles: Iterable[str], version: str) -> list[str]:
    """Return roles by the names that a version knows, each once, in order."""
    return sorted({role_name(role, version) for role in roles})


def initial_nodes_setting(version: str) -> str:
    """Return the setting that names the nodes which form a cluster."""
    old = _speaks_of_masters(version)
    return "cluster.initial_master_nodes" if old else "cluster.initial_cluster_manager_nodes"


def _speaks_of_masters(version: str) -> bool:
    parsed = parse(version)
    return parsed is not None and parsed.major < 2
