"""What a rehearsal asks of the rules of FoundationDB, and the durations of the database."""

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.forecast.durations import Durations
from stateward.planning.model.observation import Database, Observation
from stateward.simulation.foundationdb.recovery import Timing
from stateward.simulation.rehearsal.faults import Fault
from stateward.simulation.rehearsal.foundationdb.start import is_known, is_supported, redundancy_of
from stateward.simulation.rehearsal.foundationdb.world import FoundationWorld
from stateward.simulation.rehearsal.rules import Words
from stateward.simulation.rehearsal.timings import Spread
from stateward.simulation.rehearsal.world import RehearsedWorld

SILENT = 4.0
"""Seconds until the database takes a silent process for failed. Source: `FAILURE_MIN_DELAY` of FoundationDB."""
PATIENCE = 60.0
"""Seconds after which the data of a failed storage server is copied again. Source: its
`DATA_DISTRIBUTION_FAILURE_REACTION_TIME`."""
RECRUITING = 2.0
"""Seconds of a recovery of the transaction system. Assumed: real processes of 7.3.62 had at most 6 s without a write
after the loss of a volume, and noticed it in four of them (docs/foundationdb-stand-in.md)."""
DRAINING = 4.0
"""Seconds until storage servers have read the logs of the generation before. Assumed, as in the stand-in."""
MOVING = 16.0 * 2**20
"""Bytes a second that the whole database moves. Assumed, as in the stand-in."""
MOVING_SPREAD = 0.8
"""Standard deviation of the logarithm of that: two of three databases are within a factor of 2.2. Assumed itself."""
FORGOTTEN = 4.0
"""Seconds until a process that failed is no longer listed, after that. Assumed, as in the stand-in."""


class FoundationRules(Struct, frozen=True):
    """The rules of FoundationDB for one cluster, whose spec is that of the change."""

    cluster: FoundationDBCluster
    words: Words = Words(
        unit="team",
        units="teams",
        unknown="how often data lacks copies or the database refuses writes is not known: it does not report its roles",
        away="",
        assumed="any fault domains may share data (a team), 16 MiB/s of it move, and no image is pulled",
        refuses="the database refuses writes",
        sources=(
            f"the database moves {MOVING / 2**20:.0f} MiB/s of data: assumed",
            f"a recovery of its transaction system takes {RECRUITING:.0f} s: assumed",
            f"it takes a silent process for failed after {SILENT:.0f} s: its default",
            f"it copies the data of a failed process again after {PATIENCE:.0f} s: its default",
        ),
    )
    plays_forecast: bool = False
    """The forecast does not know how much data there is to move, nor when the database recovers."""

    def known(self, start: Observation) -> bool:
        """Return whether the database reports its redundancy, its coordinators, and its processes' roles and data."""
        return is_known(start)

    def problem(self, start: Observation) -> str | None:
        """Return why a cluster cannot be played, as a clause; None if it can."""
        if not isinstance(start.database, Database):
            return f"the database cannot be asked: {start.database.why}"
        mode = redundancy_of(start.database, self.cluster)
        return None if is_supported(mode) else f"its redundancy is {mode}, which a rehearsal does not know"

    def paced(self, durations: Durations, spread: Spread) -> tuple[Durations, Spread]:
        """Return them with the rate at which the whole database moves data, which is only assumed."""
        return replace(durations, rate=MOVING), replace(spread, rate=MOVING_SPREAD)

    def world(
        self, start: Observation, now: float, durations: Durations, faults: Iterable[Fault] = ()
    ) -> RehearsedWorld:
        """Return a cluster as it is at the begin of a run; the rate is that of the whole database."""
        timing = Timing(
            recruiting=RECRUITING,
            draining=DRAINING,
            moving=durations.rate,
            patience=PATIENCE,
            silent=SILENT,
            forgotten=SILENT + FORGOTTEN,
        )
        return FoundationWorld(start, now, durations, self.cluster, timing, faults)
