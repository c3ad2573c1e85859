"""How the database behaves: how long its processes and recoveries take, and which versions do not start."""

from dataclasses import dataclass


@dataclass(slots=True)
class DatabaseBehavior:
    """How the database behaves; times in seconds, as ranges."""

    boot: tuple[float, float] = (4.0, 12.0)
    stop: tuple[float, float] = (1.0, 6.0)
    reconfiguration: tuple[float, float] = (0.0, 0.2)
    """Until the voting configuration follows a change: it is one more change, and each waits for all nodes."""
    broken: frozenset[str] = frozenset()
    """Versions that end as soon as they start."""
    throughput: float = 40 * 2**20
    """Bytes a second of a recovery."""
