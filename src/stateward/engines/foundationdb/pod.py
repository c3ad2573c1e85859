"""The pod template of a member: Stateward's own, with the overrides of cluster and pool merged over it."""

import hashlib
import json

from stateward import __version__
from stateward.api import names
from stateward.api.base import Json
from stateward.api.foundationdb import FaultDomain
from stateward.engines.foundationdb.configuration import config_files
from stateward.engines.foundationdb.identity import PORT
from stateward.engines.foundationdb.inputs import IMAGE, inputs
from stateward.engines.foundationdb.labels import ENGINE, member_labels
from stateward.engines.foundationdb.pools import ResolvedPool
from stateward.engines.merge import merge
from stateward.engines.search import agent
from stateward.engines.search.images import PLACE, pattern

USER = 4059
"""The user and group of the official images."""
GRACE = 60
"""Seconds that processes have to end: they keep nothing in memory that is acknowledged."""
DATA, LOGS = "/var/fdb/data", "/var/fdb/logs"
HOSTNAME, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
DEFAULT_RESOURCES: Json = {"requests": {"cpu": "500m", "memory": "2Gi"}, "limits": {"memory": "2Gi"}}


def template(pool: ResolvedPool, ordinal: int, version: str) -> Json:
    """Return the template of a member's pod at a version."""
    metadata: Json = {"labels": member_labels(pool, ordinal), "annotations": annotations(pool, version)}
    merged = merge({"metadata": metadata, "spec": _spec(pool, ordinal, version)}, pool.template)
    # By these the operator finds its pods, whatever an override did to them.
    found: Json = merged.get("metadata") or {}
    kept: Json = {kind: {**(found.get(kind) or {}), **values} for kind, values in metadata.items()}
    return {**merged, "metadata": {**found, **kept}}


def annotations(pool: ResolvedPool, version: str) -> dict[str, str]:
    """Return what a pod says of itself."""
    if not pool.managed:
        return made_from(pool, version)
    expected = agent.checksum(config_files(pool))
    return {**made_from(pool, version), names.ANNOTATION_AGENT: __version__, names.ANNOTATION_CHECKSUM: expected}


def made_from(pool: ResolvedPool, version: str) -> dict[str, str]:
    """Return the annotations that say what an object was made from."""
    text = json.dumps(dict(inputs(pool, version)), sort_keys=True, separators=(",", ":"))
    return {names.ANNOTATION_INPUTS: text, names.ANNOTATION_VERSION: version}


def _spec(pool: ResolvedPool, ordinal: int, version: str) -> Json:
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": USER,
            "runAsGroup": USER,
            "fsGroup": USER,
            # Changing the owner of every file at every start would take long on a full volume.
            "fsGroupChangePolicy": "OnRootMismatch",
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": _affinity(pool),
        "topologySpreadConstraints": _spread(pool),
        **({"initContainers": [agent.init_container(pool.agent_image)]} if pool.managed else {}),
        "containers": [_container(pool, ordinal, version)],
        "volumes": _volumes(pool, ordinal),
    }


def _container(pool: ResolvedPool, ordinal: int, version: str) -> Json:
    script = ["/bin/bash", "/stateward/scripts/start.sh"]
    return {
        "name": ENGINE,
        "image": image(pool, version),
        **(agent.start(script, GRACE, asks=False) if pool.managed else {"command": script}),
        "env": _environment(pool, ordinal, version),
        "ports": [
            *({"name": f"fdb-{i}", "containerPort": PORT + i, "protocol": "TCP"} for i in range(_processes(pool))),
            *(agent.ports() if pool.managed else ()),
        ],
        "resources": pool.spec.resources or DEFAULT_RESOURCES,
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
        "volumeMounts": [
            {"name": "data", "mountPath": DATA},
            {"name": "logs", "mountPath": LOGS},
            *(
                {"name": name, "mountPath": f"/stateward/{name}", "readOnly": True}
                for name in ("config", "cluster", "scripts", "pod")
            ),
            {"name": "run", "mountPath": "/stateward/run"},
            *(agent.volume_mounts() if pool.managed else ()),
        ],
        **(agent.probes() if pool.managed else {"readinessProbe": _listens()}),
    }


def image(pool: ResolvedPool, version: str) -> str:
    """Return the image of a version: exactly what the spec says for the version that the spec says."""
    spec = pool.cluster.spec
    if spec.image is not None and version == spec.version:
        return spec.image
    return pattern(IMAGE, spec.image, spec.version).replace(PLACE, version)


def _processes(pool: ResolvedPool) -> int:
    return pool.spec.processes_per_member


def _listens() -> Json:
    """Return a probe of the first process; whether the member serves, the database itself is asked."""
    return {"tcpSocket": {"port": PORT}, "periodSeconds": 5, "timeoutSeconds": 3, "failureThreshold": 3}


def _environment(pool: ResolvedPool, ordinal: int, version: str) -> list[Json]:
    member = pool.member(ordinal)
    node = pool.cluster.spec.fault_domain is FaultDomain.NODE
    domain: Json = {"valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}} if node else {"value": member}
    values = {
        "STATEWARD_MEMBER": member,
        "STATEWARD_ENGINE_VERSION": version,
        **({} if pool.managed else {"STATEWARD_CONFIG_SHA256": _digest(pool)}),
    }
    return [
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "STATEWARD_DOMAIN", **domain},
        *({"name": name, "value": value} for name, value in values.items()),
    ]


def _digest(pool: ResolvedPool) -> str:
    """Return the digest of the configuration that a pod without an agent has to start with."""
    files = config_files(pool)
    return hashlib.sha256("".join(files[name] for name in sorted(files)).encode()).hexdigest()


def _volumes(pool: ResolvedPool, ordinal: int) -> list[Json]:
    """Return the volumes. Whole directories are mounted, since a file mounted by `subPath` is never updated."""
    member, cluster = pool.member(ordinal), pool.cluster.metadata.name
    data: Json = (
        {"emptyDir": {}} if pool.storage.ephemeral else {"persistentVolumeClaim": {"claimName": names.claim(member)}}
    )
    return [
        {"name": "data", **data},
        {"name": "logs", "emptyDir": {}},
        {"name": "config", "secret": {"secretName": member}},
        {"name": "cluster", "configMap": {"name": f"{cluster}-cluster-file"}},
        {"name": "scripts", "configMap": {"name": f"{cluster}-scripts", "defaultMode": 0o555}},
        {"name": "pod", "downwardAPI": {"items": agent.downward() if pool.managed else []}},
        {"name": "run", "emptyDir": {}},
        *(agent.volumes(member) if pool.managed else ()),
    ]


def _affinity(pool: ResolvedPool) -> Json:
    """Keep members apart, those of one pool above all: a preference, or members could not come back."""
    cluster = {names.LABEL_CLUSTER: pool.cluster.metadata.name}
    terms = [_apart(50, cluster), _apart(100, {**cluster, names.LABEL_POOL: pool.name})]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}}


def _apart(weight: int, labels: dict[str, str]) -> Json:
    selector = {"matchLabels": labels}
    return {"weight": weight, "podAffinityTerm": {"topologyKey": HOSTNAME, "labelSelector": selector}}


def _spread(pool: ResolvedPool) -> list[Json]:
    """Spread the members of a pool evenly over zones, where there are zones."""
    labels = {names.LABEL_CLUSTER: pool.cluster.metadata.name, names.LABEL_POOL: pool.name}
    selector = {"matchLabels": labels}
    return [{"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}]
