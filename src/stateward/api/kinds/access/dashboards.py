"""OpenSearch Dashboards, or Kibana: the web interface of a search cluster, as people write it."""

from typing import Annotated

from msgspec import Meta

from stateward.api.kinds.access.routes import Routes
from stateward.api.kinds.access.service import ServiceTemplate
from stateward.api.kinds.security import Lifetime, SecretName
from stateward.api.kinds.shapes import POD_TEMPLATE, RESOURCES
from stateward.api.values.base import Json, Record
from stateward.api.values.dashboard_settings import OWNED

VERSION = r"^[0-9]+\.[0-9]+\.[0-9]+$"


class DashboardsTls(Record):
    """TLS between browsers and the dashboards."""

    enabled: Annotated[
        bool | None, Meta(description="Whether the dashboards serve HTTPS. Default: if the cluster is secured.")
    ] = None
    secret_name: Annotated[
        SecretName | None,
        Meta(description="Secret with tls.crt and tls.key. Default: a certificate of the cluster's CA."),
    ] = None


class Dashboards(Record):
    """OpenSearch Dashboards of an OpenSearch cluster, or Kibana of an Elasticsearch cluster."""

    replicas: Annotated[
        int, Meta(description="How many instances run; 0 keeps everything but the pods.", ge=0, le=50)
    ] = 1
    version: Annotated[
        Annotated[
            str,
            Meta(
                pattern=VERSION,
                max_length=32,
                extra={"accepts": "must be a version of three numbers, for example 2.19.5"},
            ),
        ]
        | None,
        Meta(
            description="Version of the dashboards, at most that of the cluster. Default: that of the cluster, which"
            " they follow when all members run it."
        ),
    ] = None
    image: Annotated[
        Annotated[str, Meta(max_length=512)] | None,
        Meta(
            description="Image to run instead of the official one. Its tag must have the version in it; with a digest"
            " and no tag, set `version`."
        ),
    ] = None
    config: Annotated[
        Json | None,
        Meta(
            description="Settings of opensearch_dashboards.yml or kibana.yml, as nested or dotted keys.",
            extra={"owned": OWNED},
        ),
    ] = None
    resources: Annotated[
        Json | None,
        Meta(
            description="Resource requests and limits of the container. Default: 1Gi of memory.",
            extra={"shape": RESOURCES},
        ),
    ] = None
    pod_template: Annotated[
        Json | None,
        Meta(
            description="Overrides of the pods (metadata and spec), merged by the rules of Kubernetes. The container is"
            " named dashboards.",
            extra={"shape": POD_TEMPLATE},
        ),
    ] = None
    service: Annotated[ServiceTemplate | None, Meta(description="Overrides of the Service.")] = None
    tls: Annotated[DashboardsTls | None, Meta(description="TLS between browsers and the dashboards.")] = None
    routes: Annotated[
        Routes | None,
        Meta(description="Host names that lead to the dashboards, if the operator makes routes (--routes)."),
    ] = None
    rotate_credentials_after: Annotated[
        Lifetime | None,
        Meta(
            description="How long the dashboards use one password or token of the database. Default: until you delete"
            " it from their Secret. A new one restarts the dashboards."
        ),
    ] = None


class DashboardsStatus(Record):
    """Where the dashboards stand, and what they wait for."""

    version: Annotated[str, Meta(description="The version that runs, or that started last.")] = ""
    replicas: Annotated[int, Meta(description="Instances that the spec asks for.")] = 0
    ready: Annotated[int, Meta(description="Instances that are ready to serve.")] = 0
    available: Annotated[
        bool, Meta(description="Whether they run as the spec asks for, and report that they are available.")
    ] = False
    url: Annotated[str, Meta(description="Where pods of the Kubernetes cluster reach them.")] = ""
    reason: Annotated[str, Meta(description="What they wait for, in one word for programs; empty if nothing.")] = ""
    message: Annotated[str, Meta(description="What they wait for, in one sentence for people.")] = ""
    since_time: Annotated[str, Meta(description="Since when they are in this state.")] = ""
