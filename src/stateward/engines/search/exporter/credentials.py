"""How the exporter logs in to a secured database: a user and a role of its own, which may read statistics only.

The state is the Secret with the credentials, which no pod mounts. There are two names by turns, so that the next user
works before the exporter's pod has it, and the previous one works until no pod uses it. A password is in the Secret
before the database has it, so a process that dies in between loses none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from stateward.api.kinds.products import ELASTICSEARCH, product_of
from stateward.api.kinds.search import SearchCluster
from stateward.api.values.base import Json
from stateward.engines.search.declared.identity import EXPORTER, EXPORTER_USERS

MARK = "stateward-cluster"
"""Attribute of user and role: the cluster that they were made for, as `NAMESPACE/NAME`.

Not its UID: a cluster that is made again on its kept volumes takes over what its database has.
"""
USER, PASSWORD, MADE = "username", "password", "made-time"
NEXT_USER, NEXT_PASSWORD = "next-username", "next-password"
OLD_USER = "previous-username"
STATISTICS = ("cluster:monitor/health", "cluster:monitor/nodes/stats")
"""The two actions of OpenSearch that the exporter's requests are."""

Texts = Mapping[str, str]


@dataclass(frozen=True)
class Requests:
    """The paths of users and of the role, and their bodies, in one engine."""

    users: str
    roles: str
    elasticsearch: bool

    @property
    def role_path(self) -> str:
        """Return the path of the role."""
        return f"{self.roles}/{EXPORTER}"

    def user_path(self, name: str) -> str:
        """Return the path of a user."""
        return f"{self.users}/{name}"

    def role(self, owner: str) -> Json:
        """Return the role for this cluster, as the database wants it written."""
        if self.elasticsearch:
            return {"cluster": ["monitor"], "metadata": {MARK: owner}}
        return {"cluster_permissions": list(STATISTICS), "description": _description(owner)}

    def user(self, password: str, owner: str) -> Json:
        """Return a user for this cluster, as the database wants it written."""
        if self.elasticsearch:
            return {"password": password, "roles": [EXPORTER], "metadata": {MARK: owner}}
        return {"password": password, "opendistro_security_roles": [EXPORTER], "attributes": {MARK: owner}}

    def is_our_user(self, stored: Json, owner: str) -> bool:
        """Return whether a stored user was made for this cluster."""
        return _marked(stored.get("metadata" if self.elasticsearch else "attributes"), owner)

    def is_our_role(self, stored: Json, owner: str) -> bool:
        """Return whether a stored role was made for this cluster."""
        if self.elasticsearch:
            return _marked(stored.get("metadata"), owner)
        return stored.get("description") == _description(owner)

    def allows(self, stored: Json, owner: str) -> bool:
        """Return whether a stored role gives exactly the rights that it has to give."""
        granted = ("cluster", "indices", "applications", "run_as") if self.elasticsearch else _GRANTED
        wanted = self.role(owner)
        return all((stored.get(key) or []) == wanted.get(key, []) for key in granted)

    def has_role(self, stored: Json) -> bool:
        """Return whether a stored user has exactly the role."""
        if self.elasticsearch:
            return stored.get("roles") == [EXPORTER] and stored.get("enabled", True) is True
        return stored.get("opendistro_security_roles") == [EXPORTER] and not stored.get("backend_roles")


_GRANTED = ("cluster_permissions", "index_permissions", "tenant_permissions")


def requests_of(cluster: SearchCluster) -> Requests:
    """Return the requests for the engine of a cluster."""
    if product_of(cluster) is ELASTICSEARCH:
        return Requests("/_security/user", "/_security/role", elasticsearch=True)
    root = "/_plugins/_security/api"
    return Requests(f"{root}/internalusers", f"{root}/roles", elasticsearch=False)


def next_user(stored: Texts) -> str:
    """Return the name of the next user: the one of the two that is not in use."""
    first, second = EXPORTER_USERS
    return second if stored.get(USER) == first else first


def _description(owner: str) -> str:
    return f"Statistics for the exporter of metrics of Stateward's cluster {owner}"


def _marked(found: object, owner: str) -> bool:
    return isinstance(found, Mapping) and cast("Mapping[str, object]", found).get(MARK) == owner
