"""`simulate`: runs the operator in simulated worlds with faults, one per seed."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec
from msgspec import structs
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from stateward.cli.run import simulated
from stateward.cli.shared import screen
from stateward.cli.shared.echo import echo
from stateward.cli.shared.options import JOBS, SEED, Number
from stateward.cli.status.advice import ADVICE
from stateward.simulation.campaign.branches import not_covered
from stateward.simulation.campaign.campaign import Report, report, simulate_many, usual, workers
from stateward.simulation.campaign.engine_setups import ENGINES, FOUNDATIONDB
from stateward.simulation.campaign.record import STDOUT, Campaign, Record, RecordError, code_digest, read, write
from stateward.simulation.campaign.run import YEAR, Outcome, Plan, simulate_one
from stateward.simulation.campaign.shrinking import SmallRun, shrink
from stateward.simulation.timing.bounds import STEPS, WALL, WALL_PER_HOUR, Bounds


@click.command()
@click.option("--engine", type=click.Choice(ENGINES), default=ENGINES[0], show_default=True)
@click.option("--seeds", type=click.IntRange(1, 10_000_000), default=100, show_default=True, help="How many runs.")
@click.option("--first", type=SEED, default=0, show_default=True, help="The first seed.")
@click.option("--seed", type=SEED, help="Only the run of this seed.")
@click.option("--trace", is_flag=True, help="With --seed: print each step.")
@click.option("--hours", type=Number(0, 1000, above=True), help="Simulated hours with faults, in all runs.")
@click.option(
    "--days",
    type=Number(0, 366, above=True),
    help="Simulated days of ordinary operation, in all runs: about ten faults and edits a day.",
)
@click.option(
    "--step-limit",
    type=click.IntRange(1, 1_000_000_000),
    default=STEPS,
    show_default=True,
    help="Stop a run that takes more steps than this in one simulated hour; it counts as failed.",
)
@click.option(
    "--wall-limit",
    type=Number(0, 1_000_000, above=True),
    help="Stop a run that takes more real seconds than this; it counts as failed. Default: "
    f"{WALL:g}, and {WALL_PER_HOUR:g} for each simulated hour with faults.",
)
@click.option("-j", "--jobs", type=JOBS, help="Runs at once; default: one for each core.")
@click.option(
    "--shard",
    metavar="K/N",
    help="Only the K-th of N parts of the seeds; auto/N takes K from JOB_COMPLETION_INDEX, for an Indexed Job.",
)
@click.option(
    "--results",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Record each finished run in this file, and skip the runs recorded there; - for standard output.",
)
@click.option(
    "--merge",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="Run nothing: report the runs of this record. Repeat it for several; --results writes them as one.",
)
@click.option(
    "--shrink",
    type=click.Path(file_okay=False, path_type=Path),
    help="Make each failing run small, and write it to this folder, one file for each seed.",
)
@click.option(
    "--replay", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Repeat a run that --shrink wrote."
)
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

    With --results a campaign continues where it was interrupted, and its parts can be merged. With --results - the
    exit code is 0 when all runs have ended; --merge reports what they violated.

    Without --hours and --days nine runs of ten are an hour of dense faults, and the tenth is a month of ordinary days.
    """
    require_compatible(engine, seed, hours, days, {**campaign, "trace": trace})
    bounds = Bounds(campaign["step_limit"], campaign["wall_limit"])
    common = Campaign(engine, code_digest(), bounds.steps, hours, days, bounds.wall)
    if campaign["merge"]:
        common, found = merged(campaign["merge"], campaign["results"])
    elif campaign["replay"]:
        again = replayed(campaign["replay"])
        common, found = structs.replace(common, engine=again.plan.engine), alone(again.seed, again.plan, trace=trace)
    elif seed is not None:
        chosen = plan_of(common) or usual(engine, seed)
        found = alone(seed, structs.replace(chosen, bounds=bounds), trace=trace)
    else:
        seeds = range(campaign["first"], campaign["first"] + campaign["seeds"])
        found = recorded(campaign["results"], common, part_of(seeds, campaign["shard"]), jobs or os.cpu_count() or 1)
    never = not_covered(found.counts, ADVICE.keys(), common.engine)
    if campaign["results"] == STDOUT:
        return  # Violations are in the record; a failed pod would only be run again.
    show(found, common, never, table=not trace)
    if campaign["shrink"] and found.failed:
        make_small(found.failed, common, campaign["shrink"], jobs or os.cpu_count() or 1)
    if found.failed or (campaign["require_all"] and never):
        click.get_current_context().exit(1)


def require_compatible(
    engine: str, seed: int | None, hours: float | None, days: float | None, others: Mapping[str, Any]
) -> None:
    """Raise click.UsageError for options that exclude each other."""
    parts = [f"--{name}" for name in ("shard", "results", "merge") if others[name]]
    if others["replay"] and (seed is not None or parts or others["shrink"] or (hours, days) != (None, None)):
        raise click.UsageError("--replay repeats the run in the file: it goes with --trace alone")
    if hours is not None and days is not None:
        raise click.UsageError("a run is --hours of storm or --days of ordinary operation, not both")
    if engine == FOUNDATIONDB and days is not None:
        raise click.UsageError("--days needs a database with shards; use --hours")
    if others["trace"] and seed is None and not others["replay"]:
        raise click.UsageError("--trace prints one run: name it with --seed")
    if seed is not None and parts:
        raise click.UsageError(f"--seed is one run: it does not go with {', '.join(parts)}")
    if others["merge"] and (others["shard"] or others["results"] == STDOUT):
        raise click.UsageError("--merge runs nothing: it does not go with --shard, and --results must name a file")


