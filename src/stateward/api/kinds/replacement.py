"""How members are replaced, as people write it: by themselves when they stay missing, or by name."""

from typing import Annotated

from msgspec import Meta

from stateward.api.kinds.shapes import DETECTION
from stateward.api.values.base import Json, Record
from stateward.api.values.duration import DURATION, SPAN

Name = Annotated[str, Meta(min_length=1, max_length=57)]


class TaintTolerance(Record):
    """For how long a member may stay on a node with a taint."""

    key: Annotated[str, Meta(description="Key of the taint.", min_length=1, max_length=317)]
    after: Annotated[
        str,
        Meta(
            description="How long a member stays on such a node before it is replaced, for example 10m.",
            pattern=DURATION,
            max_length=20,
            extra=SPAN,
        ),
    ] = "30m"


class ReplacementPolicy(Record):
    """When failed members are replaced automatically."""

    enabled: Annotated[bool, Meta(description="Replace members that stay missing.")] = False
    after: Annotated[
        str,
        Meta(
            description="How long a member has to be missing before it is replaced, for example 30m.",
            pattern=DURATION,
            max_length=20,
            extra=SPAN,
        ),
    ] = "30m"
    max_concurrent: Annotated[
        int,
        Meta(
            description="How many members the operator replaces automatically at once. A drained member whose pod"
            " cannot end does not count.",
            ge=1,
            le=100,
        ),
    ] = 1
    per_zone: Annotated[
        bool,
        Meta(
            description="Replace all missing members of one zone together, and none of another zone in that time;"
            " maxConcurrent then does not apply."
        ),
    ] = False
    on_taints: Annotated[
        Annotated[list[TaintTolerance], Meta(max_length=20)] | None,
        Meta(
            description="Taints of nodes whose members are replaced although they still run.",
            extra={"map_keys": ["key"]},
        ),
    ] = None
    max_fault_domains_with_taints: Annotated[
        int,
        Meta(
            description="No replacement because of a taint begins while members run on nodes with such taints in"
            " more zones than this; a node without a known zone counts as a zone of its own. A"
            " replacement in progress continues.",
            ge=1,
            le=1000,
        ),
    ] = 1
    detection: Annotated[
        Json | None,
        Meta(
            description="Settings of the CronJob that detects missing members independently of the operator. It"
            " runs in the operator's namespace, so its program and its rights cannot be set here.",
            extra={"shape": DETECTION},
        ),
    ] = None


class MembersByHand(Record):
    """The user's requests for single members."""

    replace: Annotated[
        Annotated[list[Name], Meta(max_length=500)] | None,
        Meta(
            description="Members to replace: a new member joins, data moves, then the old member leaves.",
            extra={"list_type": "set"},
        ),
    ] = None
    replace_without_draining: Annotated[
        Annotated[list[Name], Meta(max_length=500)] | None,
        Meta(
            description="Members to replace without moving their data away first. Refused if that would lose the"
            " last copy of a shard, unless acceptDataLoss names them too.",
            extra={"list_type": "set"},
        ),
    ] = None
    accept_data_loss: Annotated[
        Annotated[list[Name], Meta(max_length=500)] | None,
        Meta(
            description="Members of replaceWithoutDraining that may take the last copy of a shard with them.",
            extra={"list_type": "set"},
        ),
    ] = None
    keep: Annotated[
        Annotated[list[Name], Meta(max_length=500)] | None,
        Meta(
            description="Members that are never replaced; a replacement in progress is cancelled.",
            extra={"list_type": "set"},
        ),
    ] = None


class RemovalStatus(Record):
    """A member that is replaced or leaves: it does not count towards the size of its pool."""

    name: Annotated[str, Meta(description="Name of the member.")]
    reason: Annotated[str, Meta(description="Why it is replaced or leaves.")] = ""
    origin: Annotated[
        str,
        Meta(description="The origin of the decision: Automatic, User, or Spec; Spec ends when the spec is reverted."),
    ] = ""
    start_time: Annotated[str, Meta(description="When it was decided.")] = ""
    volume: Annotated[str, Meta(description="UID of its volume claim when it was decided.")] = ""
    address: Annotated[str, Meta(description="Last known address of its process.")] = ""
    phase: Annotated[
        str,
        Meta(
            description="Waiting, NoRoom (no node or no quota for the new member), Draining, Leaving,"
            " Terminating, or VolumeKept when only its volume is left."
        ),
    ] = ""
