"""Freeze the objects that the checked-out version makes: `python -m tests.unit.upgrade`, before each release.

`python -m tests.unit.upgrade --pin` then adds the version to `release/released.txt`: from then on they never change.
"""

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from release import released
from stateward import __version__
from stateward.engines.connection.base import Target
from stateward.operator.databases.engine import Family
from stateward.planning.model.observation import Database, Unknown
from stateward.simulation.campaign.run import AGENT_IMAGE, Plan, Run
from stateward.simulation.opensearch.http import Wire
from stateward.simulation.timing.loop import WorldLoop
from stateward.simulation.world import log_capture
from stateward.simulation.world.operators import Process
from tests.unit.upgrade.cases import CASES, Case
from tests.unit.upgrade.chart import write_chart
from tests.unit.upgrade.definitions import write_definitions
from tests.unit.upgrade.frozen import RELEASED, FrozenCluster, frozen_objects, write
from tests.unit.upgrade.takeover import unheard

QUIET = 1800.0
"""Seconds after which nothing is left to be written."""


class RecordingProcess(Process):
    """An operator whose last observation of the database is kept."""

    observed: Database | Unknown | None = None

    def _family(self, wire: Wire) -> Family:
        family = super()._family(wire)
        observe = family.engine.observe

        async def recorded(target: Target) -> Database | Unknown:
            self.observed = await observe(target)
            return self.observed

        cast("Any", family.engine).observe = recorded
        return family


def freeze(case: Case) -> FrozenCluster:
    """Return a cluster that the current code has made and settled in a simulated world."""
    with asyncio.Runner(loop_factory=WorldLoop) as runner:
        plan = Plan(engine=case.engine, spec=case.spec, only=frozenset(), agents=case.agents, processes=1, profile="")
        run = Run(1, plan, runner.get_loop())
        return runner.run(_settled(run, case))


async def _settled(run: Run, case: Case) -> FrozenCluster:
    process = RecordingProcess(run.world, "op", foundationdb=case.engine == "foundationdb")
    process.agent_image = AGENT_IMAGE if case.agents else ""
    with log_capture.to(unheard):
        process.start()
        run.user.create()
        await run.until_formed()
        await asyncio.sleep(QUIET)
        if run.unmet() or run.violations or not isinstance(process.observed, Database):
            raise RuntimeError(f"the cluster is not settled: {run.unmet()} {run.violations} {process.observed}")
        found = list(frozen_objects(run.world.store))
        seconds, database = run.world.now, msgspec.to_builtins(process.observed)
        process.kill()
        await asyncio.sleep(1.0)
    return FrozenCluster(__version__, case.engine, case.agents, seconds, database, found)


def pin(root: Path) -> int:
    """Add the current version to the list of those that are out; refuse one that is there, or that is not frozen."""
    if __version__ in {each.version for each in released.entries(root)} or not (RELEASED / __version__).exists():
        sys.stderr.write(f"{__version__} is in {released.LIST} already, or nothing is frozen of it\n")
        return 1
    line = released.line(root, __version__)
    with (root / released.LIST).open("a", encoding="utf-8") as file:
        file.write(line)
    return 0


def main(arguments: Sequence[str]) -> int:
    """Write the files of the current version; refuse to change those of a release."""
    root = Path(__file__).parents[3]
    if list(arguments) == ["--pin"]:
        return pin(root)
    folder = RELEASED / __version__
    if folder.exists():
        sys.stderr.write(f"{folder} exists; objects of a release never change. Before the release: remove it first\n")
        return 1
    write_definitions(folder)
    write_chart(folder)
    for name, case in CASES.items():
        write(folder / f"{name}.json.gz", freeze(case))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
