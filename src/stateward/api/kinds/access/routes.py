"""Routes from outside of Kubernetes to a Service: an Ingress, or an HTTPRoute of the Gateway API."""

from typing import Annotated

from msgspec import Meta, field

from stateward.api.kinds.security import SecretName
from stateward.api.values.base import Record

HOST = r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$"
"""Grammar of a host name, without a star: a star would take names that others use."""
ONE_WAY = (
    "are for an HTTPRoute, and ingressClassName and tlsSecretName are for an Ingress: leave parentRefs or these two out"
)


class ParentRef(Record):
    """A Gateway that a route is attached to."""

    name: Annotated[str, Meta(description="Name of the Gateway.", min_length=1, max_length=253)]
    namespace: Annotated[
        Annotated[str, Meta(max_length=63)] | None,
        Meta(description="Namespace of the Gateway. Default: that of the cluster."),
    ] = None
    section_name: Annotated[
        Annotated[str, Meta(max_length=253)] | None,
        Meta(description="Name of the Gateway's listener. Default: all that allow the route."),
    ] = None


class Routes(Record):
    """Host names that lead to a Service, if the operator makes routes (--routes)."""

    hosts: Annotated[
        list[
            Annotated[
                str,
                Meta(
                    pattern=HOST,
                    max_length=253,
                    extra={"accepts": "must be a host name in lower case, for example logs.example.com"},
                ),
            ]
        ],
        Meta(description="Host names of the route.", min_length=1, max_length=16, extra={"list_type": "set"}),
    ]
    ingress_class_name: Annotated[
        Annotated[str, Meta(max_length=253)] | None,
        Meta(description="Class of the Ingress. Default: the cluster's default class."),
    ] = None
    tls_secret_name: Annotated[
        SecretName | None,
        Meta(description="Secret with the certificate that the Ingress shows. Default: the controller's own."),
    ] = None
    parent_refs: Annotated[
        Annotated[list[ParentRef], Meta(max_length=8, min_length=1)] | None,
        Meta(description="Gateways for an HTTPRoute of the Gateway API, in place of an Ingress."),
    ] = None


class RoutesStatus(Record):
    """The routes that the operator has made, or why it has made none."""

    urls: Annotated[list[str], Meta(description="URLs of the database and of its dashboards.")] = field(
        default_factory=list
    )
    reason: Annotated[str, Meta(description="Why a route is missing, in one word for programs; empty if none is.")] = ""
    message: Annotated[str, Meta(description="Why a route is missing, in one sentence for people.")] = ""
