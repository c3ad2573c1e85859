"""The clients that may connect to a cluster's members, as peers of a Kubernetes NetworkPolicy."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, field

from stateward.api.values.base import Record

Texts = Annotated[list[Annotated[str, Meta(max_length=63)]], Meta(max_length=50)]
Block = Annotated[str, Meta(max_length=43)]


class LabelOperator(StrEnum):
    """How a label is compared."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"


class LabelRequirement(Record):
    """What a label must be."""

    key: Annotated[str, Meta(description="Key of the label.", min_length=1, max_length=317)]
    operator: Annotated[LabelOperator, Meta(description="How the label is compared.")]
    values: Annotated[Texts | None, Meta(description="Values for In and NotIn.")] = None


class LabelSelector(Record):
    """Labels that must be there; an empty selector selects everything."""

    match_labels: Annotated[dict[str, str] | None, Meta(description="Labels and their values.")] = None
    match_expressions: Annotated[
        Annotated[list[LabelRequirement], Meta(max_length=50)] | None, Meta(description="Conditions on other labels.")
    ] = None


class AddressBlock(Record):
    """Addresses outside of the cluster's pods."""

    cidr: Annotated[Block, Meta(description="Addresses, for example 10.1.0.0/16 or fd00::/64.")]
    without: Annotated[
        Annotated[list[Block], Meta(max_length=50)] | None, Meta(description="Blocks within it that are left out.")
    ] = field(default=None, name="except")


class Peer(Record):
    """Clients that may connect: pods, or addresses."""

    pod_selector: Annotated[
        LabelSelector | None,
        Meta(description="Pods by their labels; in the cluster's own namespace if namespaceSelector is not set."),
    ] = None
    namespace_selector: Annotated[
        LabelSelector | None, Meta(description="Namespaces by their labels; podSelector then selects among their pods.")
    ] = None
    ip_block: Annotated[AddressBlock | None, Meta(description="Addresses; not together with selectors.")] = None


class NetworkAccess(Record):
    """Clients that may connect to the members, enforced by the network plug-in of the Kubernetes cluster."""

    clients: Annotated[
        Annotated[list[Peer], Meta(max_length=50)] | None,
        Meta(
            description="Clients that may connect to the client ports, as peers of a NetworkPolicy. Not set: all;"
            " an empty list: only the operator. Ports between members and those of agents are closed"
            " to clients in any case; with FoundationDB clients use the ports of members."
        ),
    ] = None
