"""OpenSearch: its names and defaults, and the objects and driver of its clusters.

The functions are pure. Only `driver` returns an object that talks to a database.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from stateward.api.values.base import Json
from stateward.api.values.version import Version
from stateward.engines.connection.answer_limits import Rooms
from stateward.engines.connection.base import Engine, Transport
from stateward.engines.pods.objects import MemberObjects
from stateward.engines.search.database.driver import SearchEngine
from stateward.engines.search.objects import desired as family_desired
from stateward.engines.search.objects import member as family_member
from stateward.engines.search.objects import shared as family_shared
from stateward.engines.search.spec.flavor import Flavor, SearchCluster, Shield
from stateward.engines.search.spec.identity import cluster_name
from stateward.engines.search.spec.versions import Gate, Lineage, Numbering
from stateward.planning.model.observation import Desired
from stateward.planning.safety.disruption_budget import Budget

__all__ = ["OPENSEARCH", "MemberObjects", "cluster_name", "cluster_objects", "desired", "driver", "member_objects"]

OPENSEARCH = Flavor(
    engine="opensearch",
    image="docker.io/opensearchproject/opensearch",
    home="/usr/share/opensearch",
    config_file="opensearch.yml",
    entrypoint="/usr/share/opensearch/opensearch-docker-entrypoint.sh",
    alive="/",
    java_options="OPENSEARCH_JAVA_OPTS",
    # 3.x nodes close the connection of nodes older than 2.19.0 ("minimal compatible version is: [2.19.0]"). 2.x is
    # documented to work with 1.3 and newer; 1.0.0 cannot talk to it.
    lineage=Lineage(
        example="2.19.5",
        renamed=2,
        # Its numbers never meet those of Elasticsearch, whose indices of 7.x are readable in 1.x and 2.x.
        numbering=Numbering(mark=0x08000000),
        gates=(
            Gate(first=Version(2, 0, 0), oldest=Version(1, 3, 0)),
            Gate(first=Version(3, 0, 0), oldest=Version(2, 19, 0)),
        ),
    ),
    default_roles=frozenset({"cluster_manager", "data", "ingest", "remote_cluster_client"}),
    data_roles=frozenset({"data", "search", "warm"}),
    tiers={"search": 0, "warm": 1, "data": 2},
    shield=Shield.PLUGIN,
    environment={
        "DISABLE_INSTALL_DEMO_CONFIG": "true",
        # This is only the default: the configuration can override it within one pod; the environment cannot change
        # there.
        "DISABLE_SECURITY_PLUGIN": "true",
        "DISABLE_PERFORMANCE_ANALYZER_AGENT_CLI": "true",
    },
    settings={
        # Memory mapping needs vm.max_map_count of 262144 on every Kubernetes node; with less the database refuses to
        # start. Raising it takes a privileged container, which many clusters forbid. On prepared nodes, users set
        # `config: {node.store.allow_mmap: true}`.
        "node.store.allow_mmap": "false",
    },
)


def desired(cluster: SearchCluster) -> Desired:
    """Return the desired state, with all defaults filled in and a refused version left out."""
    return family_desired.desired(OPENSEARCH, cluster)


def member_objects(
    cluster: SearchCluster, pool: str, ordinal: int, version: str, *, agent_image: str = ""
) -> MemberObjects:
    """Return configuration, claim and StatefulSet of a member; raise KeyError when the spec has no such pool.

    `agent_image` is Stateward's own image. Without it the pods get no agent.
    """
    flavor = replace(OPENSEARCH, agent_image=agent_image)
    return family_member.member_objects(flavor, cluster, pool, ordinal, version)


def cluster_objects(cluster: SearchCluster, voters: Iterable[str], budgets: Sequence[Budget] = ()) -> list[Json]:
    """Return Services, ConfigMaps and budgets; `voters` are the addresses of all voting pods, Ready or not."""
    return family_shared.cluster_objects(OPENSEARCH, cluster, voters, budgets)


def driver(transport: Transport, rooms: Rooms | None = None) -> Engine:
    """Return the driver for OpenSearch clusters; drivers that share `rooms` share its memory limit."""
    return SearchEngine(OPENSEARCH, transport, rooms)
