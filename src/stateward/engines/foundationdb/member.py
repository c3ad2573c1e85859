"""The Kubernetes objects of one member: its configuration, its volume claim and its StatefulSet of one replica."""

import base64

from stateward.api import names
from stateward.api.base import Json
from stateward.api.cluster import Retention, VolumePolicy
from stateward.api.foundationdb import FoundationDBCluster
from stateward.engines.foundationdb.configuration import config_files
from stateward.engines.foundationdb.identity import headless
from stateward.engines.foundationdb.labels import member_labels
from stateward.engines.foundationdb.pod import made_from, template
from stateward.engines.foundationdb.pools import ResolvedPool, find
from stateward.engines.search.agent import checksum
from stateward.engines.search.identity import owner
from stateward.engines.search.member import MemberObjects


def member_objects(
    cluster: FoundationDBCluster, pool_name: str, ordinal: int, version: str, *, agent_image: str = ""
) -> MemberObjects:
    """Return the objects of a member at a version; raise KeyError when the spec has no such pool."""
    pool = find(cluster, pool_name, agent_image)
    return MemberObjects(
        config=_config(pool, ordinal, version),
        claim=None if pool.storage.ephemeral else _claim(pool, ordinal),
        workload=_workload(pool, ordinal, version),
    )


def _config(pool: ResolvedPool, ordinal: int, version: str) -> Json:
    files = config_files(pool)
    annotations = {**made_from(pool, version), names.ANNOTATION_CHECKSUM: checksum(files)}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {**_metadata(pool, ordinal, owned=True), "annotations": annotations},
        "type": "Opaque",
        "data": {name: base64.b64encode(content.encode()).decode() for name, content in files.items()},
    }


def _claim(pool: ResolvedPool, ordinal: int) -> Json:
    policy = pool.cluster.spec.volumes or VolumePolicy()
    metadata = _metadata(pool, ordinal, owned=policy.on_cluster_delete is Retention.DELETE)
    storage_class = {"storageClassName": pool.storage.storage_class} if pool.storage.storage_class is not None else {}
    size = {"requests": {"storage": pool.storage.size}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {**metadata, "name": names.claim(pool.member(ordinal))},
        "spec": {"accessModes": ["ReadWriteOnce"], **storage_class, "resources": size},
    }


def _workload(pool: ResolvedPool, ordinal: int, version: str) -> Json:
    selector = {names.LABEL_CLUSTER: pool.cluster.metadata.name, names.LABEL_MEMBER: pool.member(ordinal)}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {**_metadata(pool, ordinal, owned=True), "annotations": made_from(pool, version)},
        "spec": {
            "replicas": 1,
            "serviceName": headless(pool.cluster),
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "revisionHistoryLimit": 2,
            "selector": {"matchLabels": selector},
            "template": template(pool, ordinal, version),
        },
    }


def _metadata(pool: ResolvedPool, ordinal: int, *, owned: bool) -> Json:
    metadata: Json = {
        "name": pool.member(ordinal),
        "namespace": pool.cluster.metadata.namespace,
        "labels": member_labels(pool, ordinal),
    }
    return {**metadata, "ownerReferences": [owner(pool.cluster)]} if owned else metadata
