"""The roles of database nodes: the meaning of each, and the version that introduced it.

In OpenSearch `master` and `cluster_manager` are one role; Stateward writes the name that the version knows (the new one
since 2.0). Elasticsearch knows `master` only.

Sources: `DiscoveryNodeRole` of OpenSearch 1.x to 3.x and of Elasticsearch 7.17 to 9.x. In OpenSearch there are dynamic
roles, which any plug-in may define, since 2.1 (pull request 3436); `search` since 2.4 (4689), renamed to `warm` in 3.0
(17573), where `search` got a new meaning (17620).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from stateward.api.values.version import Version

MANAGER_ROLES = frozenset({"cluster_manager", "master"})
"""Both names of the role that votes and can be elected."""
VOTING_ONLY = "voting_only"
"""With it a node votes and is never elected; it goes together with `master`, in Elasticsearch."""


@dataclass(frozen=True)
class Roles:
    """The roles that an engine has."""

    manager: str
    """The role that votes and can be elected, as the newest version calls it."""
    data: frozenset[str]
    """Roles whose nodes hold shards."""
    since: Mapping[str, Version]
    """The version in which each role was introduced, in the usual order."""
    aliases: frozenset[str] = frozenset()
    """Other names of roles, which are not proposed."""
    dynamic_since: Version | None = None
    """From this version on a node starts with an unknown role; before, or if this is None, it refuses to start."""
    instead: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a role was called before."""

    def known(self, version: Version) -> list[str]:
        """Return the roles that the version has, in the usual order."""
        return [role for role, since in self.since.items() if since <= version and role not in self.aliases]

    def holds_data(self, roles: Sequence[str] | None) -> bool:
        """Whether nodes with these roles (None: the default roles) may hold shards."""
        return roles is None or not self.data.isdisjoint(roles)


OPENSEARCH_ROLES = Roles(
    manager="cluster_manager",
    data=frozenset({"data", "search", "warm"}),
    since={
        "master": Version(1, 0, 0),
        "cluster_manager": Version(1, 0, 0),
        "data": Version(1, 0, 0),
        "ingest": Version(1, 0, 0),
        "remote_cluster_client": Version(1, 0, 0),
        "ml": Version(2, 1, 0),
        "search": Version(2, 4, 0),
        "warm": Version(3, 0, 0),
    },
    aliases=frozenset({"master"}),
    dynamic_since=Version(2, 1, 0),
    instead={"warm": "search"},
)

_TIERS = ("data_content", "data_hot", "data_warm", "data_cold", "data_frozen")
ELASTICSEARCH_ROLES = Roles(
    manager="master",
    data=frozenset({"data", *_TIERS}),
    since={
        role: Version(0, 0, 0)
        for role in ("master", VOTING_ONLY, "data", *_TIERS, "ingest", "ml", "remote_cluster_client", "transform")
    },
)


def manages(roles: Sequence[str] | None) -> bool:
    """Whether nodes with these roles (None: the default roles) vote."""
    return roles is None or not MANAGER_ROLES.isdisjoint(roles)


def electable(roles: Sequence[str] | None) -> bool:
    """Whether nodes with these roles (None: the default roles) may be elected."""
    return manages(roles) and (roles is None or VOTING_ONLY not in roles)


def similar(role: str, candidates: Iterable[str]) -> str | None:
    """Return the role that was probably meant; None if no role is similar."""
    return next(iter(get_close_matches(role.strip().lower().replace("-", "_"), list(candidates), n=1)), None)
