"""The effects that a change can have, and those of scaling and of what is beside the database; `living` has others."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct


class Does(StrEnum):
    """What follows from a change, from nothing to a new member in the place of each."""

    NOTHING = "nothing now"
    AT_ONCE = "at once"
    RELOAD = "reload"
    RESTART = "restart"
    RECREATE = "recreate"
    REPLACE = "replace"
    MEMBERS = "members come or go"
    REFUSED = "refused"


class Change(Struct, frozen=True):
    """What a change of one field does, and what else is worth knowing of it, as a sentence."""

    does: Does
    word: str = ""


_DASHBOARDS = Change(Does.AT_ONCE, "The instances restart one after the other; no member is touched.")
_SERVICE = Change(Does.AT_ONCE, "The Service changes.")
_ROUTE = Change(Does.AT_ONCE, "The Ingress or HTTPRoute changes, if the operator makes routes (--routes).")
_ROUTES = (
    "hosts",
    "ingressClassName",
    "tlsSecretName",
    "parentRefs[].name",
    "parentRefs[].namespace",
    "parentRefs[].sectionName",
)

METRICS: Mapping[str, Change] = {
    f"metrics.{field}": Change(Does.AT_ONCE, "The exporter restarts; no member is touched.")
    for field in (
        "resources.requests",
        "resources.limits",
        "resources.claims",
        "podTemplate.metadata.labels",
        "podTemplate.metadata.annotations",
        "podTemplate.spec",
    )
}
"""Fields for the exporter of metrics, of all kinds of clusters."""

ACCESS: Mapping[str, Change] = {
    "dashboards.replicas": Change(Does.AT_ONCE, "Instances start or stop; no member is touched."),
    "dashboards.version": Change(
        Does.AT_ONCE, "All instances stop, and then start with the new version. An earlier version is refused."
    ),
    **{
        f"dashboards.{field}": _DASHBOARDS
        for field in (
            "image",
            "config",
            "resources.requests",
            "resources.limits",
            "resources.claims",
            "podTemplate.metadata.labels",
            "podTemplate.metadata.annotations",
            "podTemplate.spec",
            "tls.enabled",
            "tls.secretName",
        )
    },
    **{f"dashboards.service.{field}": _SERVICE for field in ("type", "labels", "annotations", "spec")},
    "dashboards.rotateCredentialsAfter": Change(
        Does.NOTHING, "The credentials change when they are as old; the instances then restart one after the other."
    ),
    **METRICS,
    "metrics.rotateCredentialsAfter": Change(
        Does.NOTHING, "The credentials change when they are as old; the exporter then restarts, and no member."
    ),
    **{
        f"remoteClusters[].{field}": Change(Does.AT_ONCE, "The settings in the database change; no member is touched.")
        for field in ("name", "cluster.name", "cluster.namespace", "skipUnavailable")
    },
    **{
        f"remoteAccess.from[].{field}": Change(
            Does.RESTART,
            "One after the other, if the cluster is secured: only a start reads the names. Otherwise at once.",
        )
        for field in ("name", "namespace")
    },
    **{f"{holder}.{field}": _ROUTE for holder in ("routes", "dashboards.routes") for field in _ROUTES},
}
"""Fields of search clusters for what is beside the database."""

_RULES = Change(Does.AT_ONCE, "Members join or leave when the rules have asked for it for long enough.")
SCALING: Mapping[str, Change] = {
    "pools[].scaling.min": Change(Does.MEMBERS, "A pool with fewer members grows at once."),
    "pools[].scaling.max": Change(Does.MEMBERS, "A pool with more members shrinks at once; they are drained first."),
    **{
        f"pools[].scaling.{field}": _RULES
        for field in ("rules[].measure", "rules[].above", "rules[].below", "growAfter", "shrinkAfter")
    },
}
"""Fields of pools that change their size between limits."""

_OTHER_POOL = Change(Does.REFUSED, "Make another PoolScale for another pool.")
POOL_SCALES: Mapping[str, Change] = {
    "cluster.kind": _OTHER_POOL,
    "cluster.name": _OTHER_POOL,
    "pool": _OTHER_POOL,
    "replicas": Change(Does.MEMBERS, "Within the limits of the pool; members that leave are drained first."),
}
"""Fields of a PoolScale."""
