"""One settled cluster as a real API server has it, to be multiplied: so many clusters take a server hours to make.

What is recorded are whole objects, with everything that other controllers and the server itself put into them.
"""

from pathlib import Path
from typing import Any

import msgspec

from bench.clusters.certificates import renamed
from stateward.api.values import names
from stateward.kube.access.config import connect
from stateward.kube.client.client import RawRequest
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.resources import SECRETS
from stateward.operator.objects.caches import CLUSTERS, OWNED, SHARED

Object = dict[str, Any]

RECORDED: tuple[Resource[Any], ...] = (CLUSTERS, *OWNED, *SHARED)


class Recording(msgspec.Struct, frozen=True):
    """Objects by the path of their collection, and the newest version of all."""

    objects: dict[str, list[Object]]
    version: int


async def record(kubeconfig: str) -> Recording:
    """Return what a real API server has."""
    objects: dict[str, list[Object]] = {}
    async with HttpApi(connect(kubeconfig=kubeconfig)) as api:
        for kind in RECORDED:
            selection = Selection(labels=names.LABEL_CLUSTER if kind in OWNED else "")
            answer = await api.request(RawRequest(kind.path(), query=selection.query()))
            items: list[Object] = msgspec.json.decode(answer)["items"]
            # Items of a list don't say what they are; those of a watch do.
            objects[kind.path()] = [{"apiVersion": kind.api_version, "kind": kind.kind, **item} for item in items]
    return Recording(objects, max(version(item) for items in objects.values() for item in items))


def version(item: Object) -> int:
    """Return the resourceVersion of an object."""
    return int(item["metadata"]["resourceVersion"])


def multiplied(recorded: Recording, name: str, others: list[str]) -> Recording:
    """Return a recording in which the cluster `name` is there under each of the other names as well.

    Each has UIDs of its own, in all places where the recorded ones occur, and certificates of its own if it has any.
    """
    shared = {kind.path() for kind in SHARED}
    owned = {path: items for path, items in recorded.objects.items() if path not in shared}
    text = msgspec.json.encode(owned).decode()
    uids = {item["metadata"]["uid"] for items in owned.values() for item in items}
    objects = {path: list(items) for path, items in recorded.objects.items()}
    for number, other in enumerate(others, start=1):
        changes = {uid: f"{uid[:-6]}{number:06x}" for uid in uids}
        changes |= renamed(recorded.objects.get(SECRETS.path(), []), name, other)
        copy = text.replace(name, other)
        for before, after in changes.items():
            copy = copy.replace(before, after)
        for path, items in msgspec.json.decode(copy, type=dict[str, list[Object]]).items():
            objects[path] += items
    return Recording(objects, recorded.version)


def save(recorded: Recording, path: Path) -> None:
    """Write a recording to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(recorded))


def load(path: Path) -> Recording:
    """Read a recording from a file; raise FileNotFoundError or msgspec.DecodeError."""
    return msgspec.json.decode(path.read_bytes(), type=Recording)
