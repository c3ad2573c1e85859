"""TLS between the processes of a FoundationDB cluster and for its clients: whether it is on, and its certificates.

The decision is made when a cluster is created. Processes with and without TLS do not talk to each other, and the
addresses of the coordinators, which clients have, contain the choice. So an existing cluster keeps it, and a change is
refused.

Members trust certificates of the cluster's authority with one of two names, the members' and the clients'. FoundationDB
compares no host names, so they are not verified.
"""

import hashlib

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.values.base import Json

FOLDER = "/stateward/tls"
"""Folder of the certificates in a pod."""
REFRESH = 10
"""Seconds between the processes' checks for changed certificates; FoundationDB's default is 12 hours."""
VERIFY = "verify_peers"
"""File of the clients' Secret with the rule for trusted server certificates."""


def formed(cluster: FoundationDBCluster) -> bool:
    """Return whether the database was formed, according to the status."""
    grant = cluster.status.bootstrap
    return grant.formed if grant is not None else bool(cluster.status.cluster_uuid)


def may_run_already(cluster: FoundationDBCluster) -> bool:
    """Return whether anything may already run with or without TLS, according to the status."""
    status = cluster.status
    return bool(status.bootstrap is not None or status.cluster_uuid or status.version or status.member_states)


def requested(cluster: FoundationDBCluster) -> bool | None:
    """Return the choice of the spec; None if it leaves it open."""
    return cluster.spec.security.enabled if cluster.spec.security is not None else None


def secured(cluster: FoundationDBCluster) -> bool:
    """Return whether its processes use TLS: as decided at creation, or (before that) as the spec says."""
    known = cluster.status.security
    return known.enabled if known is not None else bool(requested(cluster)) and not may_run_already(cluster)


def refusal(cluster: FoundationDBCluster) -> str | None:
    """Return why the spec's choice of TLS is refused; None if it is not."""
    wanted, now = requested(cluster), secured(cluster)
    if wanted is None or wanted is now:
        return None
    return (
        f"the cluster was created {'with' if now else 'without'} TLS and keeps that: processes with TLS"
        " and those without"
        f" do not talk to each other. Set it to {str(now).lower()}, and take another cluster for what needs the other"
    )


def authority_secret(cluster: FoundationDBCluster) -> str:
    """Return the name of the Secret with the authority; no pod mounts it."""
    return f"{cluster.metadata.name}-ca"


def members_secret(cluster: FoundationDBCluster) -> str:
    """Return the name of the Secret that the members mount."""
    return f"{cluster.metadata.name}-tls"


def client_secret(cluster: FoundationDBCluster) -> str:
    """Return the name of the Secret with the clients' certificate."""
    return f"{cluster.metadata.name}-client-tls"


def member_name(cluster: FoundationDBCluster) -> str:
    """Return the common name of the members' certificates."""
    return f"member.{_mark(cluster)}"


def client_name(cluster: FoundationDBCluster) -> str:
    """Return the common name of the clients' certificate."""
    return f"client.{_mark(cluster)}"


def environment(cluster: FoundationDBCluster) -> list[Json]:
    """Return the environment variables for TLS of server and command line: certificates and trust rules."""
    # Either name is enough: a bar separates alternative rules.
    return _environment(cluster, f"{trust_rule(member_name(cluster))}|{trust_rule(client_name(cluster))}")


def client_environment(cluster: FoundationDBCluster) -> list[Json]:
    """Return the environment variables for TLS of a client: its certificate, and trust in the members alone."""
    return _environment(cluster, trust_rule(member_name(cluster)))


def _environment(cluster: FoundationDBCluster, trusted: str) -> list[Json]:
    if not secured(cluster):
        return []
    values = {
        "FDB_TLS_CERTIFICATE_FILE": f"{FOLDER}/tls.crt",
        "FDB_TLS_KEY_FILE": f"{FOLDER}/tls.key",
        "FDB_TLS_CA_FILE": f"{FOLDER}/ca.crt",
        "FDB_TLS_VERIFY_PEERS": trusted,
    }
    return [{"name": name, "value": value} for name, value in values.items()]


def trust_rule(name: str) -> str:
    """Return the rule that trusts a valid certificate with a common name."""
    return f"S.CN={name}"


def arguments(cluster: FoundationDBCluster) -> list[str]:
    """Return the extra process arguments: a new certificate takes effect within minutes, without a restart."""
    return [f"--knob_tls_cert_refresh_delay_seconds={REFRESH}"] if secured(cluster) else []


def volumes(cluster: FoundationDBCluster) -> list[Json]:
    """Return the volume with the certificates of a member."""
    return _volumes(cluster, members_secret(cluster))


def client_volumes(cluster: FoundationDBCluster) -> list[Json]:
    """Return the volume with the certificate of a client."""
    return _volumes(cluster, client_secret(cluster))


def _volumes(cluster: FoundationDBCluster, secret: str) -> list[Json]:
    source = {"secretName": secret, "defaultMode": 0o440}
    return [{"name": "tls", "secret": source}] if secured(cluster) else []


def mounts(cluster: FoundationDBCluster) -> list[Json]:
    """Return the mounts of the certificates."""
    return [{"name": "tls", "mountPath": FOLDER, "readOnly": True}] if secured(cluster) else []


def _mark(cluster: FoundationDBCluster) -> str:
    """Return a hash that identifies this cluster: a common name is limited to 64 characters."""
    meta = cluster.metadata
    return hashlib.sha256(f"{meta.namespace}/{meta.name}/{meta.uid}".encode()).hexdigest()[:32]
