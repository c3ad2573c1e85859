"""The settings of the configuration file: nested or dotted, and those that Stateward owns, each with the reason.

A setting is owned if a user's value would break a promise: the member would not find its data, join another cluster,
form a second one, or be taken for another member.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

LONGEST_NAME = 255
"""Characters of the name of a setting; those of the databases have at most a hundred."""
TOO_LONG = f"must have a name of at most {LONGEST_NAME} characters"
PLAIN_NAME = re.compile(r"[\w$]([\w$.:/@*+-]*[\w$./@*+-])?")
"""Names that YAML reads as they are written. Some have colons, such as `uiSettings.overrides.theme:darkMode`.

The disaster this prevents: the name `cluster.initial_master_nodes` with a space or in quotes is not that of an owned
setting, the database reads it as one, and members form a second cluster.
"""
NOT_PLAIN = "must have a name of letters, digits and . _ - : / @ * + $, without spaces, quotes and lines"


class Shape(StrEnum):
    """How people write the value of a setting."""

    SCALAR = "scalar"
    FLAG = "flag"
    LIST = "list"


@dataclass(frozen=True)
class Owned:
    """Why a setting is Stateward's, and what to use instead."""

    reason: str
    shape: Shape = Shape.SCALAR


_ADDRESS = "Stateward binds every member to the address of its pod; use spec.service to reach the cluster elsewhere"
_PORT = "the ports are fixed (9200 and 9300), as Services, probes and budgets depend on them; use spec.service"
_DISCOVERY = "members find each other through a seed-hosts file that follows the pods"
_BOOTSTRAP = "Stateward forms a cluster exactly once, so that it can never split into two"
_ROLES = "use spec.pools[].roles"
_PATH = "it is the mount of the member's volume; use spec.pools[].storage or podTemplate"
_SECURITY = "use spec.security, which switches TLS and users on or off on all members together"
_CERTIFICATES = "use spec.security, with which Stateward creates, renews and reloads the certificates"
_TRUST = "members and the operator authenticate each other with the certificates that Stateward creates"
_ALLOCATION = "Stateward changes it around restarts and must be able to restore it"

OWNED: Mapping[str, Owned] = {
    "cluster.name": Owned("it is the name of the resource (metadata.name)"),
    "node.name": Owned("it is the name of the member, which the operator uses to move shards away"),
    "node.roles": Owned(_ROLES, Shape.LIST),
    "node.master": Owned(_ROLES, Shape.FLAG),
    "node.data": Owned(_ROLES, Shape.FLAG),
    "node.ingest": Owned(_ROLES, Shape.FLAG),
    "node.remote_cluster_client": Owned(_ROLES, Shape.FLAG),
    "network.host": Owned(_ADDRESS),
    "network.bind_host": Owned(_ADDRESS),
    "network.publish_host": Owned(_ADDRESS),
    "http.port": Owned(_PORT),
    "transport.port": Owned(_PORT),
    "path.data": Owned(_PATH),
    "path.logs": Owned("logs go to the console, where Kubernetes keeps them"),
    "discovery.type": Owned(_DISCOVERY),
    "discovery.seed_hosts": Owned(_DISCOVERY, Shape.LIST),
    "discovery.seed_providers": Owned(_DISCOVERY),
    "cluster.initial_cluster_manager_nodes": Owned(_BOOTSTRAP, Shape.LIST),
    "cluster.initial_master_nodes": Owned(_BOOTSTRAP, Shape.LIST),
    "cluster.routing.allocation.enable": Owned(_ALLOCATION),
    "plugins.security.disabled": Owned(_SECURITY, Shape.FLAG),
}
"""The owned settings that people write most; the API server refuses them in their dotted form."""

FAMILIES: Mapping[str, str] = {
    "discovery.": _DISCOVERY,
    "http.bind_host": _ADDRESS,
    "http.host": _ADDRESS,
    "http.publish_": _ADDRESS,
    "transport.bind_host": _ADDRESS,
    "transport.host": _ADDRESS,
    "transport.publish_": _ADDRESS,
    "transport.tcp.port": _PORT,
    "cluster.routing.allocation.exclude._name": _ALLOCATION,
    "plugins.security.ssl.": _CERTIFICATES,
    "plugins.security.ssl_": _CERTIFICATES,
    "plugins.security.nodes_dn": _TRUST,
    "plugins.security.authcz.admin_dn": _TRUST,
    "plugins.security.allow_default_init_securityindex": _SECURITY,
    "plugins.security.allow_unsafe_democertificates": _CERTIFICATES,
    "xpack.security.enabled": _SECURITY,
    "xpack.security.transport.ssl.": _CERTIFICATES,
    "xpack.security.http.ssl.": _CERTIFICATES,
    "xpack.security.authc.anonymous.": "probes use anonymous requests, which may do nothing else",
}
"""Further owned settings, by the beginning of their name."""


def reason_owned(key: str) -> str | None:
    """Return why Stateward owns a dotted key; None if users may set it."""
    return reason_in(key, OWNED, FAMILIES)


def reason_in(key: str, settings: Mapping[str, Owned], families: Mapping[str, str]) -> str | None:
    """Return why a dotted key is owned, by a table of settings and one of beginnings; None if it is in neither."""
    for name, owned in settings.items():
        if key == name or key.startswith(f"{name}."):
            return owned.reason
    return next((reason for family, reason in families.items() if key.startswith(family)), None)


def flatten(config: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every setting by its dotted key; a setting in both forms comes twice.

    Objects below a name that is longer than a setting's stay whole: each value in them would repeat that name.
    """
    for key, value in config.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping) and value and len(name) <= LONGEST_NAME:
            yield from flatten(value, f"{name}.")  # pyright: ignore[reportUnknownArgumentType]
        else:
            yield name, value
