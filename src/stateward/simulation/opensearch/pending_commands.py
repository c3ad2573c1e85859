"""Commands that wait for a manager, or in its queue, and outlive their clients.

Source of the rules: a node without a manager keeps a request for the time limit `cluster_manager_timeout`, and sends it
as soon as one is elected; the manager applies changes of the state one after another, and forgets one that has waited
for this time. A client that has given up, or died, changes neither.
"""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol, TypeVar

from stateward.api.values.base import Json
from stateward.simulation.cluster.context import SimulationContext
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.node import Node, Stage

T = TypeVar("T")

MANAGER_PATIENCE = 30.0
"""Seconds that a request waits for a manager, or for its turn, before it is refused."""
STEP = 1.0
"""Seconds after which a node without a manager looks again."""


class Processes(Protocol):
    """The processes of a world, and the clusters that they have joined."""

    context: SimulationContext

    def cluster_of(self, node: Node) -> Cluster | None:
        """Return the cluster that a process has joined."""
        ...


class PendingCommands:
    """The commands of one client that are not performed yet."""

    def __init__(self, processes: Processes) -> None:
        self._processes = processes
        self._tasks: set[asyncio.Task[Any]] = set()

    async def outlive(self, answer: Callable[[], Coroutine[Any, Any, T]], what: str) -> T:
        """Return the answer to a command, which goes on if the client gives up or is killed meanwhile."""
        task = self._processes.context.loop.create_task(answer())
        self._tasks.add(task)
        task.add_done_callback(self._done)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                task.add_done_callback(partial(self._alone, what))
            raise

    async def managed(self, node: Node) -> Cluster | None:
        """Return the cluster of a node once it has a manager; None if that takes too long, or if the node ends."""
        began = self._processes.context.now
        while True:
            cluster = self._processes.cluster_of(node)
            if cluster is not None and node.stage is Stage.JOINED and cluster.managed:
                return cluster
            if not node.alive or self._processes.context.now - began >= MANAGER_PATIENCE:
                return None
            await asyncio.sleep(STEP)

    async def turn(self, cluster: Cluster, delay: float) -> bool:
        """Wait for the turn of a command that the manager leaves for some seconds; False if that takes too long."""
        began = self._processes.context.now
        async with cluster.queue:
            if delay:
                await asyncio.sleep(delay)
        return self._processes.context.now - began <= MANAGER_PATIENCE

    def _alone(self, what: str, _task: asyncio.Task[Any]) -> None:
        self._processes.context.count("engine command outlived its client")
        self._processes.context.trace(f"{what} is done, whose client is gone")

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.exception()  # Nothing else asks for it if the client is gone.


async def flushed(cluster: Cluster) -> Json:
    """Flush every copy; the answer waits for those on silent nodes until these are removed from the cluster.

    A request between nodes has no time limit: it ends with the connection, which the removal closes.
    """
    copies = [copy.node for shard in cluster.shards for copy in shard.copies if copy.active]
    silent = [node for name in copies if (node := cluster.nodes.get(name)) is not None and not node.reachable]
    while any(cluster.nodes.get(node.id) is node and not node.reachable for node in silent):  # noqa: ASYNC110
        await asyncio.sleep(STEP)
    return {"_shards": {"total": len(copies), "failed": sum(not node.reachable for node in silent)}}
