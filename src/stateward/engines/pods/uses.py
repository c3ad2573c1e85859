"""The ConfigMaps and Secrets that the pods of a cluster use through overrides, and their known digests.

It excludes what Stateward itself puts into pods, and image pull secrets: no process sees those, and the next pull reads
them again.
"""

from collections.abc import Mapping

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.base import Json
from stateward.engines.pods.merge import compose
from stateward.packages.restarts.dependencies import Dependency, dependencies
from stateward.packages.restarts.digests import ALL, label
from stateward.planning.model.observation import Effect
from stateward.planning.model.referenced_data import KINDS

DATA_EFFECTS: Mapping[str, Effect] = dict.fromkeys(KINDS, Effect.RECREATE)
"""The effect of changed data in variables or volumes of pods: a running process sees neither change."""


def uses(template: Json) -> frozenset[Dependency]:
    """Return the ConfigMaps and Secrets that pods use through the overrides of their template."""
    pod: Json = template.get("spec") or {}
    spec = {name: value for name, value in pod.items() if name != "imagePullSecrets"}
    body = {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"template": {"spec": spec}}}
    return dependencies(body)


def uses_of(cluster: Cluster) -> frozenset[Dependency]:
    """Return the ConfigMaps and Secrets that the pods of all pools use."""
    common = cluster.spec.pod_template or {}
    return frozenset(d for pool in cluster.spec.pools for d in uses(compose(common, pool.pod_template or {})))


def known(template: Json, data: Mapping[str, str] | None) -> dict[str, str]:
    """Return the known digests of the data that pods of a template use."""
    used = uses(template)
    homes = {label(found) for found in used if not found.key}
    keys = {label(found) for found in used if found.key}
    every = {f"{home}{ALL}" for home in homes}
    return {
        name: digest
        for name, digest in (data or {}).items()
        if name in keys | every or f"{name.partition(':')[0]}:" in homes
    }
