"""One formed cluster: joining, leaving, elections, and the reconfiguration of its voters."""

from collections.abc import Callable, Mapping
from typing import Protocol

from stateward.simulation.cluster.context import SimulationContext
from stateward.simulation.opensearch.allocation import Allocator
from stateward.simulation.opensearch.behavior import DatabaseBehavior
from stateward.simulation.opensearch.joining import may_join, quorum, reconfigure
from stateward.simulation.opensearch.node import Node
from stateward.simulation.opensearch.shards import Copy, Shard
from stateward.simulation.opensearch.state import ClusterState

DETECTION = (21.0, 33.0)
"""Seconds until a node that closes no connection is missed: three checks, each with ten seconds for its answer."""
DOCUMENTS = 100
"""Documents of an index, as the APIs of snapshots show it."""


class Processes(Protocol):
    """All database processes of a world, in a cluster or not."""

    context: SimulationContext
    behavior: DatabaseBehavior

    @property
    def nodes(self) -> Mapping[str, Node]:
        """The newest process of each pod."""
        ...


class Cluster(ClusterState):
    """A cluster that changes: changes need a leader, and a leader needs a quorum."""

    def __init__(self, processes: Processes, name: str, identity: str) -> None:
        super().__init__(processes.context, name, identity)
        self._processes = processes
        self._electing = self._reconfiguring = False
        self._chance = processes.context.stream(f"{identity}/votes")
        self.allocator = Allocator(self, processes.context, processes)

    def form(self, node: Node) -> None:
        """Form the cluster with one node, which votes and leads."""
        self.voters = (node.id,)
        self.leader = node.id
        self._take_in(node)

    def evaluate(self) -> None:
        """Check whether there is a leader, and whether one can be elected."""
        believed = self._present(lambda node: node.believed)
        if self.leader and (self.leader not in believed or not quorum(self.voters, believed)):
            self._context.trace(f"{self.name} has no elected manager")
            self._context.count("quorum or leader lost")
            self.leader = ""
            self.version += 1
        if not self.leader and not self._electing and quorum(self.voters, self._present()):
            self._electing = True
            self._context.soon(0.5, 3.0, self._elect)

    def offer(self, node: Node) -> None:
        """Process a join request; without a leader, or with an incompatible one, it has no effect."""
        leader = self.nodes.get(self.leader)
        if leader is None or not leader.reachable or not quorum(self.voters, self._present()):
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

    def lost(self, node: Node, *, graceful: bool) -> None:
        """Handle a node whose process has ended: the leader notices it at once, or after its checks have failed."""
        if self.nodes.get(node.id) is not node:
            return
        self.advance()
        seconds = 0.1 if graceful else self._context.rng.choice((1.0, 3.0, 30.0))
        self._context.later(seconds, self._notice, node)

    def fell_silent(self, node: Node) -> None:
        """Handle a node that is cut off or paused: no connection closes, so all notice it only by failed checks."""
        if self.nodes.get(node.id) is not node:
            return
        self.advance()
        seconds = self._context.rng.uniform(*DETECTION)
        node.unnoticed_until = self._context.now + seconds
        self._context.later(seconds + 0.1, self._notice, node)

    def exclude(self, names: list[str]) -> None:
        """Add voting exclusions by name."""
        ids = {node.name: node.id for node in self.nodes.values()}
        for name in names:
            self.exclusions[name] = ids.get(name, "_absent_")
        self.revote()

    def exclude_ids(self, ids: list[str]) -> None:
        """Add voting exclusions by id, also for missing nodes."""
        for identifier in ids:
            node = self.nodes.get(identifier)
            self.exclusions[node.name if node is not None else identifier] = identifier
        self.revote()

    def include_all(self) -> None:
        """Remove all voting exclusions."""
        self.exclusions.clear()
        self.revote()

    def revote(self) -> None:
        """Reconfigure the voting configuration automatically, by a change that follows the one that is its reason."""
        self.version += 1
        if not self._reconfiguring:
            self._reconfiguring = True
            seconds = self._chance.uniform(*self._processes.behavior.reconfiguration)
            self._context.later(seconds, self._reconfigure)

    def _reconfigure(self) -> None:
        self._reconfiguring = False
        if not self.managed:
            return
        live = [node.id for node in self.nodes.values() if node.votes and node.reachable]
        voters = reconfigure(self.voters, live, set(self.exclusions.values()), self.leader)
        if voters != self.voters:
            self.voters, self.version = voters, self.version + 1
        if self.leader not in self.voters and self._able():
            # An excluded leader abdicates, and another one is elected: meanwhile there is none.
            self.leader = ""
            self.evaluate()

    def create_index(
        self, name: str, replicas: int, size: int, rate: float, *, spread: str = "false", first: str = ""
    ) -> None:
        """Create an index of one shard; with `first`, its primary goes to the node of that name."""
        copies = [Copy(primary=number == 0, since=self._context.now) for number in range(replicas + 1)]
        self.objects.indices.add(name)
        self.snapshots.add_index(name, DOCUMENTS)
        self.shards.append(Shard(name, 0, size, rate, copies, spread, first=first))
        self.version += 1
        self.allocator.reroute()

    def follow(self, index: str, spread: str) -> None:
        """Set `auto_expand_replicas` of an index."""
        for shard in self.shards:
            if shard.index == index:
                shard.spread = spread
        self.version += 1
        self.allocator.expand()
        self.allocator.reroute()

    def _present(self, there: Callable[[Node], bool] = lambda node: node.reachable) -> set[str]:
        """Return the ids of the cluster's reachable voting nodes, whether or not they are in it now.

        Nodes with TLS and nodes without cannot communicate: those like the leader count, or else the larger group.
        """
        processes = self._processes.nodes.values()
        voting = [n for n in processes if there(n) and n.votes and n.disk.identity == self.identity]
        kinds = {kind: {n.id for n in voting if n.secured is kind} for kind in (False, True)}
        leader = self.nodes.get(self.leader)
        return kinds[leader.secured] if leader is not None else max(kinds.values(), key=len)

    def _elect(self) -> None:
        self._electing = False
        present = self._present()
        if self.leader or not quorum(self.voters, present):
            return
        able = self._able()
        if not able:
            return
        self.leader = self._context.rng.choice(able)
        self._context.count("election")
        processes = {n.id: n for n in self._processes.nodes.values() if n.reachable and n.id in present}
        # The nodes of a cluster are not stored: a manager that was restarted knows none but those that join it.
        forgetful = self.nodes.get(self.leader) is not processes.get(self.leader)
        for identifier in [self.leader, *self.voters]:
            process, known = processes.get(identifier), self.nodes.get(identifier)
            if process is not None and (known is not process or not process.serves):
                if known is not None and known is not process:
                    self._remove(identifier)
                self._take_in(process)  # This includes a node that was cut off, never removed, and seeks its cluster.
        self._context.trace(f"{self.nodes[self.leader].name} is elected")
        for node in list(self.nodes.values()):
            if not node.reachable and forgetful:
                self._miss(node)
            elif not node.reachable:
                self._context.later(1.0, self._notice, node)
        self.version += 1
        self.allocator.reroute()  # What was not placed while there was no manager.

    def _able(self) -> list[str]:
        """Return the voters that can be elected now: those without an exclusion if there are any.

        A manager without a successor stays: `Coordinator.abdicateTo` and `VotingOnlyNodePlugin` of Elasticsearch.
        """
        present, nodes = self._present(), {n.id: n for n in self._processes.nodes.values() if n.reachable}
        able = [v for v in self.voters if v in present and nodes[v].electable]
        return [v for v in able if v not in self.exclusions.values()] or able

    def _take_in(self, node: Node) -> None:
        self.advance()
        self.nodes[node.id] = node
        self.seen.add(node.name)
        if self.exclusions.get(node.name) == "_absent_":
            self.exclusions[node.name] = node.id  # An exclusion by name applies to each new node of that name.
        node.joined(self.identity)
        self._context.trace(f"{node.name} ({node.version}) joins {self.name}")
        self.revote()
        self.allocator.expand()
        self.allocator.reroute()

    def _notice(self, node: Node) -> None:
        if not node.believed:
            self.evaluate()
            self._miss(node)

    def _miss(self, node: Node) -> None:
        if self.nodes.get(node.id) is not node or node.reachable or not self.managed:
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
