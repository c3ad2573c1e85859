"""The identity of a database and its first coordinators: known before any pod runs, and always the same.

Coordinators are DNS names, not addresses: a recreated pod has another address and the same name. So the cluster file
stays valid through any restart.
"""

import hashlib
import re
from collections.abc import Container
from itertools import count, islice

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.values import names
from stateward.engines.foundationdb.spec.connection import (
    Address,
    ConnectionString,
    ConnectionStringError,
    parse_connection_string,
)
from stateward.engines.foundationdb.spec.coordinators import Candidate, choose, count_of
from stateward.engines.foundationdb.spec.pools import resolve
from stateward.engines.foundationdb.spec.security import secured
from stateward.engines.pods.objects import headless

PORT = 4500
"""Port of a member's first process; the next processes use the following ports."""


def host(cluster: FoundationDBCluster, member: str) -> str:
    """Return the DNS name of a member's pod."""
    return f"{names.pod(member)}.{headless(cluster)}.{cluster.metadata.namespace}.svc"


def coordinator(cluster: FoundationDBCluster, member: str) -> Address:
    """Return the address of a member as a coordinator: its first process."""
    return Address(host(cluster, member), PORT, tls=secured(cluster))


def member_of(cluster: FoundationDBCluster, address: Address) -> str:
    """Return the member at a coordinator's address; the whole address if it belongs to no member."""
    pod, _, rest = address.host.partition(".")
    ours = rest == f"{headless(cluster)}.{cluster.metadata.namespace}.svc" and pod.endswith("-0")
    return pod.removesuffix("-0") if ours else str(address)


def description(cluster: FoundationDBCluster) -> str:
    """Return the unique description of the database, which stays in its cluster file permanently."""
    meta = cluster.metadata
    return re.sub(r"[^A-Za-z0-9]", "_", f"{meta.namespace}_{meta.name}_{meta.uid[:8]}")


def first_connection(cluster: FoundationDBCluster, left: Container[str] = ()) -> ConnectionString:
    """Return the cluster file of a database that does not exist yet; no member with a name in `left` is created."""
    order = sorted(resolve(cluster), key=lambda pool: pool.spec.process_class.value != "storage")
    fit = [
        Candidate(pool.member(i), zone=pool.member(i), kind=pool.spec.process_class.value)
        for pool in order
        if not pool.storage.ephemeral
        for i in islice((n for n in count() if pool.member(n) not in left), pool.replicas)
    ]
    chosen = choose(fit, frozenset(), count_of(cluster.spec.redundancy.value)).members
    generation = hashlib.sha256(cluster.metadata.uid.encode()).hexdigest()[:16]
    addresses = tuple(coordinator(cluster, name) for name in sorted(chosen))
    return ConnectionString(description(cluster), generation, addresses)


def cluster_file(cluster: FoundationDBCluster) -> str:
    """Return the name of the Secret with the cluster file."""
    return f"{cluster.metadata.name}-cluster-file"


def names_it(cluster: FoundationDBCluster, text: str) -> bool:
    """Return whether a text is a cluster file of this database."""
    try:
        return parse_connection_string(text).description == description(cluster)
    except ConnectionStringError:
        return False