def plan_of(common: Campaign) -> Plan | None:
    """Return what all runs of a campaign have in common; None if each is as usual for its seed."""
    if common.days is not None:
        return Plan(engine=common.engine, chaos=common.days * 86400, slower=YEAR)
    return None if common.hours is None else Plan(engine=common.engine, chaos=common.hours * 3600)


def show(found: Report, common: Campaign, never: Sequence[str], *, table: bool) -> None:
    """Print what was met, and the result."""
    storm = "" if common.hours is None else f"--hours {common.hours:g}"
    if table:
        screen.show(simulated.met(found, common.engine))
    extent = storm if common.days is None else f"--days {common.days:g}"
    echo(simulated.summary(found, common.engine, extent, never))


def make_small(failed: Sequence[Outcome], common: Campaign, folder: Path, jobs: int) -> None:
    """Write a small run for each failed one, and print what is left of it."""
    folder.mkdir(parents=True, exist_ok=True)
    bounds = Bounds(common.step_limit, common.wall_limit)
    with workers(jobs) as runs:
        for outcome in failed:
            plan = structs.replace(plan_of(common) or usual(common.engine, outcome.seed), bounds=bounds)
            small, file = shrink(outcome, plan, runs), folder / f"{common.engine}-{outcome.seed}.json"
            file.write_bytes(msgspec.json.format(msgspec.json.encode(small), indent=1))
            echo(simulated.small(outcome.seed, small, file))


def replayed(path: Path) -> SmallRun:
    """Return the run that a file describes. Raises click.ClickException if it is not one that `--shrink` wrote."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=SmallRun)
    except (OSError, msgspec.DecodeError) as error:
        raise click.ClickException(f"{path}: not a run that --shrink wrote: {error}") from None


def alone(seed: int, plan: Plan, *, trace: bool) -> Report:
    """Run one seed, and print its trace if requested."""
    outcome, seconds = simulate_one(seed, structs.replace(plan, trace=trace))
    for line in simulated.trace_lines(outcome):
        echo(line)
    return report([outcome], seconds)


def part_of(seeds: range, shard: str | None) -> range:
    """Return the seeds of a shard: parts follow each other and differ by one seed at most.

    Raises click.UsageError if the shard is not K/N with 1 <= K <= N <= number of seeds.
    """
    if shard is None:
        return seeds
    number, _, parts = shard.partition("/")
    if number == "auto":
        index = os.environ.get("JOB_COMPLETION_INDEX", "")
        if not index.isdecimal():
            raise click.UsageError(f"--shard {shard}: JOB_COMPLETION_INDEX is {index!r}, and not a number from 0")
        number = str(int(index) + 1)
    if not (number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts) <= len(seeds)):
        raise click.UsageError(
            f"--shard {shard}: K/N or auto/N is accepted, K from 1 to N, N at most {len(seeds)} seeds"
        )
    k, n = int(number), int(parts)
    return seeds[len(seeds) * (k - 1) // n : len(seeds) * k // n]


def recorded(path: Path | None, common: Campaign, seeds: range, jobs: int) -> Report:
    """Run the seeds that are not in the record, add each to it, and return the report of all."""
    if path is None:
        return with_progress(common, seeds, jobs)
    try:
        with Record(path, common) as record:
            outcomes = [record.outcomes[seed] for seed in seeds if seed in record.outcomes]
            left = [seed for seed in seeds if seed not in record.outcomes]

            def add(outcome: Outcome) -> None:
                record.add(outcome)
                outcomes.append(outcome)

            # The time of earlier sessions is not known, so a continued campaign has no speed.
            whole = len(left) == len(seeds)
            found = with_progress(common, left, jobs, add)
            return report(outcomes, found.seconds if whole else 0.0)
    except RecordError as error:
        raise click.ClickException(str(error)) from None


def merged(paths: tuple[Path, ...], results: Path | None) -> tuple[Campaign, Report]:
    """Return the campaign and the report of several records, and write them as one if requested."""
    try:
        common, outcomes = read(paths)
    except RecordError as error:
        raise click.ClickException(str(error)) from None
    if results is not None:
        write(results, common, outcomes.values())
    return common, report([*outcomes.values()], 0.0)


def with_progress(
    common: Campaign, seeds: Sequence[int], jobs: int, add: Callable[[Outcome], None] = lambda _: None
) -> Report:
    """Run many seeds, with a progress bar on a terminal; `add` gets each outcome as soon as it is known."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen.console(), transient=True) as bar:
        task = bar.add_task("no violation", total=len(seeds))
        failed = list[int]()

        def count(outcome: Outcome) -> None:
            add(outcome)
            if outcome.violations:
                failed.append(outcome.seed)
                bar.update(task, description=f"[red]violations in {len(failed)} runs")
            bar.advance(task)

        bounds = Bounds(common.step_limit, common.wall_limit)
        return simulate_many(common.engine, seeds, plan=plan_of(common), bounds=bounds, cores=jobs, progress=count)
