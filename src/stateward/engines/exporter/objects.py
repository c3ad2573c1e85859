"""The Kubernetes objects of an exporter: Deployment, Service, network policy."""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from stateward.api.checks.access import EXPORTER
from stateward.api.kinds.access.metrics import Metrics
from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.exporter.settings import FOLDER, PORT, PORT_NAME
from stateward.engines.pods import beside
from stateward.engines.pods.objects import port, shared_metadata
from stateward.engines.pods.pods import overridden, security_context
from stateward.engines.pods.read_only import container_rights

USER = 65532
"""The user and group of the operator's image."""
RESOURCES: Json = {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}
"""Measured: see `docs/monitoring.md`."""
CONFIG = "config"
CONFIG_MOUNT: Json = {"name": CONFIG, "mountPath": FOLDER, "readOnly": True}


class Additions(Struct, frozen=True):
    """What an engine adds to the pod, beside the container that serves the metrics."""

    containers: tuple[Json, ...] = ()
    volumes: tuple[Json, ...] = ()
    mounts: tuple[Json, ...] = ()
    """Mounts of the container that serves the metrics."""


def asked_of(cluster: Cluster) -> Metrics | None:
    """Return the exporter that a cluster asks for."""
    return cluster.spec.metrics if isinstance(cluster, SearchCluster | FoundationDBCluster) else None


def exporter_name(cluster: Cluster) -> str:
    """Return the name of the Deployment, the Service and the network policy."""
    return f"{cluster.metadata.name}-metrics"


def url(cluster: Cluster) -> str:
    """Return where pods of the Kubernetes cluster reach the metrics."""
    return f"http://{exporter_name(cluster)}.{cluster.metadata.namespace}.svc:{PORT}/metrics"


def selector(cluster: Cluster, engine: str) -> dict[str, str]:
    """Return the labels by which the pods are selected; `engine` is the value of the engine label."""
    return {names.LABEL_METRICS: cluster.metadata.name, names.LABEL_ENGINE: engine}


def labels(cluster: Cluster, engine: str) -> dict[str, str]:
    """Return the labels of all objects."""
    return {
        "app.kubernetes.io/name": "stateward-exporter",
        "app.kubernetes.io/instance": cluster.metadata.name,
        "app.kubernetes.io/managed-by": names.FIELD_MANAGER,
        **selector(cluster, engine),
    }


def metadata(cluster: Cluster, engine: str) -> Json:
    """Return the metadata of the objects that have the name of the exporter."""
    return shared_metadata(cluster, exporter_name(cluster), labels(cluster, engine))


def bare(asked: Metrics) -> Metrics:
    """Return the exporter without the overrides of its pod."""
    return replace(asked, pod_template=None)


def deployment(
    cluster: Cluster, asked: Metrics, engine: str, *, image: str, config: str, additions: Additions | None = None
) -> Json:
    """Return the Deployment; `image` is the operator's own, `config` the Secret with the configuration."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(cluster, engine),
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 0,
            # The next one serves before this one stops: its user of the database may be another.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "selector": {"matchLabels": selector(cluster, engine)},
            "template": _template(labels(cluster, engine), asked, image, config, additions or Additions()),
        },
    }


def _template(labels: Mapping[str, str], asked: Metrics, image: str, config: str, additions: Additions) -> Json:
    probe = {"httpGet": {"path": "/healthz", "port": PORT}, "timeoutSeconds": 5}
    container: Json = {
        "name": EXPORTER,
        "image": image,
        "command": ["python3", "-m", "stateward.exporter", FOLDER],
        "ports": [{"name": PORT_NAME, "containerPort": PORT, "protocol": "TCP"}],
        "resources": asked.resources or RESOURCES,
        "securityContext": container_rights(),
        "volumeMounts": [CONFIG_MOUNT, *additions.mounts],
        "readinessProbe": {**probe, "periodSeconds": 5},
        "livenessProbe": {**probe, "periodSeconds": 20, "failureThreshold": 6},
    }
    own: Json = {
        "metadata": {"labels": dict(labels), "annotations": {}},
        "spec": {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": security_context(USER),
            "containers": [container, *additions.containers],
            "volumes": [{"name": CONFIG, "secret": {"secretName": config, "defaultMode": 0o440}}, *additions.volumes],
        },
    }
    return overridden(own, asked.pod_template or {})


def service(cluster: Cluster, engine: str) -> Json:
    """Return the Service of the metrics."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(cluster, engine),
        "spec": {"type": "ClusterIP", "ports": [port(PORT_NAME, PORT)], "selector": selector(cluster, engine)},
    }


def network_policy(cluster: Cluster, engine: str) -> Json:
    """Return the NetworkPolicy: the port for Prometheus is open, and no other."""
    return beside.network_policy(metadata(cluster, engine), selector(cluster, engine), PORT)


def config_name(cluster: Cluster, content: Mapping[str, str]) -> str:
    """Return the name of the Secret with a configuration."""
    return beside.config_name(exporter_name(cluster), content)
