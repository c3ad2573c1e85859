"""Which ConfigMaps and Secrets the pods of a cluster use because overrides say so, and what is known of them.

What Stateward puts into pods by itself is no part of it. Nor are the Secrets that images are pulled with: no process
ever sees them, and the next pull reads them anew.
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
"""What a change of data needs that pods have in variables or volumes: a process sees neither change."""


def uses(template: Json) -> frozenset[Dependency]:
    """Return what pods use because of the overrides of their template."""
    pod: Json = template.get("spec") or {}
    spec = {name: value for name, value in pod.items() if name != "imagePullSecrets"}
    body = {"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {"template": {"spec": spec}}}
    return dependencies(body)


def uses_of(cluster: Cluster) -> frozenset[Dependency]:
    """Return what the pods of a cluster use, of all pools together."""
    common = cluster.spec.pod_template or {}
    return frozenset(d for pool in cluster.spec.pools for d in uses(compose(common, pool.pod_template or {})))


def known(template: Json, data: Mapping[str, str] | None) -> dict[str, str]:
    """Return the digests of what pods of a template use, out of what is known of a cluster's data."""
    used = uses(template)
    homes = {label(found) for found in used if not found.key}
    keys = {label(found) for found in used if found.key}
    every = {f"{home}{ALL}" for home in homes}
    return {
        name: digest
        for name, digest in (data or {}).items()
        if name in keys | every or f"{name.partition(':')[0]}:" in homes
    }
