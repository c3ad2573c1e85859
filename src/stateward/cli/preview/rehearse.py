"""`rehearse`: plays a change many times with other timings and faults. It only reads."""

import os
from collections.abc import Iterable
from typing import Any

import click
from msgspec.structs import replace
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.pod_policy import Level
from stateward.cli.packages.installation_plan import installations_in
from stateward.cli.preview.documents import parts
from stateward.cli.preview.forecast import blocked
from stateward.cli.preview.inputs import PlanInputs
from stateward.cli.preview.pacing import ASSUMED_GROW_SPREAD, ASSUMED_REOPEN_SPREAD, Pacing
from stateward.cli.preview.plan import previewed
from stateward.cli.preview.preview import Kind, Preview
from stateward.cli.preview.rehearsal_view import (
    Terms,
    document,
    one,
    rehearsed,
    run_document,
    unplayed,
    unplayed_run,
)
from stateward.cli.shared import screen
from stateward.cli.shared.completion import cluster_names
from stateward.cli.shared.echo import echo
from stateward.cli.shared.failures import ExitCode, Failure
from stateward.cli.shared.options import JOBS, SEED, policy_option, target_options, view_options
from stateward.cli.shared.output import output_option, print_output
from stateward.simulation.rehearsal.faults import kinds_of, names
from stateward.simulation.rehearsal.foundationdb.rules import FoundationRules
from stateward.simulation.rehearsal.many import play_many
from stateward.simulation.rehearsal.rehearsal import Rehearsal, Run, summary
from stateward.simulation.rehearsal.rules import Rules
from stateward.simulation.rehearsal.run import SEARCH, play
from stateward.simulation.rehearsal.story import story
from stateward.simulation.rehearsal.timings import Spread


@click.command()
@click.argument("name", required=False, shell_complete=cluster_names)
@click.option(
    "-f", "--filename", "path", type=click.Path(), help="The change as a YAML file, or - ; nothing of it is sent."
)
@click.option("--faults", type=click.Choice(list(names())), default="all", show_default=True, help="What fails.")
@click.option("--runs", type=click.IntRange(1, 100_000), default=300, show_default=True, help="How often to play it.")
@click.option("--seed", type=SEED, help="Show only the run with this seed.")
@click.option("-j", "--jobs", type=JOBS, help="Processes to use; by default one for each processor.")
@output_option
@policy_option
@view_options
@target_options
def rehearse(
    name: str | None,
    path: str | None,
    *,
    faults: str,
    output: str,
    pod_policy: str,
    **others: Any,
) -> None:
    """Play a change many times before you make it, with other timings and faults.

    It reads the same as `plan`, and plays the change in a small world on this machine: the shipped planner, with
    durations drawn around the measured ones, and in each run one fault at another moment. It changes nothing.

    The faults are `node` (a Kubernetes node or a zone loses power, and some do not return), `disk` (a member loses its
    volume), `network` (a node or a zone cannot be reached for a while), `all` of them, or `none`.

    The output has the duration (p10, p50, p95, worst), how often and how long data had no second copy, no copy, or the
    database refused writes, which fault at which moment hurts most, and the timeline of the worst run. With --seed it
    is one run, with the same fault as among all runs. With -o name it is the seeds of the worst runs.

    Exit code 0: every run completes; 1: some runs do not, or a part of the change would be refused or would wait.
    """
    runs, seed, jobs = (others.pop(each) for each in ("runs", "seed", "jobs"))
    found, planned, now = inputs(name, path, Level(pod_policy), **others)
    if (problem := unplayable(found, planned)) is not None:
        raise Failure(problem)
    if nothing_happens(found, planned):
        empty = unplayed(found, planned, faults) if seed is None else unplayed_run(seed)
        print_output(output, empty, (), lambda: echo("no member would change: there is nothing to rehearse"))
        return
    rehearsal = rehearsal_of(found, now, faults)
    if not rehearsal.rules.plays_forecast:
        planned = replace(planned, seconds=usual_seconds(rehearsal))
    if seed is not None:
        show_one(found, planned, rehearsal, seed, output)
        return
    terms = Terms(rehearsal.rules.words, rehearsal.known)
    said = summary(with_progress(rehearsal, runs, jobs or os.cpu_count() or 1), known=terms.known)
    _, drawn = story(rehearsal, found.cluster, said.worst.outcome.seed)
    seeds = [str(each.outcome.seed) for each in said.hurts]
    answer = document(found, planned, said, faults, terms=terms)
    print_output(
        output, answer, seeds, lambda: screen.show(rehearsed(found, planned, said, faults, drawn, terms=terms))
    )
    click.get_current_context().exit(ExitCode.SUCCESS if said.completed == said.runs else ExitCode.FAILURE)


