"""Reads the objects whose data pods use, live and completely."""

from collections.abc import Iterable
from typing import Any

from stateward.kube.client.client import Api
from stateward.kube.objects.errors import NotFound, UnknownResource
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.operator.restarts.views import PROVIDER_CLASSES, SOURCES
from stateward.packages.restarts.dependencies import PROVIDER_CLASS, Dependency


async def read_sources(api: Api, used: Iterable[Dependency], namespace: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the existing objects, by kind and name; raises ApiError if it is unknown whether one exists.

    Unknown is not absent: no workload is judged by half of what it uses.
    """
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for kind, name in sorted({(dependency.kind, dependency.name) for dependency in used}):
        try:
            body = await api.get(resource_of(kind).raw(), Key(namespace, name))
        except NotFound:
            continue
        except UnknownResource:
            if kind != PROVIDER_CLASS:
                raise
            continue  # A cluster without the secrets store driver has no classes, whatever a template says.
        found[kind, name] = {**body, "kind": kind}
    return found


def resource_of(kind: str) -> Resource[Any]:
    """Return the kind of object that a dependency names; raises KeyError for another kind."""
    return PROVIDER_CLASSES if kind == PROVIDER_CLASS else SOURCES[kind]
