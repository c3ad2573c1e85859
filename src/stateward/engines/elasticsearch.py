"""Elasticsearch: its names, defaults and differences from OpenSearch.

`GET /` is not used as a probe: some builds of 8.x and 9.x lack the module that serves it and answer 405. Every build
answers the local node info, in a cluster and without one.
"""

from stateward.api.values.roles import ELASTICSEARCH_ROLES, VOTING_ONLY
from stateward.api.values.version import Version
from stateward.engines.connection.answer_limits import Rooms
from stateward.engines.connection.base import Engine, Transport
from stateward.engines.search.database.driver import SearchEngine
from stateward.engines.search.spec.flavor import Flavor, Shield
from stateward.engines.search.spec.versions import Gate, Lineage

ELASTICSEARCH = Flavor(
    engine="elasticsearch",
    image="docker.elastic.co/elasticsearch/elasticsearch",
    home="/usr/share/elasticsearch",
    config_file="elasticsearch.yml",
    entrypoint="/usr/local/bin/docker-entrypoint.sh",
    alive="/_nodes/_local/http?filter_path=_nodes",
    java_options="ES_JAVA_OPTS",
    # Documented: from the last minor version of a major one to the next. When 9.0 was released that was 8.18; as 8.19
    # was released later, 9.0 does not take over from it.
    lineage=Lineage(
        example="8.19.4",
        gates=(
            Gate(first=Version(8, 0, 0), oldest=Version(7, 17, 0)),
            Gate(
                first=Version(9, 0, 0),
                oldest=Version(8, 18, 0),
                beyond=Version(8, 19, 0),
                instead="9.1.0 or a later 9.x",
            ),
            Gate(first=Version(9, 1, 0), oldest=Version(8, 19, 0)),
        ),
    ),
    default_roles=frozenset(ELASTICSEARCH_ROLES.since) - {VOTING_ONLY},
    data_roles=ELASTICSEARCH_ROLES.data,
    tiers={"data_frozen": 0, "data_cold": 1, "data_warm": 2, "data_hot": 3, "data_content": 3, "data": 3},
    shield=Shield.XPACK,
    announces=True,
    settings={
        # As for OpenSearch: memory mapping needs prepared nodes, so users of such nodes enable it.
        "node.store.allow_mmap": "false",
        # Since 8.0 security is on by default; spec.security decides.
        "xpack.security.enabled": "false",
    },
    settings_from={
        # Without these settings the first start of 8.x generates its own certificates, passwords and settings.
        8: {"xpack.security.autoconfiguration.enabled": "false", "xpack.security.enrollment.enabled": "false"},
    },
)


def driver(transport: Transport, rooms: Rooms | None = None) -> Engine:
    """Return the driver for Elasticsearch clusters; drivers that share `rooms` share its memory limit."""
    return SearchEngine(ELASTICSEARCH, transport, rooms)
