"""The configuration file of a member: the user's settings, the settings that Stateward owns, and defaults."""

import json
from typing import Any

from stateward.api.values import names
from stateward.engines.search.configuration import security
from stateward.engines.search.spec.flavor import HTTP_PORT, TRANSPORT_PORT
from stateward.engines.search.spec.identity import cluster_name
from stateward.engines.search.spec.pools import ResolvedPool
from stateward.engines.search.spec.probes import probe_files


def config_files(pool: ResolvedPool, ordinal: int, version: str) -> dict[str, str]:
    """Return the content of a member's configuration Secret, by file name."""
    return {
        pool.flavor.config_file: render(pool, ordinal, version),
        **probe_files(security.question(pool)),
        **security.files(pool),
        **pool.extra_files,
    }


def render(pool: ResolvedPool, ordinal: int, version: str) -> str:
    """Return the configuration file: one setting per line, sorted, with values as JSON, which is also YAML."""
    chosen = {**pool.flavor.defaults(version), **security.defaults(pool), **pool.settings}
    settings = {**chosen, **owned(pool, ordinal, version), **security.settings(pool, version)}
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in sorted(settings.items()))


def owned(pool: ResolvedPool, ordinal: int, version: str) -> dict[str, Any]:
    """Return the settings that Stateward owns: validation refuses them in a spec, and they override all others."""
    cluster = pool.cluster.metadata
    settings: dict[str, Any] = {
        "cluster.name": cluster_name(pool.cluster),
        "node.name": names.member(cluster.name, pool.name, ordinal),
        "network.host": "0.0.0.0",  # noqa: S104 - a pod has one address, and it is not known here
        "network.publish_host": "${POD_IP}",
        "http.port": HTTP_PORT,
        "transport.port": TRANSPORT_PORT,
        "path.data": f"{pool.flavor.home}/data",
        # The file follows the pods without a restart. The DNS name is for the first minutes, until the file reaches the
        # pod.
        "discovery.seed_providers": "file",
        "discovery.seed_hosts": [f"{cluster.name}-discovery.{cluster.namespace}.svc"],
    }
    if pool.spec.roles is not None or pool.roles != pool.flavor.default_roles:
        settings["node.roles"] = pool.flavor.lineage.role_names(pool.roles, version)
    return settings
