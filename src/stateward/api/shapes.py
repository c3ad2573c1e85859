"""The outer shape of fields whose inside belongs to Kubernetes: `podTemplate: {containers: …}` is refused at once.

A shape is a structural schema: what it names is explained and checked, what it preserves is passed on as it is.
"""

import re
from collections.abc import Iterator, Mapping
from typing import cast

from msgspec import Meta

from stateward.api.base import Json
from stateward.api.problem import Problem

QUANTITY = r"^([0-9]+\.?[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?$"
"""The grammar of a Kubernetes quantity without a sign."""

_TEXTS: Json = {"type": "object", "additionalProperties": {"type": "string"}}
_AMOUNTS: Json = {
    "type": "object",
    "additionalProperties": {"x-kubernetes-int-or-string": True, "pattern": QUANTITY, "minimum": 0},
}

POD_TEMPLATE: Json = {
    "properties": {
        "metadata": {
            "description": "Labels and annotations of the pods; their names are the members'.",
            "type": "object",
            "properties": {
                "labels": {"description": "Labels added to the pods.", **_TEXTS},
                "annotations": {"description": "Annotations added to the pods.", **_TEXTS},
            },
        },
        "spec": {
            "description": "Fields of a pod's spec, as `kubectl explain pod.spec` has them. The container that runs the"
            " database is called after its engine, opensearch or elasticsearch; containers with other names run beside"
            " it.",
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
        },
    },
}

CRON_JOB: Json = {
    "properties": {
        "metadata": {
            "description": "Labels and annotations of the CronJob; its name is Stateward's.",
            "type": "object",
            "properties": {
                "labels": {"description": "Labels added to the CronJob.", **_TEXTS},
                "annotations": {"description": "Annotations added to the CronJob.", **_TEXTS},
            },
        },
        "spec": {
            "description": "Fields of a CronJob's spec, as `kubectl explain cronjob.spec` has them. The container is"
            " called detect.",
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
        },
    },
}

RESOURCES: Json = {
    "properties": {
        "requests": {"description": "What a member is sure to get, for example cpu: 1 and memory: 4Gi.", **_AMOUNTS},
        "limits": {"description": "What a member may use at most; half of the memory is the heap.", **_AMOUNTS},
        "claims": {
            "description": "Resource claims, as `kubectl explain pod.spec.containers.resources.claims` has them.",
            "type": "array",
            "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    },
}


def check_shape(shape: Json, value: object, path: str) -> Iterator[Problem]:
    """Yield where an object deviates from a shape; its being an object at all is not looked at here."""
    if not isinstance(value, Mapping):
        return
    known = cast("dict[str, Json]", shape.get("properties", {}))
    for name, inner in cast("Mapping[str, object]", value).items():
        at = f"{path}.{name}"
        if name in known:
            yield from _inside(known[name], inner, at)
        elif known:
            yield Problem(at, inner, f"is no known field; known are {', '.join(known)}")


def _inside(schema: Json, value: object, path: str) -> Iterator[Problem]:
    if value is None:  # The API server drops it.
        return
    if schema["type"] == "array":
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in cast("list[object]", value)):
            yield Problem(path, value, "must be a list of objects")
    elif not isinstance(value, Mapping):
        yield Problem(path, value, "must be an object")
    elif "additionalProperties" in schema:
        for name, inner in cast("Mapping[str, object]", value).items():
            yield from _leaf(schema["additionalProperties"], inner, f"{path}[{name}]")
    else:
        yield from check_shape(schema, cast("object", value), path)


def _leaf(schema: Json, value: object, path: str) -> Iterator[Problem]:
    if "pattern" not in schema:
        if not isinstance(value, str):
            yield Problem(path, value, "must be text: put it in quotes")
    elif isinstance(value, bool) or not isinstance(value, int | str) or not re.search(schema["pattern"], str(value)):
        yield Problem(path, value, "must be a quantity, 0 or more, for example 2Gi or 500m")


def version(description: str, example: str) -> Meta:
    """Return what is said of a database's version, and how it is written."""
    return Meta(
        description=f"{description}, for example {example}.",
        pattern=r"^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$",
        max_length=20,
        extra={"accepts": f"must be three numbers with dots between them, for example {example}"},
    )
