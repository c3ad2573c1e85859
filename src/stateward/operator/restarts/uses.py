"""Which workloads use an object: what to look at when it changes."""

from collections.abc import Iterable

from stateward.operator.restarts.views import Workload
from stateward.packages.dependencies import Dependency

Source = tuple[str, str, str]
"""Namespace, kind and name of an object whose data is used."""


class Uses:
    """Workloads by what they use, as it was when they were last looked at."""

    def __init__(self) -> None:
        self._sources: dict[Workload, frozenset[Source]] = {}
        self._workloads: dict[Source, set[Workload]] = {}

    def put(self, workload: Workload, used: Iterable[Dependency]) -> None:
        """Note what a workload uses."""
        self.drop(workload)
        sources = frozenset((workload.namespace, d.kind, d.name) for d in used)
        self._sources[workload] = sources
        for source in sources:
            self._workloads.setdefault(source, set()).add(workload)

    def drop(self, workload: Workload) -> None:
        """Forget a workload."""
        for source in self._sources.pop(workload, frozenset()):
            self._workloads[source].discard(workload)
            if not self._workloads[source]:
                del self._workloads[source]

    def of(self, source: Source) -> frozenset[Workload]:
        """Return who uses an object."""
        return frozenset(self._workloads.get(source, ()))
