"""The inputs of a search cluster's members, and the effect of a change of each; see `engines.digests`."""

from collections.abc import Iterator
from typing import Any, cast

from stateward.api.values.base import Json
from stateward.engines.pods.digests import digest, quantities, template_parts
from stateward.engines.pods.uses import DATA_EFFECTS, known
from stateward.engines.search.configuration import keystore, security
from stateward.engines.search.plugins.files import installed
from stateward.engines.search.spec.images import image_pattern
from stateward.engines.search.spec.pools import EPHEMERAL, HOLDS, VOTES_ONLY, ResolvedPool
from stateward.planning.model.observation import Effect, Inputs
from stateward.planning.model.security import CERTIFICATES

EFFECTS = {
    "version": Effect.RECREATE,
    "image": Effect.RECREATE,
    "config": Effect.RESTART,
    "roles": Effect.RECREATE,
    "resources": Effect.RECREATE,
    "template": Effect.RECREATE,
    "storage": Effect.REPLACE,
    VOTES_ONLY: Effect.REPLACE,
    "plugins": Effect.RECREATE,
    "pluginSource": Effect.RECREATE,
    security.TOGETHER: Effect.RESTART,
    security.GUESTS: Effect.RESTART,
    CERTIFICATES: Effect.RESTART,
    keystore.INPUT: Effect.RESTART,
    **DATA_EFFECTS,
}
"""The effect of a change, by the first part of an input's name."""
COORDINATED = frozenset({security.TOGETHER})
"""Inputs with a coordinated change: members before and after it cannot talk to each other."""

_NEWEST = "9999.0.0"


def inputs(pool: ResolvedPool, version: str) -> Inputs:
    """Return the inputs of the pool's members at a version."""
    data, asked = pool.cluster.status.data_digests, pool.cluster.spec.secure_settings
    own = {name: digest(name, value) for name, value in _asked(pool, version)}
    return {**own, **keystore.inputs(asked, data), **known(pool.template, data)}


def _asked(pool: ResolvedPool, version: str) -> Iterator[tuple[str, Any]]:
    spec, cluster = pool.spec, pool.cluster.spec
    yield "version", version
    if cluster.image is not None:
        yield "image", image_pattern(pool.flavor, pool.cluster)
    for key, value in pool.settings.items():
        yield f"config/{key}", plain(value)
    if spec.roles is not None:
        yield "roles", pool.flavor.lineage.role_names(spec.roles, _NEWEST)
    yield from _retained(pool)
    yield from security.inputs(pool, version)
    if cluster.secure_settings:
        yield keystore.INPUT, keystore.summary(cluster.secure_settings)
    plugins = installed(pool.cluster, version)
    for plugin in plugins:
        yield f"plugins/{plugin.name}", plugin.file
    if plugins and (source := cluster.plugin_source) is not None:
        yield "pluginSource", [source.url, source.image, source.claim_name]
    if spec.resources:
        yield "resources", quantities(spec.resources)
    yield from template_parts(pool.template)


def _retained(pool: ResolvedPool) -> Iterator[tuple[str, Any]]:
    if not (pool.data and pool.voting):
        # A node refuses to start when it finds data that its roles do not allow, so a change of these roles needs a new
        # member. Members with all roles have no such input: naming the default roles changes nothing.
        yield HOLDS, pool.role_label
    if pool.votes_only:
        yield VOTES_ONLY, True
    if pool.explicitly_ephemeral:
        yield EPHEMERAL, True


def plain(value: Any) -> Any:
    """Return a setting as the database reads it: every scalar is text, and `true` equals `"true"`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return [plain(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in cast("Json", value).items()}
    return str(value)
