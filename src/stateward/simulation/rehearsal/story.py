"""The timeline of one run: its status at each reconciliation, as the operator would have written it."""

import math
from collections.abc import Iterator

from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.planning.model.observation import Observation
from stateward.planning.plan import Plan
from stateward.planning.report.status import status
from stateward.simulation.rehearsal.faults import Fault, Kind
from stateward.simulation.rehearsal.rehearsal import Rehearsal, Run, one_run
from stateward.timeline.advance import advance
from stateward.timeline.from_history import timeline_of
from stateward.timeline.history import History
from stateward.timeline.model import Mark, Timeline
from stateward.timeline.times import duration


class Story:
    """Collects the history of a run; pass `watch` to it."""

    def __init__(self, cluster: Cluster) -> None:
        self.history, self.end = History(), 0.0
        self._cluster, self._status = cluster, cluster.status

    def watch(self, now: float, seen: Observation, made: Plan) -> None:
        """Add one reconciliation."""
        self._status = status(seen, made, self._status, now)
        self.history, self.end = advance(self.history, self._cluster, self._status, now), now


def story(rehearsal: Rehearsal, cluster: Cluster, seed: int) -> tuple[Run, Timeline]:
    """Return the run of a seed and its timeline, as if it began now; the fault is a mark."""
    told = Story(cluster)
    run = one_run(rehearsal, seed, told.watch)
    drawn = timeline_of(told.history, cluster.metadata.name, told.end, subtitle=f"run with seed {seed}")
    begin = min(drawn.begin, rehearsal.now)
    marks = sorted((*drawn.marks, *fault_marks(rehearsal.now, run.outcome.fault, told.end)), key=lambda mark: mark.at)
    return run, replace(drawn, begin=begin, marks=tuple(marks), now=None)


def fault_marks(began: float, fault: Fault | None, end: float) -> Iterator[Mark]:
    """Yield the begin of a fault, and its end if it has one within the run."""
    if fault is None:
        return
    yield Mark(began + fault.at, f"{described(fault)}: {', '.join(fault.members)}")
    if fault.seconds > 0.0 and not math.isinf(fault.seconds) and fault.at + fault.seconds < end - began:
        yield Mark(began + fault.at + fault.seconds, f"{fault.place} is back")


def described(fault: Fault) -> str:
    """Return what happens, as a clause."""
    if fault.kind is Kind.DISK:
        return f"{fault.place} fails, {'and no other takes its place' if fault.lasting else 'and is empty after that'}"
    what = "loses power" if fault.kind is Kind.NODE else "cannot be reached"
    return f"{fault.place} {what}{' and does not return' if fault.lasting else f' for {duration(fault.seconds)}'}"
