"""The fields that are read from the database's answers.

A missing field or another shape is an error, not a default. A field has a default only where the database omits it when
it is empty.
"""

from enum import StrEnum
from typing import Annotated, Any

from msgspec import Meta, Struct

Whole = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
"""A number in the database's range; a larger one cannot be computed with."""

MANAGER_MISSING = "2"
NOT_RECOVERED = "1"
"""Global blocks by id: without a cluster manager, and before the state of a restarted cluster is recovered.

In the second case the cluster's metadata is empty, as if there were no index.
"""

MISSING = "_absent_"
"""Stands for the id or name of an excluded node when no such node existed."""


class Block(Struct, frozen=True):
    """One block and its reason."""

    description: str


class GlobalBlocks(Struct, frozen=True, rename={"everywhere": "global"}):
    """The blocks of the whole cluster, by id."""

    everywhere: dict[str, Block] = {}


class Greeting(Struct, frozen=True):
    """What one node knows locally about its cluster."""

    cluster_name: str
    cluster_uuid: str
    master_node: str | None = None
    cluster_manager_node: str | None = None
    blocks: GlobalBlocks = GlobalBlocks()

    @property
    def manager(self) -> str:
        """Id of the elected cluster manager; empty if the node knows none."""
        return self.cluster_manager_node or self.master_node or ""


class StateNode(Struct, frozen=True):
    """A node in the cluster state."""

    name: str
    attributes: dict[str, str] = {}


class Exclusion(Struct, frozen=True):
    """A voting exclusion; the id or name is `MISSING` if no such node existed when it was set."""

    node_id: str
    node_name: str


class Coordination(Struct, frozen=True):
    """The voting configuration."""

    last_committed_config: list[str]
    voting_config_exclusions: list[Exclusion]


class IndexVersion(Struct, frozen=True):
    """The version that created an index, as the database's own number; empty if the answer does not have it."""

    created: str = ""
    compatibility: str = ""
    """The version that counts instead, for what was mounted from a snapshot of an older one."""


class IndexStore(Struct, frozen=True):
    """Where the files of an index are; `snapshot` if they are in a repository."""

    type: str = ""


class IndexFilters(Struct, frozen=True):
    """Which nodes may take copies of an index: by verb, attributes and texts with wildcards, nested at their dots."""

    include: dict[str, Any] = {}
    exclude: dict[str, Any] = {}
    require: dict[str, Any] = {}

    def filters(self) -> tuple[tuple[str, dict[str, Any]], ...]:
        """Return the filters that are there, by verb."""
        found = (("include", self.include), ("exclude", self.exclude), ("require", self.require))
        return tuple((verb, rule) for verb, rule in found if rule)


class IndexRoutingSettings(Struct, frozen=True):
    """The settings with the prefix `index.routing.`."""

    allocation: IndexFilters = IndexFilters()


class IndexSettings(Struct, frozen=True):
    """Settings of an index, as text, as the database stores all settings."""

    number_of_replicas: str
    auto_expand_replicas: str = "false"
    version: IndexVersion = IndexVersion()
    store: IndexStore = IndexStore()
    routing: IndexRoutingSettings = IndexRoutingSettings()
    verified_read_only: str = "false"
    """Whether the database has verified that nothing can be written: then one more major version reads the index."""


class IndexSection(Struct, frozen=True):
    """The settings with the prefix `index.`."""

    index: IndexSettings


class IndexMetadata(Struct, frozen=True):
    """The metadata of an index in the cluster state."""

    settings: IndexSection
    in_sync_allocations: dict[str, list[str]]
    """By shard, the allocation ids of the in-sync copies."""


class Metadata(Struct, frozen=True):
    """The persistent part of the cluster state."""

    cluster_coordination: Coordination
    indices: dict[str, IndexMetadata] = {}


class VotingMetadata(Struct, frozen=True):
    """The persistent part of the cluster state, only the voting configuration."""

    cluster_coordination: Coordination


class Voting(Struct, frozen=True):
    """One version of the cluster state, only the voting configuration."""

    metadata: VotingMetadata


class ShardState(StrEnum):
    """The state of one copy of a shard."""

    UNASSIGNED = "UNASSIGNED"
    INITIALIZING = "INITIALIZING"
    STARTED = "STARTED"
    RELOCATING = "RELOCATING"


class AllocationId(Struct, frozen=True):
    """The identity of one copy."""

    id: str


class UnassignedInfo(Struct, frozen=True):
    """Why a copy has no node; `allocation_status` is meaningful for primaries only."""

    reason: str
    at: str
    allocation_status: str
    delayed: bool = False
    details: str = ""


