"""How much of a cluster's life is simulated in a minute: on ordinary days, and when something always goes wrong.

A cluster-hour is one hour of virtual time of one world with one cluster in it, with its creation at the beginning and
the quiet time at the end of each run. On ordinary days hours in which nothing can happen are passed over; calm clusters
are measured without that, look by look.
"""

import os

from bench.table import Row
from stateward.simulation.campaign.campaign import Report, simulate_many
from stateward.simulation.campaign.run import YEAR, Plan

AIM = 2000
"""Cluster-hours a minute on two cores."""
CALM = Plan(chaos=12 * 3600.0, only=frozenset(), quiet_start=True)
FAULTS = Plan(chaos=2400.0)
DAYS = Plan(chaos=10 * 86400.0, slower=YEAR)


def rows(*, quick: bool = False) -> list[Row]:
    """Return a line for a campaign of both kinds, and one each for ordinary days, calm worlds and storms."""
    return [
        row("storms and months, as a campaign draws them", simulate_many("opensearch", range(10 if quick else 40))),
        row("ordinary days", simulate_many("opensearch", range(4 if quick else 36), plan=DAYS)),
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
        f"{report.seeds} runs of {report.hours / report.seeds:.1f} hours, {report.skipped / report.hours:.0%} of them"
        f" passed over, on {os.cpu_count()} cores",
    )
