"""What the products of the search family are called, and what their names are in the objects people write."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from stateward.api.kinds.search import ElasticsearchCluster, OpenSearchCluster, SearchCluster
from stateward.api.values.roles import ELASTICSEARCH_ROLES, OPENSEARCH_ROLES, Roles
from stateward.api.values.version import Version, parse_version


@dataclass(frozen=True)
class Product:
    """One search engine, as far as its custom resource speaks of it."""

    record: type[SearchCluster]
    engine: str
    """Value of the engine label, and name of the database's container."""
    title: str
    java_options: str
    """Environment variable with options for the Java virtual machine."""
    image: str
    """An image, as people would name it."""
    example: str
    """An existing version."""
    roles: Roles
    tried: tuple[Version, Version]
    """The first version that was run in tests, and the first after those: what is outside may work."""
    versions: tuple[Version, Version] | None = None
    """The first supported version, and the first unsupported one; None if all are supported."""
    included_plugins: Mapping[str, Version] = field(default_factory=dict[str, Version])
    """Former plug-ins by name, and the first version that each is a part of."""

    def includes(self, plugin: str, version: str) -> bool:
        """Return whether a former plug-in is a part of a version."""
        first, parsed = self.included_plugins.get(plugin), parse_version(version)
        return first is not None and parsed is not None and parsed >= first

    @property
    def instead(self) -> str:
        """What to use instead of arguments on the command line."""
        return f"config, or env {self.java_options}"

    @property
    def kind(self) -> str:
        """The kind of the custom resource."""
        return self.record.__name__


OPENSEARCH = Product(
    record=OpenSearchCluster,
    engine="opensearch",
    title="OpenSearch",
    java_options="OPENSEARCH_JAVA_OPTS",
    image="opensearchproject/opensearch",
    example="2.19.5",
    roles=OPENSEARCH_ROLES,
    tried=(Version(1, 3, 0), Version(3, 5, 0)),
)
ELASTICSEARCH = Product(
    record=ElasticsearchCluster,
    engine="elasticsearch",
    title="Elasticsearch",
    java_options="ES_JAVA_OPTS",
    image="docker.elastic.co/elasticsearch/elasticsearch",
    example="8.19.4",
    roles=ELASTICSEARCH_ROLES,
    tried=(Version(7, 17, 0), Version(9, 3, 0)),
    versions=(Version(7, 17, 0), Version(10, 0, 0)),
    # Documented among the breaking changes of 8.0, and of 8.4 for the attachments.
    included_plugins={
        **dict.fromkeys(("repository-azure", "repository-gcs", "repository-s3"), Version(8, 0, 0)),
        "ingest-attachment": Version(8, 4, 0),
    },
)
PRODUCTS = (OPENSEARCH, ELASTICSEARCH)


def product_of(cluster: SearchCluster) -> Product:
    """Return the product of a cluster's kind; raise KeyError if there is none."""
    for product in PRODUCTS:
        if isinstance(cluster, product.record):
            return product
    raise KeyError(f"{cluster.kind} is no kind of the search family")