class ShardCopy(Struct, frozen=True, rename={"search_only": "searchOnly"}):
    """One copy of a shard. A relocating copy is listed once, at its origin, with its target node."""

    state: ShardState
    primary: bool
    node: str | None
    relocating_node: str | None
    allocation_id: AllocationId | None = None
    unassigned_info: UnassignedInfo | None = None
    search_only: bool = False
    """Whether it only answers searches: a search replica of OpenSearch 3, which never becomes the primary."""


class IndexRouting(Struct, frozen=True):
    """The copies of an index's shards, by shard number."""

    shards: dict[str, list[ShardCopy]]


class RoutingTable(Struct, frozen=True):
    """The copies of all shards, by index."""

    indices: dict[str, IndexRouting]


class ClusterState(Greeting, frozen=True, kw_only=True):
    """One version of the cluster state, as published by the cluster manager."""

    nodes: dict[str, StateNode]
    metadata: Metadata
    routing_table: RoutingTable


class Counts(Struct, frozen=True):
    """Counts of the nodes that were asked; only the failures are read."""

    failed: int


class NodeInfo(Struct, frozen=True):
    """What a node reports about itself."""

    name: str
    version: str
    roles: list[str]


class NodesInfo(Struct, frozen=True, rename={"counts": "_nodes"}):
    """What all nodes report about themselves, by id."""

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


class Cpu(Struct, frozen=True):
    """Use of the processors, as `_cat/nodes` shows it; negative if the node does not know it."""

    percent: Whole = -1


class OperatingSystem(Struct, frozen=True):
    """What the node's operating system reports."""

    cpu: Cpu = Cpu()


class Store(Struct, frozen=True):
    """Size of one copy in bytes."""

    size_in_bytes: Whole


class ShardStats(Struct, frozen=True):
    """Statistics of one copy."""

    store: Store


class IndicesStats(Struct, frozen=True):
    """By index, one item for each copy on the node, keyed by shard number."""

    shards: dict[str, list[dict[str, ShardStats]]] = {}


class NodeStats(Struct, frozen=True):
    """Measurements of a node."""

    name: str
    fs: FileSystem
    os: OperatingSystem = OperatingSystem()
    indices: IndicesStats = IndicesStats()


class NodesStats(Struct, frozen=True, rename={"counts": "_nodes"}):
    """Measurements of all nodes, by id."""

    counts: Counts
    cluster_name: str
    nodes: dict[str, NodeStats]


class ClusterSettings(Struct, frozen=True):
    """Settings changed at run time, by dotted key. Transient ones override and end with a full restart."""

    persistent: dict[str, str | list[str]]
    transient: dict[str, str | list[str]]


class Decision(Struct, frozen=True):
    """The decision of one allocation rule."""

    decider: str
    decision: str
    explanation: str = ""


class NodeDecision(Struct, frozen=True):
    """The allocation decisions for one node."""

    node_name: str
    deciders: list[Decision] = []


class Explanation(Struct, frozen=True):
    """Why a copy is not placed."""

    can_allocate: str
    allocate_explanation: str = ""
    node_allocation_decisions: list[NodeDecision] = []


class MoveParameters(Struct, frozen=True):
    """The requested move."""

    index: str
    shard: int
    from_node: str
    to_node: str


class MoveExplanation(Struct, frozen=True):
    """The allocation decisions about a move."""

    parameters: MoveParameters
    decisions: list[Decision]


class Rerouted(Struct, frozen=True):
    """The answer to moves."""

    acknowledged: bool
    explanations: list[MoveExplanation] = []


class FlushCounts(Struct, frozen=True):
    """Copies that could not be flushed."""

    failed: int


class Flushed(Struct, frozen=True, rename={"shards": "_shards"}):
    """The answer to a flush."""

    shards: FlushCounts


class Acknowledged(Struct, frozen=True):
    """The answer to a change of settings."""

    acknowledged: bool


class Fault(Struct, frozen=True):
    """The database's own description of an error."""

    type: str = ""
    reason: str | None = None
    caused_by: "Fault | None" = None


class Keys(Struct, frozen=True):
    """Names of fields, with commas in between."""

    keys: str = ""


class Failure(Struct, frozen=True):
    """An answer that reports an error; the security plugin has no `error`."""

    error: Fault | str = ""
    reason: str = ""
    message: str = ""
    invalid_keys: Keys = Keys()
    missing_mandatory_keys: Keys = Keys()
