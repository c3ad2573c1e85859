"""The Kubernetes objects of clusters and members for all engines; the few differences are parameters."""

import base64
from collections.abc import Mapping

from msgspec import Struct

from stateward.api.kinds.cluster import Cluster, Retention, Storage, VolumePolicy
from stateward.api.values import names
from stateward.api.values.base import API_VERSION, Json
from stateward.api.values.quantity import format_quantity
from stateward.engines.pods.agent import checksum
from stateward.planning.safety.disruption_budget import Budget


class MemberObjects(Struct, frozen=True):
    """The objects of a member, in the order in which they are applied."""

    config: Json
    claim: Json | None
    """None if the data is ephemeral."""
    workload: Json


class Blueprint(Struct, frozen=True):
    """The engine-specific parts of one member."""

    cluster: Cluster
    name: str
    labels: Mapping[str, str]
    storage: Storage
    made_from: Mapping[str, str]
    """Annotations that record the inputs of its objects."""
    files: Mapping[str, str]
    """Its configuration."""
    template: Json
    """The template of its pod."""


def member_objects(of: Blueprint) -> MemberObjects:
    """Return the objects of a member: its configuration, its volume claim and its StatefulSet of one replica."""
    return MemberObjects(
        config=_config(of),
        claim=None if of.storage.ephemeral else _claim(of),
        workload=_workload(of),
    )


def headless(cluster: Cluster) -> str:
    """Return the name of the Service that gives each pod a DNS name."""
    return f"{cluster.metadata.name}-members"


def owner(cluster: Cluster) -> Json:
    """Return the owner reference: garbage collection deletes the object with its cluster."""
    return owned_by(cluster.kind, cluster.metadata.name, cluster.metadata.uid)


def owned_by(kind: str, name: str, uid: str) -> Json:
    """Return the owner reference to a resource of Stateward."""
    return {
        "apiVersion": API_VERSION,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }


def shared_metadata(cluster: Cluster, name: str, labels: Mapping[str, str]) -> Json:
    """Return the metadata of an object that all members share."""
    return {
        "name": name,
        "namespace": cluster.metadata.namespace,
        "labels": dict(labels),
        "ownerReferences": [owner(cluster)],
    }


def config_map(metadata: Json, data: Mapping[str, str]) -> Json:
    """Return a ConfigMap."""
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(data)}


def secret(metadata: Json, data: Mapping[str, str]) -> Json:
    """Return a Secret of texts."""
    encoded = {name: base64.b64encode(text.encode()).decode() for name, text in data.items()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": encoded}


def headless_service(metadata: Json, selector: Mapping[str, str], ports: Mapping[str, int]) -> Json:
    """Return a Service that publishes pods before they are Ready: they must find each other to become so."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": dict(selector),
            "ports": [port(name, number) for name, number in ports.items()],
        },
    }


def port(name: str, number: int) -> Json:
    """Return a port of a Service."""
    return {"name": name, "port": number, "targetPort": number, "protocol": "TCP"}


def disruption_budget(cluster: Cluster, metadata: Json, budget: Budget) -> Json:
    """Return the PodDisruptionBudget for the evictions that the plan allows; its name is made from the cluster's."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {**metadata, "name": f"{cluster.metadata.name}-{budget.name}"},
        "spec": {
            "minAvailable": budget.min_available,
            "selector": {
                "matchLabels": {names.LABEL_CLUSTER: cluster.metadata.name},
                "matchExpressions": [{"key": names.LABEL_ROLES, "operator": "In", "values": sorted(budget.roles)}],
            },
        },
    }


def with_grown_size(claim: Json, size: int) -> Json:
    """Return a claim as large as those of its pool that have grown by themselves; the size is in bytes."""
    text = format_quantity(size)
    metadata = {**claim["metadata"], "annotations": {names.ANNOTATION_GROWN: text}}
    spec = {**claim["spec"], "resources": {"requests": {"storage": text}}}
    return {**claim, "metadata": metadata, "spec": spec}


def _config(of: Blueprint) -> Json:
    annotations = {**of.made_from, names.ANNOTATION_CHECKSUM: checksum(of.files)}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {**_metadata(of, owned=True), "annotations": annotations},
        "type": "Opaque",
        "data": {name: base64.b64encode(content.encode()).decode() for name, content in of.files.items()},
    }


def _claim(of: Blueprint) -> Json:
    policy = of.cluster.spec.volumes or VolumePolicy()
    metadata = _metadata(of, owned=policy.when_deleted is Retention.DELETE)
    storage_class = {"storageClassName": of.storage.storage_class} if of.storage.storage_class is not None else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {**metadata, "name": names.claim(of.name)},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            **storage_class,
            "resources": {"requests": {"storage": of.storage.size}},
        },
    }


def _workload(of: Blueprint) -> Json:
    selector = {names.LABEL_CLUSTER: of.cluster.metadata.name, names.LABEL_MEMBER: of.name}
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {**_metadata(of, owned=True), "annotations": dict(of.made_from)},
        "spec": {
            "replicas": 1,
            "serviceName": headless(of.cluster),
            "podManagementPolicy": "Parallel",
            "updateStrategy": {"type": "OnDelete"},
            "revisionHistoryLimit": 2,
            "selector": {"matchLabels": selector},
            "template": of.template,
        },
    }


def _metadata(of: Blueprint, *, owned: bool) -> Json:
    metadata: Json = {"name": of.name, "namespace": of.cluster.metadata.namespace, "labels": dict(of.labels)}
    return {**metadata, "ownerReferences": [owner(of.cluster)]} if owned else metadata
