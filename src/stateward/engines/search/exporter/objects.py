"""The Kubernetes objects of the exporter: Deployment, Service, configuration, network policy."""

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from stateward.api.checks.access import EXPORTER
from stateward.api.kinds.access.metrics import Metrics
from stateward.api.kinds.search import SearchCluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.connection.access import Access
from stateward.engines.pods import beside
from stateward.engines.pods.objects import port, shared_metadata
from stateward.engines.pods.pods import overridden, security_context
from stateward.engines.pods.read_only import container_rights
from stateward.engines.search.configuration.security import service_name
from stateward.engines.search.exporter.settings import PASSWORD, PORT, PORT_NAME, SETTINGS, TRUSTED, Settings
from stateward.engines.search.spec.flavor import HTTP_PORT

USER = 65532
"""The user and group of the operator's image."""
RESOURCES: Json = {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}}
"""Measured: see `docs/monitoring.md`."""
FOLDER = "/stateward/exporter"
CONFIG = "config"


def exporter_name(cluster: SearchCluster) -> str:
    """Return the name of the Deployment, the Service and the network policy."""
    return f"{cluster.metadata.name}-metrics"


def keys_secret(cluster: SearchCluster) -> str:
    """Return the name of the Secret with the credentials; no pod mounts it."""
    return f"{exporter_name(cluster)}-keys"


def url(cluster: SearchCluster) -> str:
    """Return where pods of the Kubernetes cluster reach the metrics."""
    return f"http://{exporter_name(cluster)}.{cluster.metadata.namespace}.svc:{PORT}/metrics"


def selector(cluster: SearchCluster, engine: str) -> dict[str, str]:
    """Return the labels by which the pods are selected; `engine` is the value of the engine label."""
    return {names.LABEL_METRICS: cluster.metadata.name, names.LABEL_ENGINE: engine}


def labels(cluster: SearchCluster, engine: str) -> dict[str, str]:
    """Return the labels of all objects."""
    return {
        "app.kubernetes.io/name": "stateward-exporter",
        "app.kubernetes.io/instance": cluster.metadata.name,
        "app.kubernetes.io/managed-by": names.FIELD_MANAGER,
        **selector(cluster, engine),
    }


def metadata(cluster: SearchCluster, engine: str) -> Json:
    """Return the metadata of the objects that have the name of the exporter."""
    return shared_metadata(cluster, exporter_name(cluster), labels(cluster, engine))


def files(cluster: SearchCluster, engine: str, access: Access | None) -> dict[str, str]:
    """Return the configuration, by file name; `access` is the exporter's own, None without security."""
    secured = access is not None
    settings = Settings(
        engine=engine,
        namespace=cluster.metadata.namespace,
        name=cluster.metadata.name,
        endpoint=f"{'https' if secured else 'http'}://{service_name(cluster)}:{HTTP_PORT}",
        server=access.name if access is not None else "",
        user=access.user if access is not None else "",
    )
    found = {SETTINGS: msgspec.json.encode(settings).decode()}
    return found if access is None else {**found, PASSWORD: access.password, TRUSTED: access.trusted}


def bare(asked: Metrics) -> Metrics:
    """Return the exporter without the overrides of its pod."""
    return replace(asked, pod_template=None)


def deployment(cluster: SearchCluster, asked: Metrics, engine: str, *, image: str, config: str) -> Json:
    """Return the Deployment; `image` is the operator's own, `config` the Secret with the configuration."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(cluster, engine),
        "spec": {
            "replicas": 1,
            "revisionHistoryLimit": 0,
            # The next one serves before this one stops: its user of the database is another.
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "selector": {"matchLabels": selector(cluster, engine)},
            "template": _template(cluster, asked, engine, image=image, config=config),
        },
    }


def _template(cluster: SearchCluster, asked: Metrics, engine: str, *, image: str, config: str) -> Json:
    probe = {"httpGet": {"path": "/healthz", "port": PORT}, "timeoutSeconds": 5}
    container: Json = {
        "name": EXPORTER,
        "image": image,
        "command": ["python3", "-m", "stateward.exporter", FOLDER],
        "ports": [{"name": PORT_NAME, "containerPort": PORT, "protocol": "TCP"}],
        "resources": asked.resources or RESOURCES,
        "securityContext": container_rights(),
        "volumeMounts": [{"name": CONFIG, "mountPath": FOLDER, "readOnly": True}],
        "readinessProbe": {**probe, "periodSeconds": 5},
        "livenessProbe": {**probe, "periodSeconds": 20, "failureThreshold": 6},
    }
    own: Json = {
        "metadata": {"labels": labels(cluster, engine), "annotations": {}},
        "spec": {
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "securityContext": security_context(USER),
            "containers": [container],
            "volumes": [{"name": CONFIG, "secret": {"secretName": config, "defaultMode": 0o440}}],
        },
    }
    return overridden(own, asked.pod_template or {})


def service(cluster: SearchCluster, engine: str) -> Json:
    """Return the Service of the metrics."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(cluster, engine),
        "spec": {"type": "ClusterIP", "ports": [port(PORT_NAME, PORT)], "selector": selector(cluster, engine)},
    }


def network_policy(cluster: SearchCluster, engine: str) -> Json:
    """Return the NetworkPolicy: the port for Prometheus is open, and no other."""
    return beside.network_policy(metadata(cluster, engine), selector(cluster, engine), PORT)


def config_name(cluster: SearchCluster, content: Mapping[str, str]) -> str:
    """Return the name of the Secret with a configuration."""
    return beside.config_name(exporter_name(cluster), content)
