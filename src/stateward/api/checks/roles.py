"""Roles: known to the version, and enough members that may be elected."""

from collections.abc import Iterator

from stateward.api.cluster import OpenSearchCluster, OpenSearchSpec, Pool
from stateward.api.problem import Problem, Severity
from stateward.api.roles import DYNAMIC_SINCE, INSTEAD, MANAGER_ROLES, SINCE, holds_data, known, manages, similar
from stateward.api.version import Version, parse_version

_POOLS = "spec.pools"


def check(cluster: OpenSearchCluster) -> Iterator[Problem]:
    """Yield what is wrong with roles."""
    version = parse_version(cluster.spec.version)
    for i, pool in enumerate(cluster.spec.pools):
        for j, role in enumerate(pool.roles or ()):
            path = f"{_POOLS}[{i}].roles[{j}]"
            if role in (pool.roles or [])[:j]:
                yield Problem(path, role, "must be listed once")
            elif version is not None:
                yield from _role(path, role, version)
        if version is not None:
            yield from _together(f"{_POOLS}[{i}].roles", pool, version)
    yield from _managers(cluster.spec)
    yield from _data(cluster.spec)


def _role(path: str, role: str, version: Version) -> Iterator[Problem]:
    since = SINCE.get(role)
    if since is not None and since > version:
        instead = f"; use {INSTEAD[role]}" if role in INSTEAD else ""
        yield Problem(path, role, f"OpenSearch {version} has no such role (since {since}){instead}")
    elif since is None:
        yield _unknown(path, role, version)


def _unknown(path: str, role: str, version: Version) -> Problem:
    roles = known(version)
    meant = similar(role, roles)
    if meant is not None:
        return Problem(path, role, f"OpenSearch {version} has no such role; did you mean {meant}?")
    accepted = f"OpenSearch {version} knows {', '.join(roles)}"
    if version < DYNAMIC_SINCE:
        return Problem(path, role, f"{accepted}, and does not start with other roles")
    return Problem(path, role, f"has a meaning only where a plug-in gives it one; {accepted}", Severity.WARNING)


def _together(path: str, pool: Pool, version: Version) -> Iterator[Problem]:
    roles = pool.roles or []
    if set(roles) >= MANAGER_ROLES:
        yield Problem(path, roles, "master and cluster_manager are the same role: keep one of them", Severity.WARNING)
    if "search" in roles and len(set(roles)) > 1 and version.major >= 3:
        yield Problem(path, roles, f"search must be the only role of its nodes in OpenSearch {version}")


def _managers(spec: OpenSearchSpec) -> Iterator[Problem]:
    pools = [pool for pool in spec.pools if manages(pool.roles)]
    count = sum(pool.replicas for pool in pools)
    if not pools:
        roles = [pool.roles for pool in spec.pools]
        yield Problem(_POOLS, roles, "at least one pool must have the role cluster_manager, or leave roles out")
    elif count <= 0:
        yield Problem(
            _POOLS, count, "at least one member must be a cluster manager (3 is usual): nothing works without"
        )
    elif count == 1:
        text = "a single cluster manager: the cluster stands still whenever it restarts; 3 is usual"
        yield Problem(_POOLS, count, text, Severity.WARNING)
    elif count % 2 == 0:
        text = f"an even number of cluster managers survives no more failures than {count - 1}; 3 is usual"
        yield Problem(_POOLS, count, text, Severity.WARNING)


def _data(spec: OpenSearchSpec) -> Iterator[Problem]:
    count = sum(pool.replicas for pool in spec.pools if holds_data(pool.roles))
    if count <= 0:
        yield Problem(_POOLS, count, "no member has the role data, so no index can be created", Severity.WARNING)
