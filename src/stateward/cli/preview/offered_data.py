"""ConfigMaps and Secrets in a change: the keys that would restart members of a cluster.

The operator's digests use a key that only the operator has. So the present and the offered data are compared here, and
a changed key gets a digest that differs from the operator's. Values are never shown.
"""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.base import Json
from stateward.api.values.digests import OUT, THERE, differs
from stateward.cli.shared.session import Session
from stateward.engines.pods.uses import uses_of
from stateward.engines.search.configuration import keystore
from stateward.operator.observe.known_data import ReadData, asked_of, known_data
from stateward.operator.restarts.sources import read_sources
from stateward.packages.format.trees import at, text
from stateward.packages.restarts.dependencies import CONFIG_MAP, SECRET, Dependency
from stateward.packages.restarts.digests import Key

Objects = Mapping[tuple[str, str], Json]
NEW = "offered"
"""Replaces the digest of data that does not exist yet."""


def data_in(found: Iterable[tuple[str, Any]]) -> tuple[Json, ...]:
    """Return the ConfigMaps and Secrets among documents."""
    documents = (cast("Json", item) for _, item in found if isinstance(item, dict))
    return tuple(document for document in documents if document.get("kind") in (CONFIG_MAP, SECRET))


async def with_offered(session: Session, cluster: Cluster, offered: Iterable[Json]) -> Cluster:
    """Return a cluster with the known data as it would be after the objects are applied; raise ApiError.

    Objects of other namespaces are not those that its pods use, whatever their names are.
    """
    used = {(each.kind, each.name) for each in uses_of(cluster) | keystore.sources(asked_of(cluster))}
    here = (each for each in offered if text(at(each, "metadata", "namespace")) in ("", session.namespace))
    named = {(text(each.get("kind")), text(at(each, "metadata", "name"))): each for each in here}
    concerned = {identity: body for identity, body in named.items() if identity in used}
    if not concerned:
        return cluster
    wanted = [Dependency(*identity) for identity in concerned]
    now = await read_sources(session.api, wanted, session.namespace)
    return with_offered_digests(cluster, now, concerned)


def with_offered_digests(cluster: Cluster, now: Objects, offered: Objects) -> Cluster:
    """Return the cluster with other digests for the keys that would change."""
    before, after = (
        known_data(cluster, uses_of(cluster), ReadData(dict(objects)), (), _KEY).data for objects in (now, offered)
    )
    data = dict(cluster.status.data_digests or {})
    for name in before.keys() | after.keys():
        if not differs(name, before, after) and name in before and name in after:
            continue
        if name not in after:
            data.pop(name, None)
        elif after[name] in (OUT, THERE):
            data[name] = after[name]
        else:
            data[name] = f"{data.get(name, '').rpartition('/')[0] or _made_with(data)}/{NEW}"
    return replace(cluster, status=replace(cluster.status, data_digests=data or None))


_KEY = Key(b"to compare what is there with what is offered")


def _made_with(data: Mapping[str, str]) -> str:
    """Return the name of the key of the operator's digests, if there is any."""
    return next((digest.rpartition("/")[0] for digest in data.values() if "/" in digest), NEW)
