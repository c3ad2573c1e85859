"""The report of a simulation campaign: events, violations, and how to repeat them."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from stateward.cli.shared.picture import columns
from stateward.cli.status.advice import ADVICE
from stateward.simulation.campaign.branches import branches, out_of_reach
from stateward.simulation.campaign.campaign import Report
from stateward.simulation.campaign.run import Outcome
from stateward.simulation.campaign.shrinking import SmallRun
from stateward.simulation.world.trace_text import clock

SHOWN = 3
"""Limit of shown violations of one run: later ones are often consequences of the first."""


def met(report: Report, engine: str) -> Table:
    """Return how often each fault, edit and decision occurred."""
    table = columns("KIND", "WHAT", "TIMES")
    never, known = out_of_reach(engine), list(branches(ADVICE.keys(), engine))
    for name in known:
        kind, _, what = name.partition(": ")
        times = report.counts.get(name, 0)
        if times or name not in never:
            table.add_row(kind, what, Text(str(times) if times else "never", style="" if times else "yellow"))
    for name, times in report.counts.items():
        if name not in known:
            table.add_row("also", name, str(times))
    return table


def summary(report: Report, engine: str, extent: str, never: Sequence[str]) -> str:
    """Return the result: violations with commands to repeat them, what never occurred, and the speed.

    `extent` is the option for the duration of a run; empty if none was given.
    """
    lines: list[str] = []
    for outcome in report.failed:
        lines += [f"seed {outcome.seed}: {violation}" for violation in outcome.violations[:SHOWN]]
        words = ("stateward simulate", f"--engine {engine} --seed {outcome.seed}", extent, "--trace")
        lines.append(f"  to see how: {' '.join(word for word in words if word)}")
    if never and report.seeds > 1:
        lines.append(f"never met: {', '.join(never)}")
    runs = f"{report.seeds} {'run' if report.seeds == 1 else 'runs'}"
    speed = f"{report.hours:.1f} cluster-hours"
    if report.seconds:
        speed += f" in {report.seconds:.0f} s, {report.hours_per_minute:.0f} a minute"
    calm = f", {report.skipped:.1f} of them skipped, because nothing could happen in them" if report.skipped else ""
    lines.append(f"{runs}, {len(report.failed)} with violations; {speed}{calm}")
    return "\n".join(lines)


def small(seed: int, run: SmallRun, file: Path) -> str:
    """Return what is left of a failing run after it was made small."""
    plan = run.plan
    faults = "all its faults" if plan.only is None else ", ".join(sorted(plan.only)) or "no fault"
    pools = (plan.spec or {}).get("pools", [])
    members = f", {sum(pool.get('replicas', 1) for pool in pools)} members" if pools else ""
    return (
        f"seed {seed}, made small in {run.attempts} attempts: {plan.chaos / 60:.0f} min with {faults}{members}\n"
        f"  {run.violation}\n  to see how: stateward simulate --replay {file} --trace"
    )


def trace_lines(outcome: Outcome) -> Iterator[str]:
    """Yield the trace, one line per step; repetitions of a step are one line."""
    last, again = "", 0
    for at, sentence in outcome.trace_lines:
        if sentence == last:
            again += 1
            continue
        if again:
            yield f"{'':>11}  … {again} more times"
        last, again = sentence, 0
        yield f"{clock(at):>11}  {sentence}"
