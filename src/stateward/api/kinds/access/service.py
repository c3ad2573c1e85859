"""Overrides of a Service that clients use."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from stateward.api.values.base import Json, Record


class ServiceType(StrEnum):
    """How a Service can be reached."""

    CLUSTER_IP = "ClusterIP"
    NODE_PORT = "NodePort"
    LOAD_BALANCER = "LoadBalancer"


class ServiceTemplate(Record):
    """Overrides of the client Service."""

    type: Annotated[ServiceType, Meta(description="The type of the Service for clients.")] = ServiceType.CLUSTER_IP
    labels: Annotated[dict[str, str] | None, Meta(description="Labels added to the Service.")] = None
    annotations: Annotated[dict[str, str] | None, Meta(description="Annotations added to the Service.")] = None
    spec: Annotated[Json | None, Meta(description="Further fields of the Service's spec.")] = None
