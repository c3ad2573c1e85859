"""How much of a cluster's life is simulated in a minute: when nothing happens to it, and when something always does.

A cluster-hour is one hour of virtual time of one world with one cluster in it, with its creation at the beginning and
the quiet time at the end of each run.
"""

import os

from bench.table import Row
from stateward.simulation.campaign import Report, simulate_many
from stateward.simulation.run import Plan

AIM = 2000
"""Cluster-hours a minute on two cores."""
CALM = Plan(chaos=12 * 3600.0, only=frozenset(), calm_start=True)
FAULTS = Plan(chaos=2400.0)


def rows(*, quick: bool = False) -> list[Row]:
    """Return one line for calm worlds, and one for those with faults throughout."""
    return [
        row("calm clusters", simulate_many("opensearch", range(4 if quick else 16), plan=CALM)),
        row("clusters with faults throughout", simulate_many("opensearch", range(8 if quick else 48), plan=FAULTS)),
    ]


def row(what: str, report: Report) -> Row:
    """Return the line of one campaign; raises where something was violated, because then it was not whole."""
    if report.failed:
        raise RuntimeError(f"seed {report.failed[0].seed}: {report.failed[0].violations[0]}")
    return Row(
        f"simulation of {what}",
        f"{report.hours_per_minute:.0f} cluster-hours a minute",
        f"≥ {AIM} on two cores",
        f"{report.seeds} runs of {report.hours / report.seeds:.1f} hours, on {os.cpu_count()} cores",
    )
