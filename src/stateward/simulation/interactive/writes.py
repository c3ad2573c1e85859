"""What the clients of a world's database experience: documents acknowledged and found, time in red, pauses of writes.

It looks at the databases themselves and not at the operator's reports, once in each second of virtual time.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from stateward.simulation.foundationdb.ensemble import Ensemble
from stateward.simulation.foundationdb.state import FACTORS
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.databases import Databases
from stateward.simulation.world.world import World

UNMEASURED = ""
EVERY = 1.0
"""Seconds between two looks."""
FOUNDATIONDB_RATE = 900.0
"""Documents a second that clients write to FoundationDB."""


class Writes(Struct, frozen=True, rename="camel"):
    """The measurements so far; times in seconds."""

    health: str = UNMEASURED
    """The database's own state: green, yellow, red or unknown; empty before the first look."""
    acknowledged: int = 0
    found: int = 0
    """Acknowledged documents of which a complete copy exists on a disk now."""
    per_second: float = 0.0
    red: float = 0.0
    """Time in red health since the start of the measurement."""
    paused: float = 0.0
    """For how long the index that has waited longest for a write waits now."""
    longest: float = 0.0
    """The longest such time."""


class WriteMeter:
    """Measures the writes to a world's database."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._waiting: dict[str, float] = {}
        self._documents = 0.0
        self.latest = Writes()
        self._look()

    def _look(self) -> None:
        self._world.context.later(EVERY, self._look)
        health, acknowledged, found, accepts = self._state()
        self._waiting = {name: 0.0 if yes else self._waiting.get(name, 0.0) + EVERY for name, yes in accepts.items()}
        paused = max(self._waiting.values(), default=0.0)
        before = self.latest
        self.latest = Writes(
            health,
            acknowledged,
            found,
            max(0.0, (acknowledged - before.acknowledged) / EVERY) if before.health != UNMEASURED else 0.0,
            before.red + (EVERY if health == "red" else 0.0),
            paused,
            max(before.longest, paused),
        )

    def _state(self) -> tuple[str, int, int, Mapping[str, bool]]:
        """Return health, acknowledged and found documents, and whether each part of the data accepts writes."""
        search = self._world.database()
        if search is not None:
            return search_state(search, self._world.databases)
        ensemble = next(iter(self._world.foundationdb.databases.values()), None)
        return self._foundationdb(ensemble) if ensemble is not None else ("unknown", 0, 0, {})

    def _foundationdb(self, ensemble: Ensemble) -> tuple[str, int, int, Mapping[str, bool]]:
        ensemble.advance()
        if ensemble.cluster is None or not ensemble.cluster.state.configuration:
            return "unknown", 0, 0, {}
        state = ensemble.cluster.state
        self._documents += FOUNDATIONDB_RATE * EVERY if state.available else 0.0
        factor = FACTORS[state.configuration["redundancy_mode"]]
        whole = all(not shard.target and len(shard.holders) >= factor for shard in state.shards)
        health = "red" if not state.available else "green" if whole else "yellow"
        lost = bool(self._world.databases.damage.losses)
        return health, int(self._documents), 0 if lost else int(self._documents), {"all": state.available}


def search_state(cluster: Cluster, databases: Databases) -> tuple[str, int, int, Mapping[str, bool]]:
    """Return the state of a search engine; see `WriteMeter`."""
    cluster.advance()
    health = cluster.health if cluster.leader else "red"
    acknowledged = sum(int(shard.acknowledged) for shard in cluster.shards)
    accepts = {shard.name: cluster.writable(shard) for shard in cluster.shards if shard.rate}
    return health, acknowledged, sum(documents_found(cluster, databases)), accepts


def documents_found(cluster: Cluster, databases: Databases) -> Iterator[int]:
    """Yield the acknowledged documents of each shard that has a complete copy on some disk."""
    kept = {(name, allocation) for disk in databases.disks.values() for name, allocation in disk.copies.items()}
    for shard in cluster.shards:
        if any((shard.name, allocation) in kept for allocation in shard.in_sync):
            yield int(shard.acknowledged)
