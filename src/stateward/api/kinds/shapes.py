"""The outer shape of fields that belong to Kubernetes: `podTemplate: {containers: …}` is refused at once.

A shape is a structural schema: named fields are explained and checked, preserved ones are passed on as they are.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, cast

from msgspec import Meta

from stateward.api.values.base import Json
from stateward.api.values.problem import Problem
from stateward.api.values.quantity import LONGEST

QUANTITY = r"^([0-9]+\.?[0-9]*|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]+)?$"
"""The grammar of a Kubernetes quantity without a sign."""
ByteSize = Annotated[
    str,
    Meta(
        pattern=QUANTITY,
        max_length=32,
        extra={"accepts": "must be a quantity of bytes, for example 500Mi, 20Gi or 1.5Ti"},
    ),
]

_TEXTS: Json = {"type": "object", "additionalProperties": {"type": "string"}}
_AMOUNTS: Json = {
    "type": "object",
    "additionalProperties": {"x-kubernetes-int-or-string": True, "pattern": QUANTITY, "minimum": 0},
}

_SCALARS: Mapping[str, tuple[type, str]] = {
    "string": (str, "text"),
    "boolean": (bool, "true or false"),
    "integer": (int, "a whole number"),
}

POD_TEMPLATE: Json = {
    "properties": {
        "metadata": {
            "description": "Labels and annotations of the pods; the operator chooses their names.",
            "type": "object",
            "properties": {
                "labels": {"description": "Labels added to the pods.", **_TEXTS},
                "annotations": {"description": "Annotations added to the pods.", **_TEXTS},
            },
        },
        "spec": {
            "description": "Fields of a pod's spec, as `kubectl explain pod.spec` has them. The database container"
            " of a member is named after its engine, for example opensearch; containers with other names run beside"
            " it.",
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
        },
    },
}

RESOURCES: Json = {
    "properties": {
        "requests": {
            "description": "The guaranteed resources, for example cpu: 1 and memory: 4Gi.",
            **_AMOUNTS,
        },
        "limits": {
            "description": "The resource limits. In a member of OpenSearch or Elasticsearch, half of the memory is the"
            " heap.",
            **_AMOUNTS,
        },
        "claims": {
            "description": "Resource claims, as `kubectl explain pod.spec.containers.resources.claims` has them.",
            "type": "array",
            "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
    },
}


def _text(description: str, **more: object) -> Json:
    return {"description": description, "type": "string", "maxLength": 317, **more}


DETECTION: Json = {
    "properties": {
        "schedule": _text("The schedule in cron format, for example */10 * * * *. Default: derived from `after`."),
        "suspend": {"description": "Suspend this detection.", "type": "boolean"},
        "resources": {
            "description": "Resources of its container.",
            "type": "object",
            "properties": {
                "requests": {"description": "What it is sure to get, for example memory: 64Mi.", **_AMOUNTS},
                "limits": {"description": "What it may use at most.", **_AMOUNTS},
            },
        },
        "nodeSelector": {"description": "Labels of the nodes on which its pods may run.", **_TEXTS},
        "tolerations": {
            "description": "Taints of nodes that its pods tolerate.",
            "type": "array",
            "maxItems": 50,
            "items": {
                "type": "object",
                "properties": {
                    "key": _text("Key of the taint; all without one."),
                    "operator": _text("Exists or Equal."),
                    "value": _text("Value of the taint."),
                    "effect": _text("NoSchedule, PreferNoSchedule or NoExecute; all without one."),
                    "tolerationSeconds": {
                        "description": "Seconds for which NoExecute is tolerated.",
                        "type": "integer",
                        "format": "int64",
                    },
                },
            },
        },
        "labels": {"description": "Labels added to the CronJob, not to its pods.", **_TEXTS},
        "annotations": {"description": "Annotations added to the CronJob, not to its pods.", **_TEXTS},
    },
}
"""Settings of the CronJob in the operator's namespace: none that determines its program or its rights."""


def check_shape(shape: Json, value: object, path: str) -> Iterator[Problem]:
    """Yield the deviations of an object from a shape; whether it is an object is checked elsewhere."""
    if not isinstance(value, Mapping):
        return
    known = cast("dict[str, Json]", shape.get("properties", {}))
    for name, inner in cast("Mapping[str, object]", value).items():
        at = f"{path}.{name}"
        if name in known:
            yield from _inside(known[name], inner, at)
        elif known:
            yield Problem(at, inner, f"is not a known field; known are {', '.join(known)}")


def _inside(schema: Json, value: object, path: str) -> Iterator[Problem]:
    if value is None:  # The API server drops it.
        return
    if schema["type"] in _SCALARS:
        yield from _scalar(schema, value, path)
    elif schema["type"] == "array":
        if not isinstance(value, list) or not all(isinstance(item, Mapping) for item in cast("list[object]", value)):
            yield Problem(path, value, "must be a list of objects")
            return
        items = cast("list[object]", value)
        if len(items) > (most := schema.get("maxItems", len(items))):
            yield Problem(path, len(items), f"must have at most {most} items")
        for i, item in enumerate(items):
            yield from check_shape(schema["items"], item, f"{path}[{i}]")
    elif not isinstance(value, Mapping):
        yield Problem(path, value, "must be an object")
    elif "additionalProperties" in schema:
        for name, inner in cast("Mapping[str, object]", value).items():
            yield from _leaf(schema["additionalProperties"], inner, f"{path}[{name}]")
    else:
        yield from check_shape(schema, cast("object", value), path)


def _scalar(schema: Json, value: object, path: str) -> Iterator[Problem]:
    kind, said = _SCALARS[schema["type"]]
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        yield Problem(path, value, f"must be {said}")
    elif isinstance(value, str) and len(value) > (most := schema.get("maxLength", len(value))):
        yield Problem(path, value, f"must have at most {most} characters")


def _leaf(schema: Json, value: object, path: str) -> Iterator[Problem]:
    if "pattern" not in schema:
        if not isinstance(value, str):
            yield Problem(path, value, "must be text: put it in quotes")
    elif isinstance(value, bool) or not isinstance(value, int | str) or not _fits(schema["pattern"], str(value)):
        yield Problem(path, value, "must be a quantity, 0 or more, for example 2Gi or 500m")


def _fits(pattern: str, text: str) -> bool:
    """Return whether a text is a quantity: digits without end are none, and the pattern would try them for hours."""
    return len(text) <= LONGEST and re.search(pattern, text) is not None


def version(description: str, example: str) -> Meta:
    """Return the description and pattern of a database's version."""
    return Meta(
        description=f"{description}, for example {example}.",
        pattern=r"^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$",
        max_length=20,
        extra={"accepts": f"must be three numbers with dots between them, for example {example}"},
    )
