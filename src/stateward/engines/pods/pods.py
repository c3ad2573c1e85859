"""What the pod templates of every engine have in common: marks, rights, and where pods like to be."""

import hashlib
import json
from collections.abc import Mapping
from typing import cast

from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.pods import agent
from stateward.engines.pods.merge import merge
from stateward.planning.model.observation import Inputs

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def made_from(inputs: Inputs, version: str) -> dict[str, str]:
    """Return the annotations that say what an object was made from."""
    text = json.dumps(dict(inputs), sort_keys=True, separators=(",", ":"))
    return {names.ANNOTATION_INPUTS: text, names.ANNOTATION_VERSION: version}


def agent_annotations(files: Mapping[str, str]) -> dict[str, str]:
    """Return what a pod with an agent says of it, and of the configuration that its process is to run with."""
    return {names.ANNOTATION_AGENT: agent.VERSION, names.ANNOTATION_CHECKSUM: agent.checksum(files)}


def files_digest(files: Mapping[str, str]) -> str:
    """Return the digest of the configuration that a pod without an agent must start with.

    A kubelet may mount a Secret as it was before its last change; the pod would then say that it was made from the new
    configuration, run the old one, and nobody would ever restart it.
    """
    return hashlib.sha256("".join(files[name] for name in sorted(files)).encode()).hexdigest()


def security_context(user: int) -> Json:
    """Return the rights of a pod: none, as one user that owns the files of its volumes."""
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
    """Return a pod template with what people changed of it, but for the marks by which the operator finds its pods."""
    merged = merge(own, template)
    metadata: Json = merged.get("metadata") or {}
    marks = cast("dict[str, Json]", own["metadata"])
    kept: Json = {kind: {**(metadata.get(kind) or {}), **values} for kind, values in marks.items()}
    return {**merged, "metadata": {**metadata, **kept}}


def apart(weight: int, labels: Mapping[str, str]) -> Json:
    """Return the wish to be on another node than pods with these labels.

    All of it is preference. A rule would keep a member from coming back after its node has gone.
    """
    selector = {"matchLabels": dict(labels)}
    return {"weight": weight, "podAffinityTerm": {"topologyKey": HOSTNAME, "labelSelector": selector}}


def preferred(*terms: Json) -> Json:
    """Return the affinity of a pod that has these wishes."""
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def spread(cluster: str, pool: str) -> list[Json]:
    """Spread the members of a pool evenly over zones, where there are zones."""
    selector = {"matchLabels": {names.LABEL_CLUSTER: cluster, names.LABEL_POOL: pool}}
    return [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}]
