"""Names: of the cluster, because Services are called so, and of pools, because members are."""

import re
from collections import Counter
from collections.abc import Iterator

from stateward.api.kinds.cluster import Cluster
from stateward.api.schema.rules import LONGEST_NAMES
from stateward.api.values.problem import Problem

_LABEL = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def check(cluster: Cluster) -> Iterator[Problem]:
    """Yield what is wrong with names."""
    name = cluster.metadata.name
    if name and not _LABEL.fullmatch(name):
        yield Problem("metadata.name", name, "must be lower-case letters, digits and dashes, and begin with a letter")
    counts = Counter(pool.name for pool in cluster.spec.pools)
    for i, pool in enumerate(cluster.spec.pools):
        path = f"spec.pools[{i}].name"
        if counts[pool.name] > 1:
            yield Problem(path, pool.name, f"must be the name of one pool only, not of {counts[pool.name]}")
        if not _LABEL.fullmatch(pool.name):
            yield Problem(path, pool.name, "must be lower-case letters, digits and dashes, and begin with a letter")
        if len(name) + len(pool.name) > LONGEST_NAMES:
            yield Problem(path, pool.name, _too_long(name))


def _too_long(name: str) -> str:
    left = LONGEST_NAMES - len(name)
    return (
        f"may have {max(left, 0)} characters: members are named <cluster>-<pool>-<ordinal>, and metadata.name has"
        f" {len(name)} of the {LONGEST_NAMES} characters for both"
    )
