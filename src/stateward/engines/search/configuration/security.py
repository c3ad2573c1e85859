"""A secured member's configuration: TLS on both layers, the identities of members and operator, the first user.

It covers OpenSearch's plugin, and what Elasticsearch has in common with it; the rest of Elasticsearch is in `xpack`.

Members trust each other by a common name that only certificates of this cluster carry, signed by an authority of the
cluster. Members do not verify each other's host names: pod addresses are reused and have no lasting names. Clients and
the operator verify the name of the cluster's Service.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

from stateward.api.kinds.security import Security
from stateward.api.values.version import parse_version
from stateward.engines.search.configuration import xpack
from stateward.engines.search.spec.consent import Place, admitted, place_of
from stateward.engines.search.spec.flavor import SearchCluster, Shield
from stateward.engines.search.spec.identity import cluster_name
from stateward.engines.search.spec.pools import ResolvedPool
from stateward.engines.search.spec.probes import Question
from stateward.planning.model.security import CERTIFICATES

SWITCH = "security"
"""Configuration file that tells the start script that the member is secured."""
USERS = "internal_users.yml"
TOGETHER = "security"
"""The input for security: secured and unsecured members cannot talk to each other."""
GUESTS = "remoteAccess"
"""The input for the members of other clusters that OpenSearch's plugin accepts as members: only a start reads them."""
FOLDER = "tls"
"""Folder of the certificates, relative to the configuration."""
HEALTH = "/_plugins/_security/health"
"""Open to every caller: whether the plugin has read its users, which is possible once the node has joined."""
RELOADS = (2, 19)
"""The first version that checks for changed certificates itself, every five seconds."""

NO_USERS = '_meta:\n  type: "internalusers"\n  config_version: 2\n'
"""The initial users of the security index: none. Those of the image are for demonstration, with known passwords."""


def secured(cluster: SearchCluster) -> bool:
    """Return whether a cluster must be secured: as its spec says, otherwise as it is now."""
    asked = cluster.spec.security.enabled if cluster.spec.security is not None else None
    if asked is not None:
        return asked
    return cluster.status.security is not None and cluster.status.security.enabled


def reloads_certificates(version: str) -> bool:
    """Return whether nodes of an OpenSearch version reload new certificates without a restart."""
    parsed = parse_version(version)
    return parsed is not None and parsed[:2] >= RELOADS


def member_name(cluster: SearchCluster) -> str:
    """Return the common name of the members' certificates."""
    return member_name_at(place_of(cluster))


def member_name_at(place: Place) -> str:
    """Return the common name of the certificates of members of the cluster at a place."""
    return f"member.{_mark(f'{place.namespace}.{place.name}')}"


def operator_name(cluster: SearchCluster) -> str:
    """Return the common name of the operator's certificate."""
    return f"operator.{_mark(cluster_name(cluster))}"


def service_name(cluster: SearchCluster) -> str:
    """Return the DNS name by which clients and the operator verify the database."""
    return f"{cluster.metadata.name}.{cluster.metadata.namespace}.svc"


def alternatives(cluster: SearchCluster) -> tuple[str, ...]:
    """Return the names and addresses at which clients may reach a member."""
    name, namespace = cluster.metadata.name, cluster.metadata.namespace
    services = (name, f"{name}-members", f"{name}-discovery")
    short = [alias for service in services for alias in (service, f"{service}.{namespace}")]
    full = [f"{service}.{namespace}.svc" for service in services]
    pods = f"*.{name}-members.{namespace}.svc"
    local = [f"{each}.cluster.local" for each in (*full, pods)]
    return (*short, *full, pods, *local, "localhost", "127.0.0.1", "::1")


def authority_secret(cluster: SearchCluster) -> str:
    """Return the name of the Secret with the authority; no pod mounts it."""
    return f"{cluster.metadata.name}-ca"


def members_secret(cluster: SearchCluster) -> str:
    """Return the name of the Secret that the members mount."""
    return f"{cluster.metadata.name}-tls"


def operator_secret(cluster: SearchCluster) -> str:
    """Return the name of the Secret with the operator's client certificate."""
    return f"{cluster.metadata.name}-operator-tls"


