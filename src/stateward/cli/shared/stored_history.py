"""The history of a cluster as the operator has stored it, continued by the status that the server has now."""

from dataclasses import dataclass

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.cli.shared.session import Session
from stateward.kube.objects.errors import Forbidden, NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import CONFIG_MAPS
from stateward.packages.format.trees import at, objs, text
from stateward.timeline.advance import advance
from stateward.timeline.history import History, decode


@dataclass(frozen=True, slots=True)
class Found:
    """A history, and a note if it is not all that the operator knows."""

    history: History
    note: str = ""


async def read_history(session: Session, cluster: Cluster) -> Found:
    """Return the history of a cluster until now; raise ApiError."""
    meta = cluster.metadata
    stored, note = History(), ""
    try:
        found = await session.api.get(CONFIG_MAPS.raw(), Key(meta.namespace, names.history(meta.name)))
        stored, note = stored_in(found, meta.uid)
    except NotFound:
        note = "the operator has stored no history of it yet: the picture shows what its status knows"
    except Forbidden:
        note = "you may not get ConfigMaps in its namespace: the picture shows what its status knows"
    return Found(advance(stored, cluster, cluster.status, session.now()), note)


def stored_in(found: Json, uid: str) -> tuple[History, str]:
    """Return the history in a ConfigMap of the cluster with this UID; a note if it is of another one."""
    owners = objs(at(found, "metadata", "ownerReferences"))
    if not any(owner.get("uid") == uid for owner in owners):
        return History(), "the stored history is not of this cluster: the picture shows what its status knows"
    return decode(text(at(found, "data", names.HISTORY_KEY)).encode()), ""
