"""Roles: known to the version, and enough members that may be elected."""

from collections.abc import Iterator

from stateward.api.kinds.products import OPENSEARCH, Product, product_of
from stateward.api.kinds.search import Pool, SearchCluster, SearchSpec
from stateward.api.values.problem import Problem, Severity
from stateward.api.values.roles import MANAGER_ROLES, VOTING_ONLY, electable, manages, similar
from stateward.api.values.version import Version, parse_version

_POOLS = "spec.pools"


def check(cluster: SearchCluster) -> Iterator[Problem]:
    """Yield what is wrong with roles."""
    version, product = parse_version(cluster.spec.version), product_of(cluster)
    for i, pool in enumerate(cluster.spec.pools):
        if version is None:
            continue
        for j, role in enumerate(pool.roles or ()):
            yield from _role(f"{_POOLS}[{i}].roles[{j}]", role, version, product)
        yield from _together(f"{_POOLS}[{i}].roles", pool, version, product)
    yield from _managers(cluster.spec, product)
    yield from _data(cluster.spec, product)


def _role(path: str, role: str, version: Version, product: Product) -> Iterator[Problem]:
    since = product.roles.since.get(role)
    if since is not None and since > version:
        instead = f"; use {product.roles.instead[role]}" if role in product.roles.instead else ""
        yield Problem(path, role, f"{product.title} {version} has no such role (since {since}){instead}")
    elif since is None:
        yield _unknown(path, role, version, product)


def _unknown(path: str, role: str, version: Version, product: Product) -> Problem:
    roles, dynamic = product.roles.known(version), product.roles.dynamic_since
    meant = product.roles.manager if role in MANAGER_ROLES else similar(role, roles)
    if meant is not None:
        return Problem(path, role, f"{product.title} {version} has no such role; did you mean {meant}?")
    accepted = f"{product.title} {version} knows {', '.join(roles)}"
    if dynamic is None or version < dynamic:
        return Problem(path, role, f"{accepted}, and does not start with other roles")
    return Problem(path, role, f"has a meaning only with a plug-in that defines it; {accepted}", Severity.WARNING)


def _together(path: str, pool: Pool, version: Version, product: Product) -> Iterator[Problem]:
    roles = pool.roles or []
    if VOTING_ONLY in roles and VOTING_ONLY in product.roles.since and not manages(roles):
        yield Problem(
            path, roles, f"{VOTING_ONLY} goes together with {product.roles.manager}, or the node does not start"
        )
    if product is not OPENSEARCH:
        return
    if set(roles) >= MANAGER_ROLES:
        yield Problem(path, roles, "master and cluster_manager are the same role: keep one of them", Severity.WARNING)
    if "search" in roles and len(set(roles)) > 1 and version.major >= 3:
        yield Problem(path, roles, f"search must be the only role of its nodes in OpenSearch {version}")


def _managers(spec: SearchSpec, product: Product) -> Iterator[Problem]:
    pools = [pool for pool in spec.pools if manages(pool.roles)]
    count = sum(pool.replicas for pool in pools)
    if not pools:
        roles = [pool.roles for pool in spec.pools]
        text = f"at least one pool must have the role {product.roles.manager}, or leave roles out"
        yield Problem(_POOLS, roles, text)
    elif count <= 0:
        yield Problem(_POOLS, count, "at least one member must be a cluster manager (3 is usual)")
    elif not any(pool.replicas for pool in pools if electable(pool.roles)):
        text = (
            f"at least one member must have the role {product.roles.manager} and not {VOTING_ONLY}: no"
            " manager can be elected"
        )
        yield Problem(_POOLS, [pool.roles for pool in pools], text)
    elif count == 1:
        text = "a single cluster manager: the cluster is unavailable whenever it restarts; 3 is usual"
        yield Problem(_POOLS, count, text, Severity.WARNING)
    elif count % 2 == 0:
        text = f"an even number of cluster managers tolerates no more failures than {count - 1}; 3 is usual"
        yield Problem(_POOLS, count, text, Severity.WARNING)


def _data(spec: SearchSpec, product: Product) -> Iterator[Problem]:
    count = sum(pool.replicas for pool in spec.pools if product.roles.holds_data(pool.roles))
    if count <= 0:
        yield Problem(_POOLS, count, "no member has the role data, so no index can be created", Severity.WARNING)
