"""Dynamic settings in flat form, persistent and transient."""

from dataclasses import dataclass, field

ENABLE = "cluster.routing.allocation.enable"
REBALANCE = "cluster.routing.rebalance.enable"
EXCLUDE = "cluster.routing.allocation.exclude._name"
UNKNOWN = "search.unknown"
"""A setting that the database does not know."""


@dataclass(slots=True)
class Settings:
    """The dynamic settings of one cluster."""

    persistent: dict[str, str] = field(default_factory=dict[str, str])
    transient: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def enable(self) -> str:
        """Which copies may be placed."""
        return (self.transient.get(ENABLE) or self.persistent.get(ENABLE) or "all").lower()

    @property
    def balances(self) -> bool:
        """Whether rebalancing is enabled."""
        return (self.transient.get(REBALANCE) or self.persistent.get(REBALANCE) or "all").lower() != "none"

    @property
    def excluded(self) -> frozenset[str]:
        """Names of the drained nodes."""
        text = self.transient.get(EXCLUDE) or self.persistent.get(EXCLUDE) or ""
        return frozenset(name for name in text.split(",") if name)

    def change(self, section: dict[str, str], values: dict[str, str | None]) -> None:
        """Set or remove values."""
        for name, value in values.items():
            if value is None:
                section.pop(name, None)
            else:
                section[name] = str(value)
