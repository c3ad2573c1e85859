"""The state of a formed cluster: its nodes, its elected manager, its voting configuration and its shards."""

import asyncio

from stateward.simulation.cluster.context import SimulationContext
from stateward.simulation.opensearch.joining import quorum
from stateward.simulation.opensearch.node import Node
from stateward.simulation.opensearch.settings import Settings
from stateward.simulation.opensearch.shards import Shard
from stateward.simulation.opensearch.snapshots import Snapshots
from stateward.simulation.opensearch.stored_objects import StoredObjects


class ClusterState:
    """What the nodes of a cluster agree on."""

    def __init__(self, context: SimulationContext, name: str, identity: str) -> None:
        self.name = name
        self.identity = identity
        self.leader = ""
        self.nodes: dict[str, Node] = {}
        """The nodes in the cluster by id, including lost ones that the leader has not noticed yet."""
        self.voters: tuple[str, ...] = ()
        self.exclusions: dict[str, str] = {}
        """Voting exclusions: names by id of the node. The name is the id if the node is gone; the id is `_absent_`
        for a name without a node."""
        self.shutdowns: dict[str, tuple[str, str]] = {}
        """Announced node shutdowns by id, with type and reason; the client that announced one removes it."""
        self.settings = Settings()
        self.read_only = False
        """Whether a user has made it read-only: it refuses changes of its metadata."""
        self.snapshots = Snapshots(lambda: context.clock.now().timestamp())
        """Its indices as the APIs of snapshots show them; what is restored is not allocated."""
        self.objects = StoredObjects()
        """What clients put into it: templates, policies, roles."""
        self.shards: list[Shard] = []
        self.queue = asyncio.Lock()
        """The order in which its manager performs commands."""
        self.version: int = 1
        """Counts changes of the state."""
        self.seen: set[str] = set()
        """Names of all nodes that ever joined."""
        self.work = 0.0
        """What the processors of all data nodes have to do, in percent of those of one node."""
        self.red_since: float | None = None
        self._context = context
        self._at = context.now

    def advance(self) -> None:
        """Advance the writes to the current time: every in-sync copy has all acknowledged documents."""
        passed = self._context.now - self._at
        self._at = self._context.now
        for shard in self.shards:
            if passed and self.writable(shard):
                shard.acknowledged += passed * shard.rate
                shard.size += int(passed * shard.rate * shard.document)

    def load(self, node: Node) -> int:
        """Return the use of a node's processors in percent: data nodes share the work."""
        able = sum(other.data and other.reachable for other in self.nodes.values())
        return min(100, round(self.work / able)) if able and node.data else 0

    def writable(self, shard: Shard) -> bool:
        """Return whether a write is acknowledged now: it needs the primary and every in-sync copy."""
        if not shard.primary.active:
            return False
        holders = [copy for copy in shard.copies if copy.active and copy.allocation in shard.in_sync]
        return all(self.nodes[c.node].reachable for c in holders if c.node in self.nodes)

    def empties(self, node: Node) -> bool:
        """Return whether copies leave a node: it is excluded, or announced as one that leaves permanently."""
        return node.name in self.settings.excluded or self.announced(node.id) == "remove"

    def announced(self, node: str) -> str:
        """Return the type of a node's announced shutdown; empty if there is none."""
        return self.shutdowns.get(node, ("", ""))[0]

    @property
    def managed(self) -> bool:
        """Whether its manager can change its state: the manager and most voters can communicate."""
        leader = self.nodes.get(self.leader)
        if leader is None or not leader.reachable:
            return False
        return quorum(self.voters, [n.id for n in self.nodes.values() if n.reachable and n.secured is leader.secured])

    @property
    def now(self) -> float:
        """Seconds of virtual time."""
        return self._context.now

    @property
    def health(self) -> str:
        """The health that the database reports."""
        if any(not shard.primary.active for shard in self.shards):
            return "red"
        return "green" if all(copy.active for shard in self.shards for copy in shard.copies) else "yellow"

    def names_of_voters(self) -> frozenset[str]:
        """Return the voting configuration by name, or by id if the node is missing."""
        return frozenset(self.nodes[v].name if v in self.nodes else v for v in self.voters)
