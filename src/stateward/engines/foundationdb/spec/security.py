"""TLS between the processes of a FoundationDB cluster and for its clients: whether it is on, and by which certificates.

It is decided when a cluster is made. Processes with TLS and those without do not talk to each other, and the addresses
of the coordinators, which clients have, say which it is. So a cluster that is there keeps what it has, and a change is
refused.

Members trust certificates of the cluster's authority with one of two names, the members' and the clients'. Names of
hosts are not verified: FoundationDB compares none.
"""

import hashlib

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.values.base import Json

FOLDER = "/stateward/tls"
"""Where the certificates are in a pod."""
REFRESH = 10
"""Seconds after which processes look again whether their certificates have changed; FoundationDB's own are 12 hours."""
VERIFY = "verify_peers"
"""File of the clients' Secret that says which certificates of servers are to be believed."""


def formed(cluster: FoundationDBCluster) -> bool:
    """Return whether the database was made, as far as the status remembers."""
    grant = cluster.status.bootstrap
    return grant.formed if grant is not None else bool(cluster.status.cluster_uuid)


def begun(cluster: FoundationDBCluster) -> bool:
    """Return whether there is anything of it that runs with TLS or without, as far as the status knows."""
    status = cluster.status
    return bool(status.bootstrap is not None or status.cluster_uuid or status.version or status.member_states)


def asked(cluster: FoundationDBCluster) -> bool | None:
    """Return what the spec says; None where it leaves it open."""
    return cluster.spec.security.enabled if cluster.spec.security is not None else None


def secured(cluster: FoundationDBCluster) -> bool:
    """Return whether its processes talk with TLS: as it was begun, or (before that) as the spec says."""
    known = cluster.status.security
    return known.enabled if known is not None else bool(asked(cluster)) and not begun(cluster)


def refused(cluster: FoundationDBCluster) -> str | None:
    """Return why the spec's word on TLS is not obeyed; None where it is."""
    wanted, now = asked(cluster), secured(cluster)
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
    """Return the name of the Secret by which clients get in."""
    return f"{cluster.metadata.name}-client-tls"


def member_name(cluster: FoundationDBCluster) -> str:
    """Return the common name of the members' certificates."""
    return f"member.{_mark(cluster)}"


def client_name(cluster: FoundationDBCluster) -> str:
    """Return the common name of the clients' certificate."""
    return f"client.{_mark(cluster)}"


def environment(cluster: FoundationDBCluster) -> list[Json]:
    """Return the variables by which server and command line find certificates, and know whom to believe."""
    if not secured(cluster):
        return []
    values = {
        "FDB_TLS_CERTIFICATE_FILE": f"{FOLDER}/tls.crt",
        "FDB_TLS_KEY_FILE": f"{FOLDER}/tls.key",
        "FDB_TLS_CA_FILE": f"{FOLDER}/ca.crt",
        # Either name is enough: rules stand behind each other with a bar between them.
        "FDB_TLS_VERIFY_PEERS": f"{believed(member_name(cluster))}|{believed(client_name(cluster))}",
    }
    return [{"name": name, "value": value} for name, value in values.items()]


def believed(name: str) -> str:
    """Return the rule by which a valid certificate with a common name is believed."""
    return f"S.CN={name}"


def arguments(cluster: FoundationDBCluster) -> list[str]:
    """Return what processes are told besides: a new certificate reaches them within minutes, and needs no restart."""
    return [f"--knob_tls_cert_refresh_delay_seconds={REFRESH}"] if secured(cluster) else []


def volumes(cluster: FoundationDBCluster) -> list[Json]:
    """Return the volume with the certificates."""
    source = {"secretName": members_secret(cluster), "defaultMode": 0o440}
    return [{"name": "tls", "secret": source}] if secured(cluster) else []


def mounts(cluster: FoundationDBCluster) -> list[Json]:
    """Return where the certificates are seen."""
    return [{"name": "tls", "mountPath": FOLDER, "readOnly": True}] if secured(cluster) else []


def _mark(cluster: FoundationDBCluster) -> str:
    """Return what tells this cluster from all others: a common name has room for 64 characters."""
    meta = cluster.metadata
    return hashlib.sha256(f"{meta.namespace}/{meta.name}/{meta.uid}".encode()).hexdigest()[:32]
