"""The common parts of Stateward's custom resources: the group, object metadata, conditions and the codec rules.

JSON names are camelCase, Python names snake_case. Structs are frozen: a resource is never modified after it was read.
Fields that belong to Kubernetes (`podTemplate`, `resources`) stay plain JSON and are checked by the API server when the
resulting objects are applied.
"""

from typing import Annotated, Any, dataclass_transform

import msgspec
from msgspec import Meta

GROUP = "stateward.dev"
VERSION = "v1alpha1"
API_VERSION = f"{GROUP}/{VERSION}"

Json = dict[str, Any]
"""A JSON object whose schema Kubernetes or an engine owns."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(msgspec.field,))
class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """Base of every wire type: immutable, keyword-only, camelCase in JSON, defaults left out when written."""


class Metadata(Record):
    """The parts of an object's metadata that Stateward reads."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    finalizers: list[str] = []


class Condition(Record):
    """One condition of a status, as `kubectl wait` and kstatus understand it; times are RFC 3339 in UTC."""

    type: Annotated[
        str,
        Meta(description="The subject of the condition: Ready, Reconciling, Stalled, Available, Upgrading and more."),
    ]
    status: Annotated[str, Meta(description="True, False or Unknown.")]
    reason: Annotated[str, Meta(description="The reason, in one word for programs.")] = ""
    message: Annotated[str, Meta(description="The reason, in sentences for people.")] = ""
    observed_generation: Annotated[
        int, Meta(description="The generation of the resource that the condition describes.")
    ] = 0
    last_transition_time: Annotated[str, Meta(description="When the status of the condition last changed.")] = ""
