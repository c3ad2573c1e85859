"""Checks lists whose entries have a key: each once. The API server refuses others, so only files need it."""

from collections.abc import Iterable, Iterator

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.replacement import MembersByHand, ReplacementPolicy
from stateward.api.kinds.search import SearchCluster
from stateward.api.values.problem import Problem


def check(cluster: Cluster) -> Iterator[Problem]:
    """Yield the entries that are listed again."""
    policy, members = cluster.spec.replacement or ReplacementPolicy(), cluster.spec.members or MembersByHand()
    yield from _again("spec.replacement.onTaints", (taint.key for taint in policy.on_taints or ()), ".key")
    yield from _again("spec.members.replace", members.replace or ())
    yield from _again("spec.members.replaceWithoutDraining", members.replace_without_draining or ())
    yield from _again("spec.members.acceptDataLoss", members.accept_data_loss or ())
    yield from _again("spec.members.keep", members.keep or ())
    if isinstance(cluster, SearchCluster):
        yield from _again("spec.plugins", (plugin.name for plugin in cluster.spec.plugins or ()), ".name")


def _again(path: str, keys: Iterable[str], field: str = "") -> Iterator[Problem]:
    seen = set[str]()
    for i, key in enumerate(keys):
        if key in seen:
            yield Problem(f"{path}[{i}]{field}", key, "must be listed once")
        seen.add(key)
