"""Why a cluster cannot be searched yet, from the specs and the status of both. Pure.

The disaster this prevents: a tenant learns which clusters there are in the namespaces of others. Without consent, one
that exists looks like one that does not.
"""

from msgspec import Struct

from stateward.api.kinds.access.remote import RemoteCluster
from stateward.api.kinds.search import SearchCluster
from stateward.engines.search.spec.consent import Place, admitted, place_of


class Standing(Struct, frozen=True):
    """Why an entry has no effect; empty if it has."""

    reason: str = ""
    message: str = ""


def standing(cluster: SearchCluster, entry: RemoteCluster, place: Place, other: SearchCluster | None) -> Standing:
    """Return the standing of an entry; `other` is the cluster that it names, None if there certainly is none."""
    title = f"{cluster.kind} {place}"
    own = place_of(cluster)
    if place == own:
        return Standing("RemoteClusterInvalid", f"{entry.name} names this cluster itself")
    near = place.namespace == own.namespace
    if other is None and near:
        return Standing("RemoteClusterMissing", f"there is no {title}")
    if other is None or own not in admitted(other):
        doubt = "" if near else "does not exist, or "
        add = f"add {{name: {own.name}, namespace: {own.namespace}}} to its spec.remoteAccess.from"
        return Standing("RemoteClusterNotAllowed", f"{title} {doubt}does not name this cluster: {add}")
    mine, theirs = runs_secured(cluster), runs_secured(other)
    if mine is not theirs:
        words = f"{title} is {_word(secured=theirs)}, and this cluster is {_word(secured=mine)}"
        return Standing("RemoteClusterSecurityDiffers", f"{words}: their members cannot talk to each other")
    return Standing()


def runs_secured(cluster: SearchCluster) -> bool:
    """Return whether a cluster is secured, as its status says."""
    return cluster.status.security is not None and cluster.status.security.enabled


def _word(*, secured: bool) -> str:
    return "secured" if secured else "not secured"
