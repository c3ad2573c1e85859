"""How the exporter logs in to a secured database: a user and a role of its own, which may read statistics only.

The state is the Secret with the credentials, which no pod mounts. There are two names by turns, so that the next user
works before the exporter's pod has it, and the previous one works until no pod uses it. The name of a user is in the
Secret before the database has the user, so a Secret without any says that the database has none.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from stateward.api.kinds.products import ELASTICSEARCH, product_of
from stateward.api.kinds.search import SearchCluster
from stateward.api.values.base import Json
from stateward.engines.search.declared.identity import EXPORTER, EXPORTER_USERS

MARK = "stateward-cluster"
"""Attribute of user and role: the UID of the cluster that they were made for."""
USER, PASSWORD, MADE = "username", "password", "made-time"
NEXT_USER, NEXT_PASSWORD = "next-username", "next-password"
OLD_USER = "previous-username"
CREDENTIALS = (USER, PASSWORD, MADE, NEXT_USER, NEXT_PASSWORD, OLD_USER)
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

    def role(self, uid: str) -> Json:
        """Return the role for the cluster with this UID, as the database wants it written."""
        if self.elasticsearch:
            return {"cluster": ["monitor"], "metadata": {MARK: uid}}
        return {"cluster_permissions": list(STATISTICS), "description": _description(uid)}

    def user(self, password: str, uid: str) -> Json:
        """Return a user for the cluster with this UID, as the database wants it written."""
        if self.elasticsearch:
            return {"password": password, "roles": [EXPORTER], "metadata": {MARK: uid}}
        return {"password": password, "opendistro_security_roles": [EXPORTER], "attributes": {MARK: uid}}

    def is_our_user(self, stored: Json, uid: str) -> bool:
        """Return whether a stored user was made for the cluster with this UID."""
        return _marked(stored.get("metadata" if self.elasticsearch else "attributes"), uid)

    def is_our_role(self, stored: Json, uid: str) -> bool:
        """Return whether a stored role was made for the cluster with this UID."""
        if self.elasticsearch:
            return _marked(stored.get("metadata"), uid)
        return stored.get("description") == _description(uid)

    def allows(self, stored: Json, uid: str) -> bool:
        """Return whether a stored role gives exactly the rights that it has to give."""
        granted = ("cluster", "indices", "applications", "run_as") if self.elasticsearch else _GRANTED
        wanted = self.role(uid)
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


def has_credentials(stored: Texts) -> bool:
    """Return whether the database may have something that was made for the exporter."""
    return any(name in stored for name in CREDENTIALS)


def _description(uid: str) -> str:
    return f"Statistics for the exporter of metrics of Stateward's cluster {uid}"


def _marked(found: object, uid: str) -> bool:
    return isinstance(found, Mapping) and cast("Mapping[str, object]", found).get(MARK) == uid
