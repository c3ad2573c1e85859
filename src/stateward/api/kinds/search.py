"""The clusters of the search family, as people write them: OpenSearch and Elasticsearch."""

from typing import Annotated

from msgspec import Meta

from stateward.api.kinds.access.dashboards import Dashboards
from stateward.api.kinds.access.metrics import SearchMetrics
from stateward.api.kinds.access.remote import RemoteAccess, RemoteCluster
from stateward.api.kinds.access.routes import Routes
from stateward.api.kinds.access.service import ServiceTemplate
from stateward.api.kinds.additions.keystore import SecureSettings
from stateward.api.kinds.additions.plugins import Plugin, PluginSource
from stateward.api.kinds.cluster import Cluster, ClusterSpec, MemberPool, UpdatePolicy
from stateward.api.kinds.scaling.limits import MOST_MEMBERS, Scaling
from stateward.api.kinds.security import Security
from stateward.api.kinds.shapes import version
from stateward.api.kinds.snapshots.origin import Beginning
from stateward.api.kinds.snapshots.snapshot import Repository
from stateward.api.values.base import Json, Record
from stateward.api.values.duration import DURATION, SPAN
from stateward.api.values.settings import OWNED


class Pool(MemberPool, kw_only=True):
    """A set of members with the same roles and the same template."""

    replicas: Annotated[
        int,
        Meta(
            description="How many members the pool has; with `scaling` the number to begin with, or the nearest one"
            " within its limits.",
            ge=0,
            le=MOST_MEMBERS,
        ),
    ]
    scaling: Annotated[
        Scaling | None,
        Meta(
            description="Let the number of members change between limits, by rules or by a PoolScale. Default:"
            " `replicas` is the number."
        ),
    ] = None
    roles: Annotated[
        Annotated[list[Annotated[str, Meta(min_length=1, max_length=40)]], Meta(max_length=16)] | None,
        Meta(
            description="Roles of the database nodes: cluster_manager (in Elasticsearch master), data, ingest,"
            " remote_cluster_client and others that the version knows. An empty list is a"
            " coordinating-only node; if not set, all default roles.",
            extra={"list_type": "set"},
        ),
    ] = None
    config: Annotated[
        Json | None,
        Meta(
            description="Settings of the configuration file (opensearch.yml, elasticsearch.yml) for this pool;"
            " they override the cluster's.",
            extra={"owned": OWNED},
        ),
    ] = None


class UpgradeSnapshot(Record):
    """The snapshot that an upgrade needs before it begins."""

    repository: Annotated[
        Repository, Meta(description="The repository of a SearchSnapshot or SearchSnapshotSchedule of this cluster.")
    ]
    max_age: Annotated[
        Annotated[str, Meta(pattern=DURATION, max_length=20, extra=SPAN)],
        Meta(description="How old the newest successful snapshot with all indices may be, for example 24h."),
    ] = "24h"


class SearchUpdatePolicy(UpdatePolicy):
    """How changes roll over the members of a search cluster."""

    snapshot_before_upgrade: Annotated[
        UpgradeSnapshot | None,
        Meta(description="An upgrade begins only after a snapshot that is not older than this. Default: without one."),
    ] = None


class SearchSpec(ClusterSpec, kw_only=True):
    """The desired state of a search cluster, for both engines."""

    pools: Annotated[
        list[Pool],
        Meta(description="The pools of members.", min_length=1, max_length=50, extra={"map_keys": ["name"]}),
    ]
    update: Annotated[SearchUpdatePolicy | None, Meta(description="How changes roll over the members.")] = None
    config: Annotated[
        Json | None,
        Meta(
            description="Settings of the configuration file (opensearch.yml, elasticsearch.yml) for all pools, as"
            " nested or dotted keys.",
            extra={"owned": OWNED},
        ),
    ] = None
    service: Annotated[ServiceTemplate | None, Meta(description="Overrides of the Service that clients use.")] = None
    security: Annotated[
        Security | None, Meta(description="Security of the database: TLS, certificates and the first administrator.")
    ] = None
    secure_settings: Annotated[
        Annotated[list[SecureSettings], Meta(max_length=50)] | None,
        Meta(
            description="Secrets whose content goes into the keystore of every member. A changed Secret restarts"
            " processes in their pods; a deleted Secret leaves the keystores unchanged."
        ),
    ] = None
    plugins: Annotated[
        Annotated[list[Plugin], Meta(max_length=50, min_length=1)] | None,
        Meta(
            description="Plug-ins that are installed before the database starts, beside those of the image.",
            extra={"map_keys": ["name"]},
        ),
    ] = None
    plugin_source: Annotated[
        PluginSource | None,
        Meta(description="Where the files of the plug-ins come from. Default: the download site of the database."),
    ] = None
    bootstrap: Annotated[
        Beginning | None,
        Meta(description="What a new cluster begins with. It can only be given when the cluster is created."),
    ] = None
    dashboards: Annotated[
        Dashboards | None,
        Meta(description="OpenSearch Dashboards, or Kibana with Elasticsearch, beside the database."),
    ] = None
    metrics: Annotated[
        SearchMetrics | None,
        Meta(description="The database's own metrics for Prometheus, from an exporter beside the database."),
    ] = None
    routes: Annotated[
        Routes | None,
        Meta(description="Host names that lead to the database, if the operator makes routes (--routes)."),
    ] = None
    remote_clusters: Annotated[
        Annotated[list[RemoteCluster], Meta(max_length=50)] | None,
        Meta(description="Clusters that this one searches, by an alias.", extra={"map_keys": ["name"]}),
    ] = None
    remote_access: Annotated[
        RemoteAccess | None, Meta(description="Clusters that may search this one. Default: none.")
    ] = None


class SearchCluster(Cluster):
    """A cluster of the search family, of either engine."""

    spec: SearchSpec


class OpenSearchSpec(SearchSpec):
    """What an OpenSearch cluster should be."""

    version: Annotated[str, version("Version of OpenSearch", "2.19.5")]


class OpenSearchCluster(SearchCluster):
    """An OpenSearch cluster."""

    spec: Annotated[OpenSearchSpec, Meta(description="The desired state of the cluster.")]
    kind: str = "OpenSearchCluster"


class ElasticsearchSpec(SearchSpec):
    """What an Elasticsearch cluster should be."""

    version: Annotated[str, version("Version of Elasticsearch, from 7.17.0 to 9.x", "8.19.4")]


class ElasticsearchCluster(SearchCluster):
    """An Elasticsearch cluster."""

    spec: Annotated[ElasticsearchSpec, Meta(description="The desired state of the cluster.")]
    kind: str = "ElasticsearchCluster"
