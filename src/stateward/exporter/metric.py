"""What a metric is, and the metrics that all engines have.

The number of series is bounded: labels are the cluster, its members, and names from fixed lists. Times are seconds,
sizes are bytes, shares are ratios from 0 to 1; counters begin at 0 when the member's process starts.
"""

from collections.abc import Iterator, Mapping

from msgspec import Struct

PREFIX = "stateward_database_"
CLUSTER = ("engine", "namespace", "name")
"""Labels of every series: the same as those of the operator's metrics, so that both can be joined."""
MEMBER = (*CLUSTER, "pool", "node")
MILLI = 0.001
PERCENT = 0.01
KIBI = 1024.0
GAUGE, COUNTER = "gauge", "counter"


class Each(Struct, frozen=True):
    """One series for each name of a fixed list; `names` maps the database's words to values of the label."""

    label: str
    names: Mapping[str, str]


class Metric(Struct, frozen=True):
    """One metric; `path` leads to its value, with `*` in place of a name of `each`."""

    name: str
    type: str
    meaning: str
    path: str = ""
    """Empty: the value does not come from one place of an answer."""
    factor: float = 1.0
    """What the database's value is multiplied by, to get the base unit."""
    each: Each | None = None
    base: tuple[str, ...] = MEMBER
    truth: bool = False
    """Whether the database's value is true or false, and not a number."""

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the names of its labels."""
        return (*self.base, *((self.each.label,) if self.each is not None else ()))


def same(*names: str) -> dict[str, str]:
    """Return names of the database that are also the values of the label."""
    return {name: name for name in names}


def metric(
    base: tuple[str, ...], name: str, meaning: str, path: str = "", factor: float = 1.0, each: Each | None = None
) -> Metric:
    """Return a metric of numbers; the end of its name tells a counter."""
    kind = COUNTER if name.endswith("_total") else GAUGE
    return Metric(PREFIX + name, kind, meaning, path, factor, each, base)


UP = metric(CLUSTER, "up", "1 if the database answered all questions of this scrape, else 0, without stale values.")
DURATION = metric(CLUSTER, "scrape_duration_seconds", "How long the answers of the database took.")
BUILD = Metric("stateward_exporter_build_info", GAUGE, "Always 1; the version of the exporter.", base=("version",))


def paths(metric: Metric) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield for each series of a metric the value of its own label, empty without one, and the way to its value."""
    if metric.each is None:
        yield "", tuple(metric.path.split("."))
        return
    before, _, after = metric.path.partition("*")
    for word, shown in metric.each.names.items():
        start, end = before.split("."), after.split(".")
        yield shown, (*start[:-1], f"{start[-1]}{word}{end[0]}", *end[1:])
