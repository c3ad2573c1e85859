"""Common parts of the pod templates of all engines: annotations, security context, and scheduling preferences."""

import hashlib
import json
from collections.abc import Mapping
from typing import cast

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.pods import agent
from stateward.engines.pods.merge import merge
from stateward.planning.model.observation import Inputs

TEMPLATE_REVISION = 1
"""Revision of Stateward's own part of pod templates, for all engines. Increase it when pods should be recreated for a
change of that part: pods of an earlier revision are reported, and recreated when the user agrees or with their next
restart. A change that can wait without a report needs no new revision.
"""
KUBERNETES_GRACE = 30
"""Seconds that a pod gets to end if its template does not say."""
HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def input_annotations(inputs: Inputs, version: str) -> dict[str, str]:
    """Return the annotations that record the inputs of an object."""
    text = json.dumps(dict(inputs), sort_keys=True, separators=(",", ":"))
    return {names.ANNOTATION_INPUTS: text, names.ANNOTATION_VERSION: version}


def template_annotations() -> dict[str, str]:
    """Return the annotation that records which revision a pod has."""
    return {names.ANNOTATION_TEMPLATE: str(TEMPLATE_REVISION)}


def agent_annotations(files: Mapping[str, str]) -> dict[str, str]:
    """Return the annotations of a pod with an agent: the agent's version, and the checksum of its configuration."""
    return {names.ANNOTATION_AGENT: agent.VERSION, names.ANNOTATION_CHECKSUM: agent.checksum(files)}


def files_digest(files: Mapping[str, str]) -> str:
    """Return the digest of the configuration that a pod without an agent must start with.

    A kubelet may mount a Secret as it was before its last change. Without this check the pod would be marked with the
    new configuration but run the old one, and nothing would ever restart it.
    """
    return hashlib.sha256("".join(files[name] for name in sorted(files)).encode()).hexdigest()


def security_context(user: int) -> Json:
    """Return the security context of a pod: unprivileged, as one user that owns the files of its volumes."""
    return {
        "runAsNonRoot": True,
        "runAsUser": user,
        "runAsGroup": user,
        "fsGroup": user,
        # Changing the owner of every file at every start would take hours on a full volume.
        "fsGroupChangePolicy": "OnRootMismatch",
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def overridden(own: Json, template: Json) -> Json:
    """Return a pod template with the user's overrides, except for labels and annotations of the operator."""
    merged = merge(own, template)
    metadata: Json = merged.get("metadata") or {}
    marks = cast("dict[str, Json]", own["metadata"])
    kept: Json = {kind: {**(metadata.get(kind) or {}), **values} for kind, values in marks.items()}
    return {**merged, "metadata": {**metadata, **kept}}


def grace_seconds(own: int, template: Json) -> int:
    """Return the seconds that a pod gets to end: Stateward's own, or what the user's overrides say.

    The disaster this prevents: a user gives a large member half an hour to close its shards, and its agent kills the
    database after the two minutes that are usual.
    """
    name = "terminationGracePeriodSeconds"
    spec: Json = merge({"spec": {name: own}}, template).get("spec") or {}
    found: object = spec.get(name)
    return found if isinstance(found, int) else KUBERNETES_GRACE


def spread_preference(weight: int, labels: Mapping[str, str]) -> Json:
    """Return a preference for nodes without pods with these labels.

    It is never a hard rule: a rule would keep a member from coming back after its node is lost.
    """
    selector = {"matchLabels": dict(labels)}
    return {"weight": weight, "podAffinityTerm": {"topologyKey": HOSTNAME, "labelSelector": selector}}


def preferences(*terms: Json) -> Json:
    """Return a pod affinity with these preferences."""
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def spread(cluster: str, pool: str) -> list[Json]:
    """Return constraints that spread the members of a pool evenly over zones, if there are zones."""
    selector = {"matchLabels": {names.LABEL_CLUSTER: cluster, names.LABEL_POOL: pool}}
    return [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}]
