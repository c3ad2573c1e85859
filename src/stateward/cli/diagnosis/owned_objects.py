"""All objects of a cluster as the API server has them, of every kind that the viewer may list."""

from collections.abc import Iterable
from typing import Any

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.cli.shared.session import Session
from stateward.kube.client.client import ListOptions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import Forbidden, Gone
from stateward.kube.objects.metadata import key_of
from stateward.kube.objects.resource import Resource, Selection
from stateward.operator.objects.caches import OWNED
from stateward.operator.objects.kinds import kind_of
from stateward.operator.objects.live import selection_of


async def read_raw(session: Session, kind: Resource[Any], selection: Selection) -> list[Json]:
    """Return whole objects, page by page; raise ApiError."""
    found, token, raw = list[Json](), "", kind.raw()
    while True:
        try:
            page = await session.api.list(raw, selection, ListOptions(continue_token=token))
        except Gone:
            return list((await session.api.list(raw, selection)).items)
        found += page.items
        token = page.continue_token
        if not token:
            return found


async def read_owned(session: Session, cluster: Cluster, denied: list[str]) -> dict[str, list[Json]]:
    """Return the objects of a cluster by plural; kinds that the viewer may not list are added to `denied`."""
    selection, found = selection_of(key_of(cluster), kind_of(cluster)), dict[str, list[Json]]()
    for kind in (*OWNED, kinds.NETWORK_POLICIES):
        try:
            found[kind.plural] = await read_raw(session, kind, selection)
        except Forbidden:
            denied.append(kind.kind)
    return found


def identities(owned: dict[str, list[Json]], cluster: Cluster) -> tuple[frozenset[str], frozenset[str]]:
    """Return the UIDs of a cluster and its objects, and the names that its objects have or had."""
    bodies = [body for found in owned.values() for body in found]
    uids = {cluster.metadata.uid, *(body["metadata"].get("uid", "") for body in bodies)} - {""}
    return frozenset(uids), frozenset(_member_objects(m.name for m in cluster.status.member_states))


def _member_objects(members: Iterable[str]) -> Iterable[str]:
    for member in members:
        yield from (member, names.pod(member), names.claim(member), names.agent(member))
