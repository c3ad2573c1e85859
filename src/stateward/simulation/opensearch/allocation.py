"""Allocation of copies: deciders, timed recoveries and relocations, promotion of replicas, rebalancing.

Source of the rules: the allocation deciders of OpenSearch; two incoming and two outgoing recoveries a node; a replica
of a departed node is recreated elsewhere after a minute.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple, Protocol

from stateward.simulation.cluster.context import SimulationContext
from stateward.simulation.opensearch.behavior import DatabaseBehavior
from stateward.simulation.opensearch.joining import older
from stateward.simulation.opensearch.node import Node
from stateward.simulation.opensearch.shards import Copy, Shard, State
from stateward.simulation.opensearch.state import ClusterState

DELAY = 60.0
"""Seconds before a replica of a departed node is recreated."""
RESTART_DELAY = 300.0
"""The same for a node that was announced as restarting: the default of `allocation_delay` of Elasticsearch."""
AT_ONCE = 2
"""Concurrent incoming, and outgoing, recoveries of a node."""
LOW_WATERMARK = 0.85


class Verdict(NamedTuple):
    """The objection of one decider to a node."""

    decider: str
    decision: str
    text: str


class Disks(Protocol):
    """How fast recoveries copy data; a fault may change it."""

    behavior: DatabaseBehavior


class Allocator:
    """Places the copies of one cluster's shards."""

    def __init__(self, cluster: ClusterState, context: SimulationContext, disks: Disks) -> None:
        self._cluster = cluster
        self._context = context
        self._disks = disks
        self._allocations = 0
        self._reroute_timer: asyncio.TimerHandle | None = None
        """The timer for the next allocation of delayed copies."""

    # Events.

    def node_left(self, node: str) -> None:
        """Remove the copies of a departed node; in-sync replicas replace primaries."""
        for shard in self._cluster.shards:
            for copy in list(shard.copies):
                if copy.target == node:
                    copy.target, copy.state, copy.token = "", State.STARTED, copy.token + 1
                if copy.node == node:
                    self._fail(shard, copy)

    def expand(self) -> None:
        """Adapt the replicas of indices with `auto_expand_replicas`."""
        places = sum(node.data and not self._cluster.empties(node) for node in self._cluster.nodes.values())
        for shard in self._cluster.shards:
            if shard.spread == "false":
                continue
            most = places - 1 if shard.spread.endswith("all") else int(shard.spread.partition("-")[2])
            wanted = 1 + max(0, min(most, places - 1))
            while len(shard.copies) < wanted:
                shard.copies.append(Copy(primary=False, since=self._context.now, why="REPLICA_ADDED"))
            while len(shard.copies) > wanted:
                extra = min((c for c in shard.copies if not c.primary), key=lambda c: (c.active, c.node), default=None)
                if extra is None:
                    break
                self._drop(shard, extra)

    def reroute(self) -> None:
        """Place and move the copies that may be placed and moved now."""
        if not self._cluster.managed:
            return
        for shard in self._cluster.shards:
            if shard.primary.state is State.UNASSIGNED:
                self._place_primary(shard)
        for shard in self._cluster.shards:
            for copy in shard.copies:
                if copy.state is State.UNASSIGNED and not copy.primary and shard.primary.active:
                    self._place_replica(shard, copy)
        self._leave_excluded()
        self._rebalance()
        self._cluster.version += 1

    def move(self, shard: Shard, origin: str, target: str, *, trial: bool = False) -> list[Verdict]:
        """Move one copy on request unless it is a trial; return the objections, in which case it does not move."""
        copy = next((c for c in shard.copies if c.node == origin and c.state is State.STARTED), None)
        if copy is None:
            return [Verdict("move_allocation", "NO", "the shard is not started on the node")]
        objections = self.objections(shard, copy, self._cluster.nodes[target], relocating=True)
        if not objections and not trial:
            self._relocate(shard, copy, target)
            self._cluster.version += 1
        return objections

    # Deciders.

    def objections(self, shard: Shard, copy: Copy, node: Node, *, relocating: bool = False) -> list[Verdict]:
        """Return the objections of the deciders to a copy on a node."""
        cluster = self._cluster
        found: list[Verdict] = []
        if not node.data:
            found.append(Verdict("data_role", "NO", "the node holds no data"))
        if shard.on(node.id) is not None:
            found.append(Verdict("same_shard", "NO", "a copy of this shard is already allocated to this node"))
        if node.name in cluster.settings.excluded:
            found.append(Verdict("filter", "NO", f'node matches cluster setting exclude [_name:"{node.name}"]'))
        if cluster.announced(node.id) == "remove":
            found.append(
                Verdict("node_shutdown", "NO", f"node [{node.id}] is preparing to be removed from the cluster")
            )
        source = cluster.nodes.get(copy.node if relocating and copy.primary else shard.primary.node)
        if source is not None and older(node.version, source.version):
            text = f"cannot allocate replica shard to a node with version [{node.version}] since this is older"
            found.append(Verdict("node_version", "NO", f"{text} than the primary version [{source.version}]"))
        if cluster.settings.enable != "all" and not (copy.primary and cluster.settings.enable == "primaries"):
            found.append(Verdict("enable", "NO", f"allocations are limited to {cluster.settings.enable}"))
        if self._used(node) + shard.size > node.disk.capacity * LOW_WATERMARK:
            found.append(Verdict("disk_threshold", "NO", "the node is above the low watermark"))
        if self._incoming(node.id) >= AT_ONCE:
            found.append(Verdict("throttling", "THROTTLE", "reached the limit of incoming shard recoveries"))
        return found

    def _nodes(self, fits: Callable[[Node], bool]) -> list[Node]:
        nodes = [n for n in self._cluster.nodes.values() if n.reachable and fits(n)]
        return sorted(nodes, key=lambda n: (self._load(n.id), n.name))

    def _load(self, node: str) -> int:
        return sum(node in (c.node, c.target) for s in self._cluster.shards for c in s.copies)

    def _used(self, node: Node) -> int:
        return sum(shard.size for shard in self._cluster.shards if shard.on(node.id) is not None)

    def _incoming(self, node: str) -> int:
        copies = [c for s in self._cluster.shards for c in s.copies]
        return sum((c.state is State.INITIALIZING and c.node == node) or c.target == node for c in copies)

    def _outgoing(self, node: str) -> int:
        return sum(c.node == node and bool(c.target) for s in self._cluster.shards for c in s.copies)

    # Moves and recoveries.

    def _place_primary(self, shard: Shard) -> None:
        copy = shard.primary
        if not shard.in_sync:
            nodes = self._nodes(lambda n: shard.first in {"", n.name} and not self.objections(shard, copy, n))
            if nodes:
                self._recover(shard, copy, nodes[0], self._new_allocation(), 0.5)
            return
        if self._cluster.settings.enable in {"none", "new_primaries"}:
            return
        nodes = self._nodes(lambda n: n.data and n.disk.copies.get(shard.name) in shard.in_sync)
        if nodes:
            self._recover(shard, copy, nodes[0], nodes[0].disk.copies[shard.name], self._context.rng.uniform(0.5, 3))

    def _place_replica(self, shard: Shard, copy: Copy) -> None:
        known = self._nodes(lambda n: shard.name in n.disk.copies and not self.objections(shard, copy, n))
        others = self._nodes(lambda n: not self.objections(shard, copy, n))
        if known:
            self._recover(shard, copy, known[0], self._new_allocation(), self._context.rng.uniform(1.0, 8.0))
        elif self._context.now < copy.delayed_until:
            self._reroute_by(copy.delayed_until + 0.1)
        elif others:
            self._recover(shard, copy, others[0], self._new_allocation(), self._seconds(shard))

    def _reroute_by(self, when: float) -> None:
        """Reroute at that time at the latest: one timer for all copies, because timers for each copy would multiply."""
        if self._reroute_timer is not None and self._reroute_timer.when() > when:
            self._reroute_timer.cancel()
            self._reroute_timer = None
        if self._reroute_timer is None:
            self._reroute_timer = self._context.later(when - self._context.now, self._reroute_delayed)

    def _reroute_delayed(self) -> None:
        self._reroute_timer = None
        self.reroute()

    def _leave_excluded(self) -> None:
        for shard in self._cluster.shards:
            for copy in shard.copies:
                node = self._cluster.nodes.get(copy.node)
                if copy.state is State.STARTED and node is not None and self._cluster.empties(node):
                    self._move_off(shard, copy)

    def _move_off(self, shard: Shard, copy: Copy) -> None:
        if self._outgoing(copy.node) >= AT_ONCE:
            return
        nodes = self._nodes(lambda n: not self.objections(shard, copy, n, relocating=True))
        if nodes:
            self._relocate(shard, copy, nodes[0].id)

    def _rebalance(self) -> None:
        shards = self._cluster.shards
        quiet_period = all(copy.state is State.STARTED for shard in shards for copy in shard.copies)
        if not quiet_period or self._cluster.settings.enable != "all" or not self._cluster.settings.balances:
            return
        nodes = self._nodes(lambda n: n.data and not self._cluster.empties(n))
        if len(nodes) < 2 or self._load(nodes[-1].id) - self._load(nodes[0].id) < 2:
            return
        for shard in shards:
            copy = shard.on(nodes[-1].id)
            if copy is not None and not self.objections(shard, copy, nodes[0], relocating=True):
                self._relocate(shard, copy, nodes[0].id)
                return

    def begin_again(self, shard: Shard) -> None:
        """Begin the moves and recoveries of a shard again, because it has become smaller."""
        for copy in shard.copies:
            if copy.state is State.RELOCATING:
                copy.state, copy.target, copy.token = State.STARTED, "", copy.token + 1
            elif copy.state is State.INITIALIZING and not copy.primary:
                self._unassign(copy, "REALLOCATED_REPLICA")
        self.reroute()

    def _relocate(self, shard: Shard, copy: Copy, target: str) -> None:
        copy.state, copy.target, copy.token = State.RELOCATING, target, copy.token + 1
        self._context.later(self._seconds(shard), self._relocated, shard, copy, copy.token)

    def _relocated(self, shard: Shard, copy: Copy, token: int) -> None:
        target = self._cluster.nodes.get(copy.target)
        if copy.token != token or copy not in shard.copies:
            return
        if not self._served(copy, target):
            # It continues when all nodes are back, unless the cluster notices the loss of a node first and cancels it.
            self._context.later(3.0, self._relocated, shard, copy, token)
            return
        self._cluster.advance()
        origin = self._cluster.nodes.get(copy.node)
        if origin is not None:
            origin.disk.copies.pop(shard.name, None)
        shard.in_sync.discard(copy.allocation)
        self._started(shard, copy, copy.target, self._new_allocation())
        self._context.later(0.05, self.reroute)

    def _served(self, copy: Copy, target: "Node | None") -> bool:
        origin = self._cluster.nodes.get(copy.node)
        there = target is not None and target.reachable
        return there and origin is not None and origin.reachable and self._cluster.managed

    def _recover(self, shard: Shard, copy: Copy, node: Node, allocation: str, seconds: float) -> None:
        copy.state, copy.node, copy.token = State.INITIALIZING, node.id, copy.token + 1
        copy.allocation = allocation
        self._context.later(seconds, self._recovered, shard, copy, copy.token)

    def _recovered(self, shard: Shard, copy: Copy, token: int) -> None:
        node = self._cluster.nodes.get(copy.node)
        if copy.token != token or copy not in shard.copies or node is None:
            return
        if not self._cluster.managed or not node.reachable:
            self._context.later(3.0, self._recovered, shard, copy, token)
            return
        source = self._cluster.nodes.get(shard.primary.node)
        if not copy.primary and (not shard.primary.active or source is None or not source.reachable):
            self._unassign(copy, "ALLOCATION_FAILED")
            self._context.later(1.0, self.reroute)
            return
        self._cluster.advance()
        self._started(shard, copy, node.id, copy.allocation)
        self._context.later(0.05, self.reroute)

    def _started(self, shard: Shard, copy: Copy, node: str, allocation: str) -> None:
        copy.state, copy.node, copy.target, copy.allocation = State.STARTED, node, "", allocation
        copy.token += 1
        shard.in_sync.add(allocation)
        self._cluster.nodes[node].disk.copies[shard.name] = allocation
        self._cluster.version += 1

    def _fail(self, shard: Shard, copy: Copy) -> None:
        """Unassign one copy because its node has left."""
        heir = next((c for c in shard.copies if c is not copy and self._can_lead(shard, c)), None)
        if copy.primary and heir is not None:
            copy.primary, heir.primary = False, True
        others = [c for c in shard.copies if c is not copy]
        if any(c.primary and c.active for c in others):
            # The primary continues without it, so it misses writes from now on.
            shard.in_sync.discard(copy.allocation)
        restarts = self._cluster.announced(copy.node) == "restart"
        self._unassign(copy, "NODE_LEFT")
        copy.delayed_until = self._context.now + (RESTART_DELAY if restarts else DELAY)
        if copy.primary:
            self._context.count("shard without a started copy")
            self._context.trace(f"shard {shard.name} has no started copy")
            for other in others:
                if other.state is State.INITIALIZING:
                    self._unassign(other, "PRIMARY_FAILED")

    def _can_lead(self, shard: Shard, copy: Copy) -> bool:
        node = self._cluster.nodes.get(copy.node)
        return copy.active and copy.allocation in shard.in_sync and node is not None and node.reachable

    def _unassign(self, copy: Copy, why: str) -> None:
        copy.left = copy.node if why == "NODE_LEFT" else ""
        copy.state, copy.node, copy.target, copy.why = State.UNASSIGNED, "", "", why
        copy.since, copy.token = self._context.now, copy.token + 1

    def _drop(self, shard: Shard, copy: Copy) -> None:
        node = self._cluster.nodes.get(copy.node)
        if node is not None:
            node.disk.copies.pop(shard.name, None)
        shard.in_sync.discard(copy.allocation)
        shard.copies.remove(copy)

    def _seconds(self, shard: Shard) -> float:
        return 1.0 + shard.size / self._disks.behavior.throughput * self._context.rng.uniform(0.8, 1.5)

    def _new_allocation(self) -> str:
        self._allocations += 1
        return f"{self._cluster.identity}-{self._allocations}"
