"""The number of a pool's members between limits: the rules that change it, and the number that the status records."""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from stateward.api.values.base import Record
from stateward.api.values.duration import DURATION, SPAN

MOST_MEMBERS = 500
"""The largest number of members of a pool."""
MOST_IN_ALL = 1000
"""The largest number of members of a cluster. A plan looks at each of them: that of a thousand takes a fraction of a
second, that of fifty full pools half a minute, in which nothing is done for any other cluster.
"""
TOO_MANY = f"all pools together may have {MOST_IN_ALL} members; a pool that scales counts with its max"


class Measure(StrEnum):
    """What a rule looks at, as the mean of all members of the pool."""

    DISK = "Disk"
    """Used disk in percent."""
    CPU = "CPU"
    """Use of the processors in percent, over some minutes."""
    SHARDS = "Shards"
    """Copies of shards on a member."""


class ScalingRule(Record):
    """When a pool gets more members, and when fewer are enough."""

    measure: Annotated[
        Measure,
        Meta(
            description="What is measured, as the mean of the pool's members: Disk (used disk in percent), CPU (as"
            " `_cat/nodes` shows it, in percent) or Shards (copies of shards on a member)."
        ),
    ]
    above: Annotated[
        int,
        Meta(
            description="The pool grows while the measure is above this number. At most 84 for Disk: at 85% the"
            " database places no more shards on a node.",
            ge=1,
            le=100_000,
        ),
    ]
    below: Annotated[
        int,
        Meta(
            description="The pool shrinks by one member while the measure would stay below this number with one member"
            " fewer.",
            ge=1,
            le=100_000,
        ),
    ]


class Scaling(Record):
    """Within which limits the number of a pool's members changes, and by what."""

    min: Annotated[int, Meta(description="Fewest members of the pool.", ge=1, le=MOST_MEMBERS)]
    max: Annotated[int, Meta(description="Most members of the pool.", ge=1, le=MOST_MEMBERS)]
    rules: Annotated[
        Annotated[list[ScalingRule], Meta(max_length=3, min_length=1)] | None,
        Meta(
            description="The pool grows if one rule asks for it, and shrinks if all allow it. Default: a PoolScale"
            " determines the number of members.",
            extra={"map_keys": ["measure"]},
        ),
    ] = None
    grow_after: Annotated[
        Annotated[str, Meta(pattern=DURATION, max_length=20, extra=SPAN)],
        Meta(description="How long a rule has to ask for more members without a break before the pool grows."),
    ] = "10m"
    shrink_after: Annotated[
        Annotated[str, Meta(pattern=DURATION, max_length=20, extra=SPAN)],
        Meta(description="How long all rules have to allow fewer members without a break before the pool shrinks."),
    ] = "1h"


class ScalingStatus(Record):
    """How many members a pool has by its scaling, and why."""

    replicas: Annotated[int, Meta(description="Members that the pool should have now.")]
    reason: Annotated[str, Meta(description="Why it should have so many, in one sentence.")] = ""
    limited: Annotated[bool, Meta(description="Whether more members are asked for than `max` allows.")] = False
    change_time: Annotated[str, Meta(description="When that number last changed; empty if it never did.")] = ""
    growth_wanted_since_time: Annotated[
        str, Meta(description="Since when a rule has asked for more members without a break.")
    ] = ""
    shrink_allowed_since_time: Annotated[
        str, Meta(description="Since when all rules have allowed fewer members without a break.")
    ] = ""
    cpu_percent: Annotated[
        int | None, Meta(description="Use of the processors over some minutes; only with a rule about it.")
    ] = None
    measured_time: Annotated[
        str,
        Meta(
            description="When a measurement last changed something here, let a time run on, or confirmed `cpuPercent`."
        ),
    ] = ""
