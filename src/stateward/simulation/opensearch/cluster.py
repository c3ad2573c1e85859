"""One formed cluster: who is in it, who leads it, who votes, and its shards."""

from typing import TYPE_CHECKING

from stateward.simulation.opensearch.allocation import Allocator
from stateward.simulation.opensearch.settings import Settings
from stateward.simulation.opensearch.shards import Copy, Shard
from stateward.simulation.opensearch.versions import may_join
from stateward.simulation.opensearch.voting import quorum, reconfigure

if TYPE_CHECKING:
    from stateward.simulation.opensearch.databases import Databases
    from stateward.simulation.opensearch.node import Node


class Cluster:
    """The state that its nodes agree on. Changes need a leader, and a leader needs a quorum."""

    def __init__(self, databases: "Databases", name: str, identity: str) -> None:
        self.name = name
        self.identity = identity
        self.leader = ""
        self.nodes: dict[str, Node] = {}
        """The nodes in the cluster, by id, those included whose loss was not noticed yet."""
        self.voters: tuple[str, ...] = ()
        self.exclusions: dict[str, str] = {}
        """Ids of the nodes without a vote by their names, or by the id again where one has gone; the id is `_absent_`
        where a name was that of no node."""
        self.shutdowns: dict[str, tuple[str, str]] = {}
        """Nodes that were said to go down, by id, with the type and the reason; only who said so takes it back."""
        self.settings = Settings()
        self.read_only = False
        """Whether a person has made it read-only: it refuses whatever would change its metadata."""
        self.users: set[str] = set()
        """Names of those who were made users over its interface."""
        self.shards: list[Shard] = []
        self.version = 1
        """Counts changes of the state."""
        self.seen: set[str] = set()
        """Names of the nodes that were ever in it."""
        self.red_since: float | None = None
        self._databases = databases
        self._context = databases.context
        self._electing = False
        self._at = self._context.now
        self.allocator = Allocator(self, databases)

    def form(self, node: "Node") -> None:
        """Begin with one node, which votes and leads."""
        self.voters = (node.id,)
        self.leader = node.id
        self._take_in(node)

    def evaluate(self) -> None:
        """Look whether there is a leader, and whether there could be one."""
        present = self._present()
        if self.leader and (self.leader not in present or not quorum(self.voters, present)):
            self._context.trace(f"{self.name} has no elected manager")
            self._context.count("quorum or leader lost")
            self.leader = ""
            self.version += 1
        if not self.leader and not self._electing and quorum(self.voters, present):
            self._electing = True
            self._context.soon(0.5, 3.0, self._elect)

    def offer(self, node: "Node") -> None:
        """Let a node ask to join; nothing happens while there is no leader, or one that it does not understand."""
        leader = self.nodes.get(self.leader)
        if leader is None or not leader.reachable:
            self.evaluate()
            return
        if leader.secured is not node.secured:
            self._context.count("join refused by security")
            return
        others = [other.version for other in self.nodes.values() if other.id != node.id and other.alive]
        if not may_join(node.version, others):
            self._context.count("join refused by version")
            return
        if node.id in self.nodes and self.nodes[node.id] is not node:
            self._remove(node.id)
        self._take_in(node)

    def lost(self, node: "Node", *, graceful: bool) -> None:
        """Note that a node can no longer be reached; the leader notices at once, or after its checks have failed."""
        if self.nodes.get(node.id) is not node:
            return
        self.advance()
        seconds = 0.1 if graceful else self._context.rng.choice((1.0, 3.0, 30.0))
        self._context.later(seconds, self._notice, node)

    def advance(self) -> None:
        """Let writers have written until now: every copy that is in sync has what was acknowledged."""
        passed = self._context.now - self._at
        self._at = self._context.now
        for shard in self.shards:
            if passed and self.writable(shard):
                shard.acknowledged += passed * shard.rate

    def writable(self, shard: Shard) -> bool:
        """Return whether a write is acknowledged now: by the primary, and by every copy that counts as in sync."""
        if not shard.primary.active:
            return False
        holders = [copy for copy in shard.copies if copy.active and copy.allocation in shard.in_sync]
        return all(self.nodes[c.node].reachable for c in holders if c.node in self.nodes)

    def exclude(self, names: list[str]) -> None:
        """Take the vote from nodes, by name."""
        ids = {node.name: node.id for node in self.nodes.values()}
        for name in names:
            self.exclusions[name] = ids.get(name, "_absent_")
        self.revote()

    def exclude_ids(self, ids: list[str]) -> None:
        """Take the vote from nodes, by id, whether or not they are there."""
        for identifier in ids:
            node = self.nodes.get(identifier)
            self.exclusions[node.name if node is not None else identifier] = identifier
        self.revote()

    def include_all(self) -> None:
        """Give the vote back to all."""
        self.exclusions.clear()
        self.revote()

    def revote(self) -> None:
        """Change the voting configuration as the database does by itself."""
        self.version += 1
        if not self.leader:
            return
        live = [node.id for node in self.nodes.values() if node.votes and node.reachable]
        self.voters = reconfigure(self.voters, live, set(self.exclusions.values()), self.leader)
        if self.leader not in self.voters:
            # A leader that may not vote hands over.
            self.leader = next((voter for voter in self.voters if voter in live), "")

    def create_index(
        self, name: str, replicas: int, size: int, rate: float, *, spread: str = "false", first: str = ""
    ) -> None:
        """Create an index of one shard; with `first`, its primary goes to the node of that name."""
        copies = [Copy(primary=number == 0, since=self._context.now) for number in range(replicas + 1)]
        self.shards.append(Shard(name, 0, size, rate, copies, spread, first=first))
        self.version += 1
        self.allocator.reroute()

    def follow(self, index: str, spread: str) -> None:
        """Let the copies of an index follow the number of nodes from now on, between two bounds."""
        for shard in self.shards:
            if shard.index == index:
                shard.spread = spread
        self.version += 1
        self.allocator.expand()
        self.allocator.reroute()

    @property
    def now(self) -> float:
        """Seconds of virtual time."""
        return self._context.now

    @property
    def health(self) -> str:
        """The database's own verdict."""
        if any(not shard.primary.active for shard in self.shards):
            return "red"
        return "green" if all(copy.active for shard in self.shards for copy in shard.copies) else "yellow"

    def names_of_voters(self) -> frozenset[str]:
        """Return the voting configuration by names; ids where the node is away."""
        return frozenset(self.nodes[v].name if v in self.nodes else v for v in self.voters)

    def _present(self) -> set[str]:
        """Return the ids of nodes that belong to the cluster and can talk, whether or not they are in it now.

        Those with TLS and those without do not understand each other: the leader's kind counts, or else the larger one.
        """
        processes = self._databases.nodes.values()
        there = [n for n in processes if n.reachable and n.votes and n.disk.identity == self.identity]
        kinds = {kind: {n.id for n in there if n.secured is kind} for kind in (False, True)}
        leader = self.nodes.get(self.leader)
        return kinds[leader.secured] if leader is not None else max(kinds.values(), key=len)

    def _elect(self) -> None:
        self._electing = False
        present = self._present()
        if self.leader or not quorum(self.voters, present):
            return
        able = [v for v in self.voters if v in present and v not in self.exclusions.values()] or [
            v for v in self.voters if v in present
        ]
        self.leader = self._context.rng.choice(able)
        self._context.count("election")
        processes = {n.id: n for n in self._databases.nodes.values() if n.reachable and n.id in present}
        for identifier in [self.leader, *self.voters]:
            process, known = processes.get(identifier), self.nodes.get(identifier)
            if process is not None and (known is not process or not process.serves):
                if known is not None and known is not process:
                    self._remove(identifier)
                self._take_in(process)  # Also one that was cut off, was never put out, and sought its cluster since.
        self._context.trace(f"{self.nodes[self.leader].name} is elected")
        for node in list(self.nodes.values()):
            if not node.reachable:
                self._context.later(1.0, self._notice, node)
        self.version += 1

    def _take_in(self, node: "Node") -> None:
        self.advance()
        self.nodes[node.id] = node
        self.seen.add(node.name)
        if self.exclusions.get(node.name) == "_absent_":
            self.exclusions[node.name] = node.id  # An exclusion by name is for whoever comes with that name.
        node.joined(self)
        self._context.trace(f"{node.name} ({node.version}) joins {self.name}")
        self.revote()
        self.allocator.expand()
        self.allocator.reroute()

    def _notice(self, node: "Node") -> None:
        if self.nodes.get(node.id) is not node or node.reachable or not self.leader:
            return
        self._remove(node.id)
        self.revote()
        self.allocator.expand()
        self.allocator.reroute()

    def _remove(self, identifier: str) -> None:
        self.advance()
        node = self.nodes.pop(identifier)
        self.version += 1
        self._context.trace(f"{node.name} has left {self.name}")
        self.allocator.node_left(identifier)
        node.seek_again()
