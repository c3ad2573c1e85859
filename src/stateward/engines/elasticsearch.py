"""Elasticsearch: its names, defaults and differences from OpenSearch.

`GET /` is not used as a probe: some builds of 8.x lack the module that serves it and answer 405. Every build answers
the local node info, in a cluster and without one.
"""

from stateward.api.values.roles import ELASTICSEARCH_ROLES, VOTING_ONLY
from stateward.api.values.version import Version
from stateward.engines.connection.answer_limits import Rooms
from stateward.engines.connection.base import Engine, Transport
from stateward.engines.search.database.driver import SearchEngine
from stateward.engines.search.spec.flavor import Flavor, Shield
from stateward.engines.search.spec.versions import Lineage

ELASTICSEARCH = Flavor(
    engine="elasticsearch",
    image="docker.elastic.co/elasticsearch/elasticsearch",
    home="/usr/share/elasticsearch",
    config_file="elasticsearch.yml",
    entrypoint="/usr/local/bin/docker-entrypoint.sh",
    alive="/_nodes/_local/http?filter_path=_nodes",
    java_options="ES_JAVA_OPTS",
    # 8.x reads the data of 7.x, and does not talk to nodes older than 7.17.
    lineage=Lineage(example="8.19.4", stones={8: Version(7, 17, 0)}),
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