def administrator_secret(cluster: SearchCluster) -> str:
    """Return the name of the Secret with the first administrator's credentials."""
    return (cluster.spec.security or Security()).admin_secret_name or f"{cluster.metadata.name}-admin"


def files(pool: ResolvedPool) -> dict[str, str]:
    """Return the files of a secured member besides its settings."""
    if not secured(pool.cluster):
        return {}
    return {SWITCH: "on\n", **({USERS: NO_USERS} if uses_plugin(pool) else {xpack.ROLES_FILE: xpack.ROLES})}


def uses_plugin(pool: ResolvedPool) -> bool:
    """Return whether members of a pool are secured by OpenSearch's plugin."""
    return pool.flavor.shield is Shield.PLUGIN and secured(pool.cluster)


def question(pool: ResolvedPool) -> Question:
    """Return the requests that show whether a member is alive and whether it serves."""
    if uses_plugin(pool):
        return Question(f"{HEALTH}?mode=lenient", HEALTH, "https")
    return xpack.QUESTION if secured(pool.cluster) else Question(pool.flavor.alive)


def inputs(pool: ResolvedPool, version: str) -> Iterator[tuple[str, Any]]:
    """Yield the inputs of a secured member; nothing for an unsecured one."""
    if not secured(pool.cluster):
        return
    yield TOGETHER, True
    if admits := guests(pool):
        yield GUESTS, admits
    status = pool.cluster.status.security
    if uses_plugin(pool) and status is not None and status.certificates_digest and not reloads_certificates(version):
        yield CERTIFICATES, status.certificates_digest


def guests(pool: ResolvedPool) -> list[str]:
    """Return the exact names of the members of other clusters that may search this one; for OpenSearch's plugin."""
    return [f"CN={member_name_at(place)}" for place in sorted(admitted(pool.cluster))] if uses_plugin(pool) else []


def settings(pool: ResolvedPool, version: str) -> dict[str, Any]:
    """Return the security settings that Stateward owns; empty if the cluster is not secured."""
    if not uses_plugin(pool):
        return xpack.settings(FOLDER) if secured(pool.cluster) else {}
    return {
        **_layer("transport", "tls"),
        **_layer("http", "http"),
        "plugins.security.ssl.transport.enforce_hostname_verification": False,
        "plugins.security.ssl.transport.resolve_hostname": False,
        "plugins.security.ssl.http.enabled": True,
        "plugins.security.ssl.http.clientauth_mode": "OPTIONAL",
        "plugins.security.nodes_dn": [f"CN={member_name(pool.cluster)}", *guests(pool)],
        "plugins.security.authcz.admin_dn": [f"CN={operator_name(pool.cluster)}"],
        "plugins.security.allow_default_init_securityindex": True,
        **(_RELOAD if reloads_certificates(version) else {}),
    }


def defaults(pool: ResolvedPool) -> dict[str, Any]:
    """Return the settings of a secured member that users may override."""
    roles = ["all_access", "security_rest_api_access"]
    return {"plugins.security.restapi.roles_enabled": roles} if uses_plugin(pool) else {}


_RELOAD = {
    "plugins.security.ssl.certificates_hot_reload.enabled": True,
    # A user's certificate may have another issuer next time; the operator checks its purpose before it distributes it.
    "plugins.security.ssl.http.enforce_cert_reload_dn_verification": False,
    "plugins.security.ssl.transport.enforce_cert_reload_dn_verification": False,
}


def _layer(layer: str, pair: str) -> dict[str, str]:
    prefix = f"plugins.security.ssl.{layer}"
    return {
        f"{prefix}.pemcert_filepath": f"{FOLDER}/{pair}.crt",
        f"{prefix}.pemkey_filepath": f"{FOLDER}/{pair}.key",
        f"{prefix}.pemtrustedcas_filepath": f"{FOLDER}/ca.crt",
    }


def _mark(name: str) -> str:
    """Return a hash that identifies the cluster with a name of nodes: a common name is limited to 64 characters."""
    return hashlib.sha256(name.encode()).hexdigest()[:32]
