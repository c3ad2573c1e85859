"""Whether an object that a spec names may serve a cluster: one rule for its pods, and for what the operator reads.

The right to write a cluster, or a declared object, is not a right to read Secrets. The operator reads them all, so
without this rule its status, its events and its choice to restart would tell their content, or changes of it. Allowing
an object takes the right to write that very object: its label. An object that is not allowed is unknown, not absent.
"""

from collections.abc import Mapping

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.kube.objects.metadata import ObjectMeta
from stateward.operator.objects.copied_secrets import belongs
from stateward.packages.restarts.dependencies import PROVIDER_CLASS, SECRET

LABELLED = frozenset({SECRET, PROVIDER_CLASS})
"""Kinds of data of pods that need the label; ConfigMaps do not."""


def allowed(labels: Mapping[str, str], cluster: str) -> bool:
    """Return whether the labels of an object allow it for a cluster: for all clusters, or by its name."""
    return labels.get(names.LABEL_ALLOWED) in ("true", cluster)


def may_be_known(kind: str, body: Json, cluster: Cluster) -> bool:
    """Return whether the data of an object that a cluster's pods use may be known, by its content as it was read.

    Pods always have the certificates that the operator makes for them.
    """
    meta = msgspec.convert(body["metadata"], ObjectMeta)
    own = meta.name == f"{cluster.metadata.name}-tls" and belongs(meta, cluster)
    return kind not in LABELLED or own or allowed(meta.labels, cluster.metadata.name)


def requirement(cluster: str) -> str:
    """Return what has to be of an object that a cluster uses."""
    return f"must have the label {names.LABEL_ALLOWED}: true (or {cluster})"
