"""What the dashboards of each engine are called: names, paths and settings, one record per engine."""

from dataclasses import dataclass

from stateward.api.kinds.products import ELASTICSEARCH, product_of
from stateward.api.kinds.search import SearchCluster

PORT = 5601
CONTAINER = "dashboards"


@dataclass(frozen=True)
class Frontend:
    """The dashboards of one engine in their official image."""

    title: str
    name: str
    """Value of the label app.kubernetes.io/name."""
    image: str
    home: str
    config_file: str
    prefix: str
    """What the settings of the database begin with."""


OPENSEARCH_DASHBOARDS = Frontend(
    title="OpenSearch Dashboards",
    name="opensearch-dashboards",
    image="docker.io/opensearchproject/opensearch-dashboards",
    home="/usr/share/opensearch-dashboards",
    config_file="opensearch_dashboards.yml",
    prefix="opensearch",
)
KIBANA = Frontend(
    title="Kibana",
    name="kibana",
    image="docker.elastic.co/kibana/kibana",
    home="/usr/share/kibana",
    config_file="kibana.yml",
    prefix="elasticsearch",
)


def frontend(cluster: SearchCluster) -> Frontend:
    """Return the dashboards of a cluster's engine."""
    return KIBANA if product_of(cluster) is ELASTICSEARCH else OPENSEARCH_DASHBOARDS


def dashboards_name(cluster: SearchCluster) -> str:
    """Return the name of the Deployment, the Service, the budget, and the route."""
    return f"{cluster.metadata.name}-dashboards"


def keys_secret(cluster: SearchCluster) -> str:
    """Return the name of the Secret with keys and credentials; no pod mounts it."""
    return f"{dashboards_name(cluster)}-keys"


def server_names(cluster: SearchCluster) -> tuple[str, ...]:
    """Return the names for which the certificate of the dashboards is valid; the third is their DNS name."""
    name, namespace = dashboards_name(cluster), cluster.metadata.namespace
    full = f"{name}.{namespace}.svc"
    return (name, f"{name}.{namespace}", full, f"{full}.cluster.local", "localhost")


def dns_name(cluster: SearchCluster) -> str:
    """Return the DNS name of the Service."""
    return server_names(cluster)[2]
