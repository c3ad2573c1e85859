"""The roles of OpenSearch nodes, and from which version on they exist.

`master` and `cluster_manager` are one role; Stateward writes the name that the version knows (the new one since 2.0).

Sources: `DiscoveryNodeRole` of OpenSearch 1.x to 3.x; dynamic roles, which any plug-in may give a meaning, since 2.1
(OpenSearch pull request 3436); `search` since 2.4 (4689), renamed to `warm` in 3.0 (17573), where `search` got a new
meaning (17620).
"""

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches

from stateward.api.version import Version

MANAGER_ROLES = frozenset({"cluster_manager", "master"})
DATA_ROLES = frozenset({"data", "search", "warm"})
"""Roles whose nodes hold shards."""

SINCE: Mapping[str, Version] = {
    "master": Version(1, 0, 0),
    "cluster_manager": Version(1, 0, 0),
    "data": Version(1, 0, 0),
    "ingest": Version(1, 0, 0),
    "remote_cluster_client": Version(1, 0, 0),
    "ml": Version(2, 1, 0),
    "search": Version(2, 4, 0),
    "warm": Version(3, 0, 0),
}
DYNAMIC_SINCE = Version(2, 1, 0)
"""From here on a node starts with a role it does not know; before, it refuses to start."""
INSTEAD = {"warm": "search"}
"""What a role was called before."""


def manages(roles: Sequence[str] | None) -> bool:
    """Whether nodes with these roles (None: the default roles) may be elected."""
    return roles is None or not MANAGER_ROLES.isdisjoint(roles)


def holds_data(roles: Sequence[str] | None) -> bool:
    """Whether nodes with these roles (None: the default roles) may hold shards."""
    return roles is None or not DATA_ROLES.isdisjoint(roles)


def known(version: Version) -> list[str]:
    """Return the roles that the version has, in the usual order."""
    return [role for role, since in SINCE.items() if since <= version and role != "master"]


def similar(role: str, candidates: Iterable[str]) -> str | None:
    """Return the role that was probably meant; None where nothing is near."""
    return next(iter(get_close_matches(role.strip().lower().replace("-", "_"), list(candidates), n=1)), None)
