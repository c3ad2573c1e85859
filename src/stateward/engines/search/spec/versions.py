"""Versions of the search engines: which upgrades are possible, and which names a version goes by.

OpenSearch renamed "master" to "cluster manager" in 2.0; nodes of 1.x know only the old names. Elasticsearch keeps them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from stateward.api.values.version import Version, parse_version

MANAGER_ROLES = frozenset({"cluster_manager", "master"})
"""Both names of the role that votes and can be elected."""


@dataclass(frozen=True)
class Lineage:
    """How the versions of one engine follow each other."""

    example: str
    """A version that there is."""
    renamed: int | None = None
    """The major version from which on masters are called cluster managers; None where they never are."""
    stones: Mapping[int, Version] = field(default_factory=dict[int, Version])
    """By major version, the oldest version whose nodes and data it can go on with."""

    def refuse_upgrade(self, current: str, target: str) -> str | None:
        """Return why a cluster of version `current` cannot become `target`; None where it can, or nothing runs yet."""
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
        """Return the name by which a version knows a role."""
        if role not in MANAGER_ROLES:
            return role
        return "master" if self._speaks_of_masters(version) else "cluster_manager"

    def role_names(self, roles: Iterable[str], version: str) -> list[str]:
        """Return roles by the names that a version knows, each once, in order."""
        return sorted({self.role_name(role, version) for role in roles})

    def initial_nodes_setting(self, version: str) -> str:
        """Return the setting that names the nodes which form a cluster."""
        old = self._speaks_of_masters(version)
        return "cluster.initial_master_nodes" if old else "cluster.initial_cluster_manager_nodes"

    def _speaks_of_masters(self, version: str) -> bool:
        parsed = parse_version(version)
        return self.renamed is None or (parsed is not None and parsed.major < self.renamed)
