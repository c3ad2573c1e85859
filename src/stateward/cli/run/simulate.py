"""`simulate`: runs the operator in simulated worlds with faults, one per seed."""

import os
from typing import Any

import click
from msgspec import structs
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from stateward.cli.run import simulated
from stateward.cli.shared import screen
from stateward.cli.status.advice import ADVICE
from stateward.simulation.campaign.branches import missed
from stateward.simulation.campaign.campaign import Report, report, simulate_many, usual
from stateward.simulation.campaign.engine_setups import ENGINES, FOUNDATIONDB
from stateward.simulation.campaign.run import YEAR, Outcome, Plan, simulate_one
from stateward.simulation.timing.bounds import STEPS, WALL, WALL_PER_HOUR, Bounds


@click.command()
@click.option("--engine", type=click.Choice(ENGINES), default=ENGINES[0], show_default=True)
@click.option("--seeds", type=click.IntRange(min=1), default=100, show_default=True, help="How many runs.")
@click.option("--first", type=click.IntRange(min=0), default=0, show_default=True, help="The first seed.")
@click.option("--seed", type=click.IntRange(min=0), help="Only the run of this seed.")
@click.option("--trace", is_flag=True, help="With --seed: print each step.")
@click.option("--hours", type=click.FloatRange(0, 1000), help="Simulated hours with faults, in all runs.")
@click.option(
    "--days",
    type=click.FloatRange(min=0, max=366, min_open=True),
    help="Simulated days of ordinary operation, in all runs: about ten faults and edits a day.",
)
@click.option(
    "--step-limit",
    type=click.IntRange(min=1),
    default=STEPS,
    show_default=True,
    help="Stop a run that takes more steps than this in one simulated hour; it counts as failed.",
)
@click.option(
    "--wall-limit",
    type=click.FloatRange(min=0, min_open=True),
    help="Stop a run that takes more real seconds than this; it counts as failed. Default: "
    f"{WALL:g}, and {WALL_PER_HOUR:g} for each simulated hour with faults.",
)
@click.option("-j", "--jobs", type=click.IntRange(min=1), help="Runs at once; default: one for each core.")
@click.option("--require-all", is_flag=True, help="Fail if a fault or a decision of the planner never occurred.")
def simulate(
    *,
    engine: str,
    seed: int | None,
    trace: bool,
    hours: float | None,
    days: float | None,
    jobs: int | None,
    **campaign: Any,
) -> None:
    """Search for bugs of the operator in simulated worlds. Nothing outside this process is changed.

    Each seed is one world: nodes, volumes, databases, a user's edits, and faults that the seed chooses. Some faults
    must never harm the cluster. When the faults stop, it has to reach its desired state and stay there. A run is
    repeated exactly by its seed. Exit code 1 when a property was violated.

    Without --hours and --days nine runs of ten are an hour of dense faults, and the tenth is a month of ordinary days.
    """
    if hours is not None and days is not None:
        raise click.UsageError("a run is --hours of storm or --days of ordinary operation, not both")
    if engine == FOUNDATIONDB and days is not None:
        raise click.UsageError("--days needs a database with shards; use --hours")
    plan = None if hours is None else Plan(engine=engine, chaos=hours * 3600)
    if days is not None:
        plan = Plan(engine=engine, chaos=days * 86400, slower=YEAR)
    storm = "" if hours is None else f"--hours {hours:g}"
    extent = storm if days is None else f"--days {days:g}"
    bounds = Bounds(campaign["step_limit"], campaign["wall_limit"])
    if seed is not None:
        chosen = usual(engine, seed) if plan is None else plan
        found = alone(seed, structs.replace(chosen, bounds=bounds), trace=trace)
    elif trace:
        raise click.UsageError("--trace prints one run: name it with --seed")
    else:
        first = campaign["first"]
        seeds = range(first, first + campaign["seeds"])
        found = with_progress(engine, seeds, plan, bounds, jobs or os.cpu_count() or 1)
    never = missed(found.counts, ADVICE.keys(), engine)
    if not trace:
        screen.show(simulated.met(found, engine))
    click.echo(simulated.summary(found, engine, extent, never))
    if found.failed or (campaign["require_all"] and never):
        click.get_current_context().exit(1)


def alone(seed: int, plan: Plan, *, trace: bool) -> Report:
    """Run one seed, and print its trace if requested."""
    outcome, seconds = simulate_one(seed, structs.replace(plan, trace=trace))
    for line in simulated.story(outcome):
        click.echo(line)
    return report([outcome], seconds)


def with_progress(engine: str, seeds: range, plan: Plan | None, bounds: Bounds, jobs: int) -> Report:
    """Run many seeds, with a progress bar on a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen.console(), transient=True) as bar:
        task = bar.add_task("no violation", total=len(seeds))
        failed = list[int]()

        def count(outcome: Outcome) -> None:
            if outcome.violations:
                failed.append(outcome.seed)
                bar.update(task, description=f"[red]violations in {len(failed)} runs")
            bar.advance(task)

        return simulate_many(engine, seeds, plan=plan, bounds=bounds, cores=jobs, progress=count)
