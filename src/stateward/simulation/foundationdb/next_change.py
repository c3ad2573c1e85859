"""Advances the model from one change to the next, instead of in small steps: for many long runs without a real clock.

The rules are the same. Between two changes nothing depends on when one looks, except that data moves evenly.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import inf

from stateward.simulation.foundationdb.cluster import Cluster
from stateward.simulation.foundationdb.ensemble import Ensemble
from stateward.simulation.foundationdb.recovery import RECRUITING
from stateward.simulation.foundationdb.state import Worker

LEAST = 0.05
"""The shortest step in seconds: what has just changed has its consequences after it."""
FAR = 3600.0
"""Seconds after which the end of a maintenance is no change of its own: a user's may last for weeks."""


@dataclass(slots=True, eq=False)
class EventfulEnsemble(Ensemble):
    """Processes of one database whose model jumps from one change to the next."""

    touched: bool = True
    """Whether something happened to the model from outside since its last step, or whether that step changed it."""

    def next_change(self) -> float:
        """Return when the model changes next if nothing happens to it; infinity if it does not."""
        cluster = self.cluster
        if cluster is None or self.leading(cluster.state.connection) is None:
            return inf
        return cluster.at + LEAST if self.touched else due(cluster, self._heard())

    def _heard(self) -> list[Worker]:
        return [worker for address, worker in self.processes.items() if address not in self.astray]

    def _instant(self, cluster: Cluster, heard: list[Worker]) -> float:
        """Return the time of the next change."""
        if self.touched:
            self.touched = False
            return cluster.at + LEAST
        moving = any(shard.target for shard in cluster.state.shards)
        self.touched = moving and sum(bool(shard.target) for shard in cluster.state.shards) == 1
        return due(cluster, heard)


def due(cluster: Cluster, heard: Iterable[Worker]) -> float:
    """Return when the model of a cluster changes next; infinity if it is at rest."""
    known = {worker.address for worker in heard}
    return max(cluster.at + LEAST, min(changes(cluster, known), default=inf))


def changes(cluster: Cluster, heard: set[str]) -> Iterator[float]:
    """Yield when something of a cluster changes by itself, as times after its last step."""
    state, timing, at = cluster.state, cluster.timing, cluster.at
    for worker in cluster.workers.values():
        if worker.address not in heard:
            yield from (t for t in (worker.seen + timing.silent, worker.seen + timing.forgotten) if t > at)
    yield from (seen + timing.forgotten for seen in cluster.strangers.values() if seen + timing.forgotten > at)
    name, since = state.recovery.name, state.recovery.since
    if name == RECRUITING and since + timing.recruiting > at:
        yield since + timing.recruiting
    if name in {"accepting_commits", "all_logs_recruited"}:
        yield since + timing.draining / 2
    if state.available:
        yield from data_changes(cluster)


def data_changes(cluster: Cluster) -> Iterator[float]:
    """Yield when data distribution changes by itself."""
    state, timing, at = cluster.state, cluster.timing, cluster.at
    present = {worker.store for worker in cluster.live(at).values()}
    moving = next((s for s in state.shards if s.target and not present.isdisjoint(s.holders)), None)
    if moving is not None:
        yield at + (moving.size - moving.moved) / timing.moving
    for store, server in state.servers.items():
        if store not in present and not server.failed and server.zone != state.maintenance:
            yield server.seen + timing.patience
    if state.maintenance and at < state.maintenance_until < at + FAR:
        yield state.maintenance_until
