"""The Kubernetes objects of one member: its configuration, its volume claim and its StatefulSet of one replica."""

import base64

from msgspec import Struct

from stateward.api import names
from stateward.api.base import Json
from stateward.api.cluster import Retention, VolumePolicy
from stateward.engines.search.agent import checksum
from stateward.engines.search.configuration import config_files
from stateward.engines.search.flavor import Flavor, SearchCluster
from stateward.engines.search.identity import owner
from stateward.engines.search.labels import member_labels
from stateward.engines.search.pod import made_from, template
from stateward.engines.search.pools import ResolvedPool, find


class MemberObjects(Struct, frozen=True):
    """The objects of a member, ready to be applied in this order."""

    config: Json
    claim: Json | None
    """None where data is ephemeral."""
    workload: Json


def member_objects(flavor: Flavor, cluster: SearchCluster, pool_name: str, ordinal: int, version: str) -> MemberObjects:
    """Return the objects of a member at a version; raise KeyError when the spec has no such pool."""
    pool = find(flavor, cluster, pool_name)
    return MemberObjects(
        config=_config(pool, ordinal, version),
        claim=None if pool.storage.ephemeral else _claim(pool, ordinal),
        workload=_workload(pool, ordinal, version),
    )


def headless(cluster: SearchCluster) -> str:
    """Return the name of the Service that gives each pod a name in DNS."""
    return f"{cluster.metadata.name}-members"


def _config(pool: ResolvedPool, ordinal: int, version: str) -> Json:
    files = config_files(pool, ordinal, version)
    metadata = _metadata(pool, ordinal, owned=True)
    annotations = {**made_from(pool, version), names.ANNOTATION_CHECKSUM: checksum(files)}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {**metadata, "annotations": annotations},
        "type": "Opaque",
        "data": {name: base64.b64encode(content.encode()).decode() for name, content in files.items()},
    }


def _claim(pool: ResolvedPool, ordinal: int) -> Json:
    policy = pool.cluster.spec.volumes or VolumePolicy()
    metadata = _metadata(pool, ordinal, owned=policy.on_cluster_delete is Retention.DELETE)
    storage_class = {"storageClassName": pool.storage.storage_class} if pool.storage.storage_class is not None else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {**metadata, "name": names.claim(_name(pool, ordinal))},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            **storage_class,
            "resources": {"requests": {"storage": pool.storage.size}},
        },
    }


def _workload(pool: ResolvedPool, ordinal: int, version: str) -> Json:
    selector = {names.LABEL_CLUSTER: pool.cluster.metadata.name, names.LABEL_MEMBER: _name(pool, ordinal)}
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
        "name": _name(pool, ordinal),
        "namespace": pool.cluster.metadata.namespace,
        "labels": member_labels(pool, ordinal),
    }
    return {**metadata, "ownerReferences": [owner(pool.cluster)]} if owned else metadata


def _name(pool: ResolvedPool, ordinal: int) -> str:
    return names.member(pool.cluster.metadata.name, pool.name, ordinal)
