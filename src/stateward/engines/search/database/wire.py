"""The answers of the database, as far as they are read. What is missing or of another shape is an error, not a default.

Where a field has a default, the database leaves it out when there is nothing to say.
"""

from enum import StrEnum
from typing import Annotated

from msgspec import Meta, Struct

Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A number as the database keeps it; one that is larger cannot be reckoned with."""

MANAGER_MISSING = "2"
NOT_RECOVERED = "1"
"""Global blocks by their id: without a cluster manager, and before the state of a restarted cluster is read. In the
second case the cluster's metadata is empty, as if there were no index."""

MISSING = "_absent_"
"""What stands for the id of an excluded node, or for its name, where there was no such node."""


class Block(Struct, frozen=True):
    """One block and its reason."""

    description: str


class GlobalBlocks(Struct, frozen=True, rename={"everywhere": "global"}):
    """The blocks that hold for the whole cluster, by id."""

    everywhere: dict[str, Block] = {}


class Greeting(Struct, frozen=True):
    """What one node knows by itself about the cluster it is in."""

    cluster_name: str
    cluster_uuid: str
    master_node: str | None = None
    cluster_manager_node: str | None = None
    blocks: GlobalBlocks = GlobalBlocks()

    @property
    def manager(self) -> str:
        """Id of the elected cluster manager; empty where the node knows none."""
        return self.cluster_manager_node or self.master_node or ""


class StateNode(Struct, frozen=True):
    """A node in the cluster state."""

    name: str


class Exclusion(Struct, frozen=True):
    """A node without a vote; what it was not excluded by, id or name, is `MISSING` when no such node was there."""

    node_id: str
    node_name: str


class Coordination(Struct, frozen=True):
    """Who votes."""

    last_committed_config: list[str]
    voting_config_exclusions: list[Exclusion]


class IndexSettings(Struct, frozen=True):
    """How many replicas an index should have, as text, as the database keeps all settings."""

    number_of_replicas: str
    auto_expand_replicas: str = "false"


class IndexSection(Struct, frozen=True):
    """The settings whose names begin with `index.`."""

    index: IndexSettings


class IndexMetadata(Struct, frozen=True):
    """What the cluster state says about an index."""

    settings: IndexSection
    in_sync_allocations: dict[str, list[str]]
    """By shard, the ids of the allocations that have all acknowledged writes."""


class Metadata(Struct, frozen=True):
    """What is kept over restarts."""

    cluster_coordination: Coordination
    indices: dict[str, IndexMetadata] = {}


class VotingMetadata(Struct, frozen=True):
    """What is kept over restarts, as far as it says who votes."""

    cluster_coordination: Coordination


class Voting(Struct, frozen=True):
    """One version of the cluster state, as far as it says who votes."""

    metadata: VotingMetadata


class ShardState(StrEnum):
    """Where one copy of a shard stands."""

    UNASSIGNED = "UNASSIGNED"
    INITIALIZING = "INITIALIZING"
    STARTED = "STARTED"
    RELOCATING = "RELOCATING"


class AllocationId(Struct, frozen=True):
    """The identity of one copy."""

    id: str


class UnassignedInfo(Struct, frozen=True):
    """Why a copy has no node; `allocation_status` tells something for primaries only."""

    reason: str
    at: str
    allocation_status: str
    delayed: bool = False
    details: str = ""


class ShardCopy(Struct, frozen=True):
    """One copy of a shard. A moving copy is listed once, at its origin, with the node it moves to."""

    state: ShardState
    primary: bool
    node: str | None
    relocating_node: str | None
    allocation_id: AllocationId | None = None
    unassigned_info: UnassignedInfo | None = None


class IndexRouting(Struct, frozen=True):
    """The copies of an index's shards, by the shard's number."""

    shards: dict[str, list[ShardCopy]]


class RoutingTable(Struct, frozen=True):
    """Where the copies of all shards are."""

    indices: dict[str, IndexRouting]


class ClusterState(Greeting, frozen=True, kw_only=True):
    """One version of the cluster state, as the cluster manager has published it."""

    nodes: dict[str, StateNode]
    metadata: Metadata
    routing_table: RoutingTable


class Counts(Struct, frozen=True):
    """How many nodes were asked and how many answered."""

    failed: int


class NodeInfo(Struct, frozen=True):
    """What a node says about itself."""

    name: str
    version: str
    roles: list[str]


class NodesInfo(Struct, frozen=True, rename={"counts": "_nodes"}):
    """What all nodes say about themselves, by id."""

    counts: Counts
    cluster_name: str
    nodes: dict[str, NodeInfo]


class Disk(Struct, frozen=True):
    """Sizes in bytes."""

    total_in_bytes: Whole
    available_in_bytes: Whole


class FileSystem(Struct, frozen=True):
    """The file systems that hold the data."""

    total: Disk


class Store(Struct, frozen=True):
    """Size of one copy in bytes."""

    size_in_bytes: Whole


class ShardStats(Struct, frozen=True):
    """Statistics of one copy."""

    store: Store


class IndicesStats(Struct, frozen=True):
    """By index, one item for each copy on the node, keyed by the shard's number."""

    shards: dict[str, list[dict[str, ShardStats]]] = {}


class NodeStats(Struct, frozen=True):
    """What a node measures."""

    name: str
    fs: FileSystem
    indices: IndicesStats = IndicesStats()


class NodesStats(Struct, frozen=True, rename={"counts": "_nodes"}):
    """What all nodes measure, by id."""

    counts: Counts
    cluster_name: str
    nodes: dict[str, NodeStats]


class ClusterSettings(Struct, frozen=True):
    """Settings changed at run time, by dotted key; the transient ones win and go with a full restart."""

    persistent: dict[str, str | list[str]]
    transient: dict[str, str | list[str]]


class Decision(Struct, frozen=True):
    """What one rule of allocation says."""

    decider: str
    decision: str
    explanation: str = ""


class NodeDecision(Struct, frozen=True):
    """What the rules say about one node."""

    node_name: str
    deciders: list[Decision] = []


class Explanation(Struct, frozen=True):
    """Why a copy is not placed."""

    can_allocate: str
    allocate_explanation: str = ""
    node_allocation_decisions: list[NodeDecision] = []


class MoveParameters(Struct, frozen=True):
    """The move that was asked for."""

    index: str
    shard: int
    from_node: str
    to_node: str


class MoveExplanation(Struct, frozen=True):
    """What the rules say about a move."""

    parameters: MoveParameters
    decisions: list[Decision]


class Rerouted(Struct, frozen=True):
    """The answer to moves."""

    acknowledged: bool
    explanations: list[MoveExplanation] = []


class FlushCounts(Struct, frozen=True):
    """Copies that were flushed and not."""

    failed: int


class Flushed(Struct, frozen=True, rename={"shards": "_shards"}):
    """The answer to a flush."""

    shards: FlushCounts


class Acknowledged(Struct, frozen=True):
    """The answer to a change of settings."""

    acknowledged: bool


class Fault(Struct, frozen=True):
    """What went wrong, in the database's words."""

    type: str = ""
    reason: str | None = None


class Failure(Struct, frozen=True):
    """An answer that says no."""

    error: Fault | str
