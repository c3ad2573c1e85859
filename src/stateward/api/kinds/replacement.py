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
    """When members that failed are replaced without anybody's word."""

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
            description="How many members are replaced by themselves at once. One that is drained and whose pod only"
            " cannot end does not count.",
            ge=1,
            le=100,
        ),
    ] = 1
    per_zone: Annotated[
        bool,
        Meta(
            description="Replace all missing members of one zone together, and meanwhile none of another zone;"
            " maxConcurrent then does not apply."
        ),
    ] = False
    on_taints: Annotated[
        Annotated[list[TaintTolerance], Meta(max_length=20)] | None,
        Meta(
            description="Taints of nodes from which members are replaced though they still run.",
            extra={"map_keys": ["key"]},
        ),
    ] = None
    max_fault_domains_with_taints: Annotated[
        int,
        Meta(
            description="No replacement because of a taint begins while members run on nodes with such taints in more"
            " zones than this; a node of which no zone is known counts as a zone of its own. One that was begun goes"
            " on.",
            ge=1,
            le=1000,
        ),
    ] = 1
    detection: Annotated[
        Json | None,
        Meta(
            description="Settings of the CronJob that looks for missing members whatever the operator hears. It runs in"
            " the operator's namespace, so what it runs, and with which rights, cannot be set here.",
            extra={"shape": DETECTION},
        ),
    ] = None


class MembersByHand(Record):
    """What a person wants done with single members."""

    replace: Annotated[
        Annotated[list[Name], Meta(max_length=500)] | None,
        Meta(description="Members to replace: a new one joins, data moves, then they go.", extra={"list_type": "set"}),
    ] = None
    replace_without_draining: Annotated[
        Annotated[list[Name], Meta(max_length=500)] | None,
        Meta(
            description="Members to replace without moving their data away first. Refused where that would lose the"
            " last copy of something, unless acceptDataLoss names them too.",
            extra={"list_type": "set"},
        ),
    ] = None
    accept_data_loss: Annotated[
        Annotated[list[Name], Meta(max_length=500)] | None,
        Meta(
            description="Members of replaceWithoutDraining with which the last copy of something may be lost for ever.",
            extra={"list_type": "set"},
        ),
    ] = None
    keep: Annotated[
        Annotated[list[Name], Meta(max_length=500)] | None,
        Meta(
            description="Members that are never replaced, and are taken back into use when they are being replaced.",
            extra={"list_type": "set"},
        ),
    ] = None


class RemovalStatus(Record):
    """A member that is replaced or leaves: it does not count towards the size of its pool."""

    name: Annotated[str, Meta(description="Name of the member.")]
    reason: Annotated[str, Meta(description="Why it is replaced or leaves.")] = ""
    by: Annotated[
        str,
        Meta(description="Who decided it: Automatic, Person, or Spec; the last is taken back when the spec is."),
    ] = ""
    since: Annotated[str, Meta(description="When it was decided.")] = ""
    volume: Annotated[str, Meta(description="UID of its volume claim when it was decided.")] = ""
    address: Annotated[str, Meta(description="Last known address of its process.")] = ""
    phase: Annotated[
        str,
        Meta(
            description="Waiting, NoRoom (the new member finds no node, or a quota keeps it out), Draining, Leaving,"
            " Terminating, or VolumeKept when only its volume is left."
        ),
    ] = ""
