"""Versions of the search engines: the possible upgrades, and the names in each version.

OpenSearch renamed "master" to "cluster manager" in 2.0; nodes of 1.x know only the old names. Elasticsearch keeps them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from stateward.api.values.version import Version, parse_version

MANAGER_ROLES = frozenset({"cluster_manager", "master"})
"""Both names of the role that votes and can be elected."""
_DIGITS = 10
"""Of the largest number of a version."""


@dataclass(frozen=True)
class Numbering:
    """How an engine writes versions as numbers: 8172099 is 8.17.20."""

    mark: int = 0
    """A bit that the engine sets in its own numbers. Numbers without it are of what was before its version 1."""

    def major(self, number: str) -> int | None:
        """Return the major version of a number; None for something else. What was before version 1 counts as 1."""
        if not number.isdecimal() or not number.isascii() or len(number) > _DIGITS:
            return None
        value = int(number)
        if self.mark and not value & self.mark:
            return 1
        return (value ^ self.mark) // 1_000_000


@dataclass(frozen=True)
class Gate:
    """How a cluster comes into a major version: the versions of the one before whose nodes and data are compatible."""

    first: Version
    """The first version that this is about; a later gate of the same major version ends it."""
    oldest: Version
    beyond: Version | None = None
    """The first version of the major version before that is too new; None if there is none."""
    instead: str = ""
    """Which versions take what is too new for these."""


@dataclass(frozen=True)
class Lineage:
    """The order and compatibility of the versions of one engine."""

    example: str
    """An existing version, for messages."""
    renamed: int | None = None
    """The first major version that calls masters cluster managers; None if there is none."""
    numbering: Numbering = Numbering()
    gates: Sequence[Gate] = ()
    """In the order of the versions that they are about."""

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
        return self._refuse_gate(before, after) if after.major > before.major else None

    def _refuse_gate(self, before: Version, after: Version) -> str | None:
        """Return why the next major version cannot be reached from a version of the one before."""
        gate = next((g for g in reversed(self.gates) if g.first.major == after.major and g.first <= after), None)
        if gate is None:
            return None
        if before < gate.oldest:
            limit = f", earlier than {gate.beyond}," if gate.beyond is not None else ""
            return (
                f"nodes of {after} cannot talk to nodes of {before}:"
                f" upgrade to {gate.oldest} or a later {gate.oldest.major}.x{limit} first"
            )
        if gate.beyond is not None and before >= gate.beyond:
            return f"{after} does not know all that {before} writes: upgrade to {gate.instead} instead"
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
