"""Elasticsearch: its names and defaults, and what the operator asks of it, where it differs from OpenSearch.

`GET /` is no probe here: it needs a module that some builds of 8.x lack, where it answers 405. What a node says about
itself is answered by all, with a cluster and without.
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
    # 8.x reads what 7.x has written, and talks to no node older than 7.17.
    lineage=Lineage(example="8.19.4", stones={8: Version(7, 17, 0)}),
    default_roles=frozenset(ELASTICSEARCH_ROLES.since) - {VOTING_ONLY},
    data_roles=ELASTICSEARCH_ROLES.data,
    tiers={"data_frozen": 0, "data_cold": 1, "data_warm": 2, "data_hot": 3, "data_content": 3, "data": 3},
    shield=Shield.XPACK,
    announces=True,
    settings={
        # As for OpenSearch: it needs prepared nodes, so it is left to those who prepared theirs.
        "node.store.allow_mmap": "false",
        # Since 8.0 security is on unless it is switched off; spec.security decides.
        "xpack.security.enabled": "false",
    },
    settings_from={
        # Without these the first start of 8.x writes certificates, passwords and settings of its own.
        8: {"xpack.security.autoconfiguration.enabled": "false", "xpack.security.enrollment.enabled": "false"},
    },
)


def driver(transport: Transport, rooms: Rooms | None = None) -> Engine:
    """Return the driver for Elasticsearch clusters; `rooms` is shared by those whose answers are bounded together."""
    return SearchEngine(ELASTICSEARCH, transport, rooms)
