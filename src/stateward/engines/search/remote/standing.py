"""Why a cluster cannot be searched yet, from the specs and the status of both. Pure."""

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
    if place == place_of(cluster):
        return Standing("RemoteClusterInvalid", f"{entry.name} names this cluster itself")
    if other is None:
        return Standing("RemoteClusterMissing", f"there is no {title}")
    if place_of(cluster) not in admitted(other):
        own = cluster.metadata
        word = f"{{name: {own.name}, namespace: {own.namespace}}}"
        return Standing(
            "RemoteClusterNotAllowed", f"{title} does not name this cluster: add {word} to its spec.remoteAccess.from"
        )
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
