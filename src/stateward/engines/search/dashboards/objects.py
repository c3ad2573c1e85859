"""The Kubernetes objects of the dashboards: Deployment, Service, configuration, disruption budget, network policy."""

from collections.abc import Mapping
from typing import Any, cast

from msgspec.structs import replace

from stateward.api.kinds.access.dashboards import Dashboards
from stateward.api.kinds.search import SearchCluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.engines.pods import beside, images, read_only
from stateward.engines.pods.objects import shared_metadata
from stateward.engines.pods.pods import overridden, preferences, security_context, spread_preference
from stateward.engines.search.dashboards.frontend import CONTAINER, KIBANA, PORT, Frontend, dashboards_name
from stateward.engines.search.dashboards.settings import serves_https, status_path
from stateward.engines.search.objects.shared import client_service

USER = 1000
"""The user and group of the official images."""
RESOURCES: Json = {"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"memory": "1Gi"}}
ZONE = "topology.kubernetes.io/zone"
CONFIG = "config"


def labels(which: Frontend, cluster: SearchCluster, engine: str) -> dict[str, str]:
    """Return the labels of all objects; `engine` is the value of the engine label."""
    return {
        "app.kubernetes.io/name": which.name,
        "app.kubernetes.io/instance": cluster.metadata.name,
        "app.kubernetes.io/managed-by": names.FIELD_MANAGER,
        **selector(cluster, engine),
    }


def selector(cluster: SearchCluster, engine: str) -> dict[str, str]:
    """Return the labels by which the pods are selected."""
    return {names.LABEL_DASHBOARDS: cluster.metadata.name, names.LABEL_ENGINE: engine}


def image(which: Frontend, cluster: SearchCluster, asked: Dashboards, version: str) -> str:
    """Return the image of a version."""
    return images.image_for(which.image, asked.image, asked.version or cluster.spec.version, version)


def knows_versions(which: Frontend, cluster: SearchCluster, asked: Dashboards) -> bool:
    """Return whether the name of the image contains the version, so that images of others can be derived."""
    return images.PLACE in images.pattern(which.image, asked.image, asked.version or cluster.spec.version)


def config_name(cluster: SearchCluster, files: Mapping[str, str]) -> str:
    """Return the name of the Secret with a configuration."""
    return beside.config_name(dashboards_name(cluster), files)


def metadata(which: Frontend, cluster: SearchCluster, engine: str) -> Json:
    """Return the metadata of the objects that have the name of the dashboards."""
    return shared_metadata(cluster, dashboards_name(cluster), labels(which, cluster, engine))


def deployment(  # noqa: PLR0913 - what a Deployment is made from
    which: Frontend,
    cluster: SearchCluster,
    asked: Dashboards,
    engine: str,
    *,
    version: str,
    replicas: int,
    secured: bool,
    config: str,
) -> Json:
    """Return the Deployment with a number of instances of a version; `config` is the Secret with the configuration."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(which, cluster, engine),
        "spec": {
            "replicas": replicas,
            "revisionHistoryLimit": 0,
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "selector": {"matchLabels": selector(cluster, engine)},
            "template": template(which, cluster, asked, engine, version=version, secured=secured, config=config),
        },
    }


def bare(asked: Dashboards) -> Dashboards:
    """Return the dashboards without the overrides of their pods."""
    return replace(asked, pod_template=None)


def template(  # noqa: PLR0913 - what a template is made from
    which: Frontend,
    cluster: SearchCluster,
    asked: Dashboards,
    engine: str,
    *,
    version: str,
    secured: bool,
    config: str,
) -> Json:
    """Return the template of the pods, with the user's overrides."""
    own_labels = labels(which, cluster, engine)
    own: Json = {
        "metadata": {"labels": own_labels, "annotations": {names.ANNOTATION_VERSION: version}},
        "spec": {
            "automountServiceAccountToken": False,
            # Variables such as KIBANA_PORT would be taken for settings.
            "enableServiceLinks": False,
            "securityContext": security_context(USER),
            "affinity": preferences(spread_preference(100, selector(cluster, engine))),
            "topologySpreadConstraints": [
                {
                    "maxSkew": 1,
                    "topologyKey": ZONE,
                    "whenUnsatisfiable": "ScheduleAnyway",
                    "labelSelector": {"matchLabels": selector(cluster, engine)},
                }
            ],
            "containers": [_container(which, cluster, asked, version, secured=secured)],
            "volumes": [
                {"name": CONFIG, "secret": {"secretName": config, "defaultMode": 0o440}},
                *read_only.volumes(_writable(which)),
            ],
        },
    }
    return overridden(own, asked.pod_template or {})


def _container(which: Frontend, cluster: SearchCluster, asked: Dashboards, version: str, *, secured: bool) -> Json:
    # Without security, the image of OpenSearch Dashboards removes a plug-in from its own files when it starts.
    removes = which is not KIBANA and not secured
    rights = {**read_only.container_rights(), "readOnlyRootFilesystem": not removes}
    scheme = "HTTPS" if serves_https(asked, secured=secured) else "HTTP"
    return {
        "name": CONTAINER,
        "image": image(which, cluster, asked, version),
        "env": [{"name": "DISABLE_SECURITY_DASHBOARDS_PLUGIN", "value": "true"}] if removes else [],
        "ports": [{"name": "http", "containerPort": PORT, "protocol": "TCP"}],
        "resources": asked.resources or RESOURCES,
        "securityContext": rights,
        "volumeMounts": [
            {"name": CONFIG, "mountPath": f"{which.home}/config", "readOnly": True},
            *read_only.mounts(_writable(which)),
        ],
        # No liveness probe: it would end a migration of saved objects that takes long.
        "readinessProbe": {
            "httpGet": {"path": status_path(asked), "port": PORT, "scheme": scheme},
            "periodSeconds": 5,
            "timeoutSeconds": 5,
            "failureThreshold": 3,
        },
    }


def _writable(which: Frontend) -> Mapping[str, str]:
    return {"data": f"{which.home}/data", "tmp": "/tmp"}  # noqa: S108 - in the pod


def service(which: Frontend, cluster: SearchCluster, asked: Dashboards, engine: str, *, secured: bool) -> Json:
    """Return the Service of the dashboards."""
    https = serves_https(asked, secured=secured)
    name = "https" if https else "http"  # Gateways and Ingress controllers know the protocol by this name.
    made = client_service(asked.service, metadata(which, cluster, engine), name, PORT, selector(cluster, engine))
    ports = [{**port, "appProtocol": name} if port["port"] == PORT else port for port in _ports(made)]
    return {**made, "spec": {**made["spec"], "ports": ports}}


def _ports(made: Json) -> list[Any]:
    return cast("list[Any]", made["spec"]["ports"])


def budget(which: Frontend, cluster: SearchCluster, engine: str) -> Json:
    """Return the disruption budget: one instance at a time."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata(which, cluster, engine),
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector(cluster, engine)}},
    }


def network_policy(which: Frontend, cluster: SearchCluster, engine: str) -> Json:
    """Return the NetworkPolicy: the port for browsers is open, and no other."""
    return beside.network_policy(metadata(which, cluster, engine), selector(cluster, engine), PORT)