def spread_of(pace: Pacing) -> Spread:
    """Return how much durations vary at this pace: what is only assumed may be quite different."""
    spread = Spread(usual=pace.usual_spread)
    if pace.start_spread is not None:
        spread = replace(spread, start=pace.start_spread)
    if not pace.reopen_known:
        spread = replace(spread, reopen=ASSUMED_REOPEN_SPREAD)
    return spread if pace.grow_known else replace(spread, grow=ASSUMED_GROW_SPREAD)


def inputs(name: str | None, path: str | None, level: Level, **target: Any) -> tuple[PlanInputs, Preview, float]:
    """Return what a plan reads, the plan, and its time."""
    given = list(parts(path)) if path is not None else []
    if installations_in(given, name):
        raise Failure("a rehearsal plays the change of a cluster; for an Installation, see `plan`")
    return previewed(given, name, path, level, **target)


def unplayable(found: PlanInputs, planned: Preview) -> str | None:
    """Return why a change cannot be rehearsed; None if it can."""
    if not found.exists:
        return "the cluster does not exist yet, and a rehearsal plays changes of a running one; see `plan`"
    reasons = [refusal.message for refusal in planned.refused] or [wait.message for wait in planned.waits]
    reasons += [str(obstacle) for obstacle in found.obstacles if blocked(found, planned)]
    if reasons:
        return f"the change does not complete even without a fault, see `plan`: {reasons[0]}"
    problem = rules_of(found.cluster).problem(found.observed)
    return f"the change cannot be played: {problem}" if problem else None


def nothing_happens(found: PlanInputs, planned: Preview) -> bool:
    """Return whether no member would change, nor the copies of a database that moves them by its own settings."""
    if planned.steps or any(change.effect is not Kind.NONE for change in planned.members):
        return False
    return rules_of(found.cluster).plays_forecast or not planned.seconds


def rules_of(cluster: Cluster) -> Rules:
    """Return the rules of a cluster's database."""
    return FoundationRules(cluster) if isinstance(cluster, FoundationDBCluster) else SEARCH


def rehearsal_of(found: PlanInputs, now: float, faults: str) -> Rehearsal:
    """Return the rehearsal of a change; a pause is ignored."""
    start = replace(found.observed, desired=replace(found.observed.desired, paused=False), live=True)
    rules = rules_of(found.cluster)
    durations, spread = rules.paced(found.pacing.durations, spread_of(found.pacing))
    return Rehearsal(start, now, durations, spread, kinds_of(faults), rules)


def usual_seconds(rehearsal: Rehearsal) -> float | None:
    """Return how long the change takes without a fault, with the usual timings; None if it does not complete."""
    run = play(rehearsal.start, rehearsal.now, rehearsal.durations, 0, rules=rehearsal.rules)
    return run.seconds if run.completed else None


def show_one(found: PlanInputs, planned: Preview, rehearsal: Rehearsal, seed: int, output: str) -> None:
    """Print the run of a seed; exit with 1 if it does not complete."""
    played, drawn = story(rehearsal, found.cluster, seed)
    terms = Terms(rehearsal.rules.words, rehearsal.known)
    answer = run_document(played, terms=terms)
    print_output(output, answer, [str(seed)], lambda: screen.show(one(found, planned, played, drawn, terms=terms)))
    click.get_current_context().exit(ExitCode.SUCCESS if played.outcome.completed else ExitCode.FAILURE)


def with_progress(rehearsal: Rehearsal, runs: int, jobs: int) -> Iterable[Run]:
    """Play the seeds from 1 on, with a progress bar on a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=screen.console(), transient=True) as bar:
        task = bar.add_task("rehearsing", total=runs)
        return play_many(rehearsal, range(1, runs + 1), jobs, lambda: bar.advance(task))
