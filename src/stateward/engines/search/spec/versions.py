"""Versions of the search engines: the possible upgrades, and the names in each version.

OpenSearch renamed "master" to "cluster manager" in 2.0; nodes of 1.x know only the old names. Elasticsearch keeps them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stateward.api.values.version import Version, parse_version

MANAGER_ROLES = frozenset({"cluster_manager", "master"})
"""Both names of the role that votes and can be elected."""


@dataclass(frozen=True)
class Lineage:
    """The order and compatibility of the versions of one engine."""

    example: str
    """An existing version, for messages."""
    renamed: int | None = None
    """The first major version that calls masters cluster managers; None if there is none."""
    stones: Mapping[int, Version] = field(default_factory=dict[int, Version])
    """By major version, the oldest version with compatible nodes and data."""

    def refuse_upgrade(self, current: str, target: str) -> str | None:
        """Return why a cluster cannot upgrade from `current` to `target`; None if it can, or if nothing runs yet."""
        if not current or current == target:
            return None
        before, after = parse_version(current), parse_version(target)
        if before is None or after is None:
            return f"{target if after is None else current!r} is not a version such as {self.example}"
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
        stone = self.stones.get(after.major)
        if after.major > before.major and stone is not None and before < stone:
            return (
                f"nodes of {target} cannot talk to nodes of {current}:"
                f" upgrade to {stone} or a later {stone.major}.x first"
            )
        return None

    def role_name(self, role: str, version: str) -> str:
        """Return the name of a role in a version."""
        if role not in MANAGER_ROLES:
            return role
        return "master" if self._speaks_of_masters(version) else "cluster_manager"

    def role_names(self, roles: Iterable[str], version: str) -> list[str]:
        """Return the role names in a version, sorted and without duplicates."""
        return sorted({self.role_name(role, version) for role in roles})

    def initial_nodes_setting(self, version: str) -> str:
        """Return the setting that names the nodes that form a cluster."""
        old = self._speaks_of_masters(version)
        return "cluster.initial_master_nodes" if old else "cluster.initial_cluster_manager_nodes"

    def _speaks_of_masters(self, version: str) -> bool:
        parsed = parse_version(version)
        return self.renamed is None or (parsed is not None and parsed.major < self.renamed)
