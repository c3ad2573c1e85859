"""A number of members that people and autoscalers write through the scale subresource, for one pool of a cluster."""

from typing import Annotated

from msgspec import Meta, field

from stateward.api.kinds.scaling.limits import MOST_MEMBERS
from stateward.api.kinds.search_object import ClusterReference
from stateward.api.values.base import API_VERSION, Condition, Metadata, Record


class PoolScaleSpec(Record):
    """Which pool of which cluster has how many members."""

    cluster: Annotated[ClusterReference, Meta(description="The cluster, in the same namespace.")]
    pool: Annotated[
        str, Meta(description="The pool. It needs `scaling` without rules, or nothing follows.", max_length=30)
    ]
    replicas: Annotated[
        int,
        Meta(
            description="How many members the pool should have. A number outside of the pool's `scaling.min` and"
            " `scaling.max` counts as the nearer of them.",
            ge=0,
            le=MOST_MEMBERS,
        ),
    ]


class PoolScaleStatus(Record):
    """What autoscalers read: how many members there are, and which pods they are."""

    observed_generation: Annotated[int, Meta(description="The generation that this status describes.")] = 0
    replicas: Annotated[int, Meta(description="Members that the pool should have now, by its cluster's status.")] = 0
    ready_replicas: Annotated[int, Meta(description="Members of the pool that are ready to serve.")] = 0
    selector: Annotated[str, Meta(description="Selector of the pool's pods.")] = ""
    activity: Annotated[str, Meta(description="One sentence: what is in progress, or why it waits.")] = ""
    conditions: Annotated[
        list[Condition],
        Meta(description="Ready, Reconciling and Stalled as kstatus defines them.", extra={"map_keys": ["type"]}),
    ] = field(default_factory=list)


class PoolScale(Record):
    """The number of members of one pool, for `kubectl scale`, a HorizontalPodAutoscaler or KEDA."""

    metadata: Metadata
    spec: Annotated[PoolScaleSpec, Meta(description="The desired state.")]
    status: Annotated[PoolScaleStatus, Meta(description="What autoscalers read.")] = PoolScaleStatus()
    api_version: str = API_VERSION
    kind: str = "PoolScale"
