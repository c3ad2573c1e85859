"""The pod template of a member: Stateward's own, with the overrides of cluster and pool merged into it."""

from stateward.api.kinds.foundationdb import FaultDomain
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.foundationdb.objects.beside import BESIDE, copy_container
from stateward.engines.foundationdb.objects.configuration import config_files
from stateward.engines.foundationdb.objects.labels import ENGINE, member_labels
from stateward.engines.foundationdb.spec import security
from stateward.engines.foundationdb.spec.build import Build
from stateward.engines.foundationdb.spec.identity import PORT, cluster_file
from stateward.engines.foundationdb.spec.inputs import IMAGE, inputs
from stateward.engines.foundationdb.spec.pools import ResolvedPool
from stateward.engines.pods import agent, images, pods, read_only

USER = 4059
"""The user and group of the official images."""
GRACE = 60
"""Seconds for processes to end: they hold no acknowledged data in memory only."""
DATA, LOGS = "/var/fdb/data", "/var/fdb/logs"
_WRITABLE = {"tmp": "/tmp"}  # noqa: S108 - a path in the pod
DEFAULT_RESOURCES: Json = {"requests": {"cpu": "500m", "memory": "2Gi"}, "limits": {"memory": "2Gi"}}


def template(pool: ResolvedPool, ordinal: int, build: Build) -> Json:
    """Return the pod template of a member of this build."""
    metadata: Json = {"labels": member_labels(pool, ordinal), "annotations": annotations(pool, build)}
    return pods.overridden({"metadata": metadata, "spec": _spec(pool, ordinal, build)}, pool.template)


def annotations(pool: ResolvedPool, build: Build) -> dict[str, str]:
    """Return the annotations of a pod."""
    beside = build.beside(pool.cluster.spec.version)
    said = {**made_from(pool, build), **pods.template_annotations()}
    said |= {names.ANNOTATION_STAGED_VERSION: beside} if beside else {}
    return {**said, **(pods.agent_annotations(config_files(pool, build)) if pool.managed else {})}


def made_from(pool: ResolvedPool, build: Build) -> dict[str, str]:
    """Return the annotations that record the inputs of an object."""
    return pods.input_annotations(inputs(pool, build), build.version)


def _spec(pool: ResolvedPool, ordinal: int, build: Build) -> Json:
    return {
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE,
        "securityContext": pods.security_context(USER),
        "affinity": _affinity(pool),
        "topologySpreadConstraints": pods.spread(pool.cluster.metadata.name, pool.name),
        **({"initContainers": initial} if (initial := _initial(pool, build)) else {}),
        "containers": [_container(pool, ordinal, build)],
        "volumes": [
            *_volumes(pool, ordinal),
            *security.volumes(pool.cluster),
            *([{"name": "beside", "emptyDir": {}}] if build.crossing else []),
        ],
    }


def _initial(pool: ResolvedPool, build: Build) -> list[Json]:
    """Return the init containers for the agent and for the programs of another version."""
    brought = [agent.init_container(pool.agent_image)] if pool.managed else []
    beside = build.beside(pool.cluster.spec.version)
    return [*brought, copy_container(beside, image(pool, beside))] if beside else brought


def _container(pool: ResolvedPool, ordinal: int, build: Build) -> Json:
    script, grace = ["/bin/bash", "/stateward/scripts/start.sh"], pods.grace_seconds(GRACE, pool.template)
    return {
        "name": ENGINE,
        "image": image(pool, build.version),
        **(agent.start(script, grace, asks=False) if pool.managed else {"command": script}),
        "env": _environment(pool, ordinal, build),
        "ports": [
            *({"name": f"fdb-{i}", "containerPort": PORT + i, "protocol": "TCP"} for i in range(_processes(pool))),
            *(agent.ports() if pool.managed else ()),
        ],
        "resources": pool.spec.resources or DEFAULT_RESOURCES,
        "securityContext": read_only.container_rights(),
        "volumeMounts": [
            {"name": "data", "mountPath": DATA},
            {"name": "logs", "mountPath": LOGS},
            *(
                {"name": name, "mountPath": f"/stateward/{name}", "readOnly": True}
                for name in ("config", "cluster", "scripts", "pod")
            ),
            {"name": "run", "mountPath": "/stateward/run"},
            *read_only.mounts(_WRITABLE),
            *security.mounts(pool.cluster),
            *([{"name": "beside", "mountPath": BESIDE, "readOnly": True}] if build.crossing else ()),
            *(agent.volume_mounts() if pool.managed else ()),
        ],
        **(agent.probes() if pool.managed else {"readinessProbe": _listens()}),
    }


def image(pool: ResolvedPool, version: str) -> str:
    """Return the image of a version; for the version of the spec, exactly the image of the spec."""
    spec = pool.cluster.spec
    return images.image_for(IMAGE, spec.image, spec.version, version)


def _processes(pool: ResolvedPool) -> int:
    return pool.spec.processes_per_member


def _listens() -> Json:
    """Return a probe of the first process; the database's own status shows whether the member serves."""
    return {"tcpSocket": {"port": PORT}, "periodSeconds": 5, "timeoutSeconds": 3, "failureThreshold": 3}


def _environment(pool: ResolvedPool, ordinal: int, build: Build) -> list[Json]:
    member = pool.member(ordinal)
    node = pool.cluster.spec.fault_domain is FaultDomain.NODE
    domain: Json = {"valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}} if node else {"value": member}
    values = {
        "STATEWARD_MEMBER": member,
        "STATEWARD_ENGINE_VERSION": build.version,
        **({} if pool.managed else {"STATEWARD_CONFIG_SHA256": pods.files_digest(config_files(pool, build))}),
    }
    return [
        {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "STATEWARD_DOMAIN", **domain},
        *({"name": name, "value": value} for name, value in values.items()),
        *security.environment(pool.cluster),
    ]


def _volumes(pool: ResolvedPool, ordinal: int) -> list[Json]:
    """Return the volumes. They mount whole directories, because a file mounted by `subPath` is never updated."""
    member, cluster = pool.member(ordinal), pool.cluster.metadata.name
    data: Json = (
        {"emptyDir": {}} if pool.storage.ephemeral else {"persistentVolumeClaim": {"claimName": names.claim(member)}}
    )
    return [
        {"name": "data", **data},
        {"name": "logs", "emptyDir": {}},
        {"name": "config", "secret": {"secretName": member}},
        {"name": "cluster", "secret": {"secretName": cluster_file(pool.cluster)}},
        {"name": "scripts", "configMap": {"name": f"{cluster}-scripts", "defaultMode": 0o555}},
        {"name": "pod", "downwardAPI": {"items": agent.downward() if pool.managed else []}},
        {"name": "run", "emptyDir": {}},
        *read_only.volumes(_WRITABLE),
        *(agent.volumes(member) if pool.managed else ()),
    ]


def _affinity(pool: ResolvedPool) -> Json:
    """Return an affinity that separates members, above all of one pool; a hard rule would block their return."""
    cluster = {names.LABEL_CLUSTER: pool.cluster.metadata.name}
    return pods.preferences(
        pods.spread_preference(50, cluster), pods.spread_preference(100, {**cluster, names.LABEL_POOL: pool.name})
    )
