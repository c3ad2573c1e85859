"""`python -m bench [NAME…]`: measures and prints one table.

Names: micro, cli, answers, agent, rollout, simulation, sandbox, inplace, forecasts, arrival, packages, many, secured,
failing, scale, peers; by default all. `peers` also measures ECK if BENCH_PEER_ECK names a folder with its program.
"""

import argparse
import dataclasses
import sys
from collections.abc import Callable, Sequence

from bench import commands, machine, sandbox_figures
from bench.clusters import many, scale
from bench.clusters.fleet import Mode
from bench.databases import agent, arrival, forecasts, inplace
from bench.packages import installations
from bench.peers import scenario
from bench.planner import micro, observing, rollout, simulated
from bench.table import Row, render
from sandbox.errors import SandboxError

Measurement = Callable[[argparse.Namespace], list[Row]]


def main(words: Sequence[str]) -> int:
    """Run the selected measurements, print the table, and return the exit code."""
    chosen = parser().parse_args(words)
    rows: list[Row] = []
    for name in chosen.names or MEASUREMENTS:
        scale.say(f"{name} …")
        rows += MEASUREMENTS[name](chosen)
    print(f"machine: {machine.describe()}\n")
    print(render(rows))
    return 0


def parser() -> argparse.ArgumentParser:
    """Return what can be said on the command line."""
    words = argparse.ArgumentParser("python -m bench", description=__doc__)
    words.add_argument("names", nargs="*", metavar="NAME", help="what to measure: " + ", ".join(MEASUREMENTS))
    words.add_argument("--quick", action="store_true", help="watch for one or two minutes instead of ten")
    words.add_argument(
        "--cold", action="store_true", help="also build the sandbox from nothing (eight minutes and more)"
    )
    words.add_argument("--sizes", type=sizes, metavar="N,N", help="numbers of clusters or installations")
    return words


def sizes(text: str) -> tuple[int, ...]:
    """Return numbers of clusters, smallest first; raise ValueError for anything else."""
    found = tuple(sorted({int(part) for part in text.split(",")}))
    if found[0] < 1:
        raise ValueError(text)
    return found


def _scale(chosen: argparse.Namespace) -> list[Row]:
    extent = scale.QUICK if chosen.quick else scale.Extent()
    return scale.measure(dataclasses.replace(extent, sizes=chosen.sizes or (100,)))


def _packages(chosen: argparse.Namespace) -> list[Row]:
    extent = installations.QUICK if chosen.quick else installations.Extent()
    return installations.measure(
        dataclasses.replace(extent, installations=max(chosen.sizes or (extent.installations,)))
    )


def _peers(chosen: argparse.Namespace) -> list[Row]:
    extent = scenario.QUICK if chosen.quick else scenario.Extent()
    return scenario.measure(dataclasses.replace(extent, clusters=max(chosen.sizes or (extent.clusters,))))


def _many(mode: Mode) -> Measurement:
    def measured(chosen: argparse.Namespace) -> list[Row]:
        extent = scale.QUICK if chosen.quick else scale.Extent()
        return many.measure(dataclasses.replace(extent, sizes=chosen.sizes or (100, 500), mode=mode))

    return measured


MEASUREMENTS: dict[str, Measurement] = {
    "micro": lambda _: micro.measure(),
    "cli": lambda _: commands.measure(),
    "answers": lambda _: observing.measure(),
    "agent": lambda _: agent.measure(),
    "rollout": lambda chosen: rollout.rows((6, 30) if chosen.quick else rollout.SIZES),
    "simulation": lambda chosen: simulated.rows(quick=chosen.quick),
    "sandbox": lambda chosen: sandbox_figures.rows(cold=chosen.cold),
    "inplace": lambda _: inplace.measure(),
    "forecasts": lambda _: forecasts.measure(),
    "arrival": lambda _: arrival.measure(),
    "packages": _packages,
    "many": _many(Mode.PLAIN),
    "secured": _many(Mode.SECURED),
    "failing": _many(Mode.FAILING),
    "scale": _scale,
    "peers": _peers,
}
"""By name, in the order in which they run: the short ones first."""

if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except (SandboxError, RuntimeError, TimeoutError) as error:
        sys.exit(f"bench: {error}")
    except KeyboardInterrupt:
        # What was made is gone already: every measurement takes its own things down.
        sys.exit(130)
