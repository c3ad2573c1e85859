"""A rehearsal as readable text, and as a document for programs."""

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct
from rich.console import Group, RenderableType
from rich.text import Text

from stateward.cli.preview.forecast import clock, headline
from stateward.cli.preview.inputs import PlanInputs
from stateward.cli.preview.preview import Preview
from stateward.cli.shared.ages import about
from stateward.cli.shared.picture import columns
from stateward.cli.shared.timeline_view import view
from stateward.simulation.rehearsal.measures import Total
from stateward.simulation.rehearsal.rehearsal import Frequency, Run, Summary
from stateward.simulation.rehearsal.rules import Words
from stateward.simulation.rehearsal.story import described
from stateward.timeline.model import Timeline

LOST = "their data is lost unless what failed comes back"
WHAT_FAILS = {"node": "a node", "disk": "a disk", "network": "the network", "all": "a node, a disk or the network"}
NO_POLICY = "members that stay away wait for a user: spec.replacement is not enabled"
LIMITS = "it shows what a fault would cost, not how likely it is; assumed"


class Terms(Struct, frozen=True):
    """The words for what was measured, and whether the database reports enough to have measured it."""

    words: Words
    known: bool


def rehearsed(
    found: PlanInputs, planned: Preview, said: Summary, faults: str, drawn: Timeline, *, terms: Terms
) -> RenderableType:
    """Return the whole result: durations, what is exposed, what hurts most, and the worst run."""
    parts: list[RenderableType] = [headline(found, planned), Text(f"{runs(said.runs)}, {faulty(faults)}", style="dim")]
    parts += [Text(), Text("DURATION", style="bold"), *durations(planned, said)]
    exposed = exposure(said, terms.words) if terms.known else Text(terms.words.unknown, style="yellow")
    parts += [Text(), exposed]
    parts += [Text(line) for line in totals(said, terms=terms)]
    for title, lines in (("DOES NOT COMPLETE", incomplete(found, said)), ("HURTS MOST", hurts(said, terms=terms))):
        found_lines = list(lines)
        parts += [Text(), Text(title, style="bold"), *found_lines] if found_lines else []
    parts += [Text(), Text(f"WORST RUN: seed {said.worst.outcome.seed}", style="bold")]
    parts += [*outcome_lines(said.worst, terms=terms), Text(), view(drawn), Text()]
    parts += [Text(f"{line}", style="dim") for line in (f"{LIMITS}: {terms.words.assumed}", *found.notes)]
    parts.append(Text("nothing was changed", style="green"))
    return Group(*parts)


def one(found: PlanInputs, planned: Preview, run: Run, drawn: Timeline, *, terms: Terms) -> RenderableType:
    """Return one run."""
    head = Text(f"run with seed {run.outcome.seed}", style="bold")
    return Group(headline(found, planned), Text(), head, *outcome_lines(run, terms=terms), Text(), view(drawn))


def faulty(faults: str) -> str:
    """Return what the runs have, as a clause."""
    if faults == "none":
        return "each with other timings, without faults"
    return f"each with other timings and one fault of {WHAT_FAILS[faults]} at another moment"


def durations(planned: Preview, said: Summary) -> Iterator[Text]:
    """Yield how long the change takes."""
    yield Text(f"  completes in {said.completed} of {said.runs} runs")
    if said.seconds is not None:
        each = ((name, getattr(said.seconds, name)) for name in ("p10", "p50", "p95", "worst"))
        yield Text(f"  then in {', '.join(f'{name} {about(seconds)}' for name, seconds in each)}")
    if planned.seconds is not None:
        yield Text(f"  without any fault, with the usual timings: {about(planned.seconds)}", style="dim")


def exposure(said: Summary, words: Words) -> RenderableType:
    """Return how often and how long data was exposed."""
    table = columns(words.units.upper(), "RUNS", "P50", "P95", "WORST", "AT ONCE")
    refused = words.refuses or "refusing writes"
    rows = (("without a second copy", said.single), ("without any copy", said.red), (refused, said.refused))
    for name, each in rows:
        style = "green" if not each.runs else "yellow" if each is said.single else "red"
        counted = each is not said.refused or not words.refuses
        table.add_row(Text(name, style=style), f"{each.runs} of {said.runs}", *spent(each, counted=counted))
    return table


def spent(each: Frequency, *, counted: bool) -> tuple[str, ...]:
    """Return the cells of a frequency: times, and how many at once if they are `counted`."""
    if not each.runs:
        return ("", "", "", "")
    return (about(each.p50), about(each.p95), about(each.worst), str(each.most) if counted else "")


def totals(said: Summary, *, terms: Terms) -> Iterator[str]:
    """Yield what concerns all runs."""
    yield f"at most {said.most_down} members are down at once"
    if terms.known and said.lost:
        yield f"in {runs(said.lost)} {terms.words.units} have no complete copy at the end: {LOST}"


def incomplete(found: PlanInputs, said: Summary) -> Iterator[Text]:
    """Yield what runs wait for that do not complete."""
    yield from (Text(f"  {runs(count)}: {text}", style="yellow") for count, text in said.waits)
    if said.waits and not found.observed.desired.replacement.enabled:
        yield Text(f"  {NO_POLICY}", style="dim")


def runs(count: int) -> str:
    """Return a number of runs in words."""
    return f"{count} run{'s' if count != 1 else ''}"


def hurts(said: Summary, *, terms: Terms) -> Iterator[Text]:
    """Yield the faults that hurt most."""
    for run in said.hurts:
        fault = run.outcome.fault
        if fault is not None:
            seed = Text(f"  seed {run.outcome.seed}: {described(fault)}, {moment(run)}", style="red")
            yield seed
            yield Text(f"    {'; '.join(costs(run, terms=terms))}")


def moment(run: Run) -> str:
    """Return when the fault occurs, as a clause."""
    fault = run.outcome.fault
    at = clock(fault.at) if fault is not None else ""
    during = f" during {run.outcome.during}" if run.outcome.during else ""
    return f"at {run.fraction:.0%} of the change ({at}){during}"


def outcome_lines(run: Run, *, terms: Terms) -> Iterator[Text]:
    """Yield what happened in a run."""
    fault = run.outcome.fault
    yield Text(f"  {described(fault)}, {moment(run)}" if fault is not None else "  no fault")
    yield from (Text(f"  {line}") for line in costs(run, terms=terms))
    if not run.outcome.completed:
        yield Text(f"  it waits in the end: {run.outcome.waits_for[1]}", style="yellow")


def costs(run: Run, *, terms: Terms) -> Iterator[str]:
    """Yield what a run costs, and in parentheses the same run without its fault."""
    outcome, quiet, words = run.outcome, run.undisturbed, terms.words
    if terms.known and outcome.lost:
        lost = f"{words.units} have" if outcome.lost != 1 else f"{words.unit} has"
        yield f"{outcome.lost} {lost} no complete copy at the end"
    if terms.known:
        pairs = (("refused writes", outcome.refused), (f"no copy of a {words.unit}", outcome.red))
        yield from (f"{name} {for_how_long(each)}" for name, each in pairs if each.times)
        before = about(quiet.single.seconds) if quiet.single.times else "never"
        without = f" ({before} without the fault)" if outcome.fault is not None else ""
        yield f"no second copy {for_how_long(outcome.single)}{without}" if outcome.single.times else "all copies stay"
    elif words.away and outcome.refused.times:
        yield f"{words.away} {for_how_long(outcome.refused)}"
    without = f" ({about(quiet.seconds)} without the fault)" if outcome.fault is not None else ""
    yield f"complete after {about(outcome.seconds)}{without}" if outcome.completed else "it does not complete"


def for_how_long(each: Total) -> str:
    """Return how long something was so, as a clause; a run that does not complete ends while it still is."""
    return f"for {about(each.seconds)}{', and longer' if each.lasting else ''}"


def run_document(run: Run, *, terms: Terms) -> dict[str, Any]:
    """Return a run for programs; what is not known is null."""
    outcome, fault = run.outcome, run.outcome.fault
    known: dict[str, Any] = {
        "withoutSecondCopySeconds": outcome.single.seconds,
        "withoutCopySeconds": outcome.red.seconds,
        "refusedWritesSeconds": outcome.refused.seconds,
        "lostShards": outcome.lost,
    }
    return {
        "seed": outcome.seed,
        "completed": outcome.completed,
        "seconds": outcome.seconds,
        "secondsWithoutFault": run.undisturbed.seconds,
        **(known if terms.known else dict.fromkeys(known)),
        "mostDown": outcome.most_down,
        "fault": None if fault is None else fault_document(run),
        "waitsFor": outcome.waits_for[1],
    }


def fault_document(run: Run) -> dict[str, Any]:
    """Return the fault of a run for programs."""
    fault = run.outcome.fault
    assert fault is not None  # noqa: S101 - the caller has checked it
    return {
        "kind": fault.kind.value,
        "place": fault.place,
        "members": list(fault.members),
        "at": fault.at,
        "fraction": run.fraction,
        "during": run.outcome.during,
        "seconds": None if fault.lasting else fault.seconds,
    }


def subject(planned: Preview, faults: str) -> dict[str, Any]:
    """Return what was rehearsed, for programs."""
    return {
        "cluster": planned.cluster,
        "namespace": planned.namespace,
        "deployed": planned.deployed,
        "wanted": planned.wanted,
        "faults": faults,
    }


def document(found: PlanInputs, planned: Preview, said: Summary, faults: str, *, terms: Terms) -> dict[str, Any]:
    """Return the result for programs; what is not known is null."""
    exposed = {"withoutSecondCopy": said.single, "withoutCopy": said.red, "refusedWrites": said.refused}
    return {
        **subject(planned, faults),
        "runs": said.runs,
        "completed": said.completed,
        "plannedSeconds": planned.seconds,
        "seconds": None if said.seconds is None else msgspec.to_builtins(said.seconds),
        **{name: msgspec.to_builtins(each) if terms.known else None for name, each in exposed.items()},
        "mostDown": said.most_down,
        "runsWithLostShards": said.lost if terms.known else None,
        "waits": [{"runs": count, "message": text} for count, text in said.waits],
        "hurtsMost": [run_document(run, terms=terms) for run in said.hurts],
        "worst": run_document(said.worst, terms=terms),
        "notes": list(found.notes),
        "restsOn": [*found.pacing.rests_on, *terms.words.sources],
    }


def unplayed(found: PlanInputs, planned: Preview, faults: str) -> dict[str, Any]:
    """Return the result for programs where no member would change: no run, so nothing is measured."""
    return {
        **subject(planned, faults),
        "runs": 0,
        "completed": 0,
        "plannedSeconds": planned.seconds,
        **dict.fromkeys(("seconds", "withoutSecondCopy", "withoutCopy", "refusedWrites")),
        "mostDown": 0,
        "runsWithLostShards": None,
        "waits": [],
        "hurtsMost": [],
        "worst": None,
        "notes": list(found.notes),
        "restsOn": [],
    }


def unplayed_run(seed: int) -> dict[str, Any]:
    """Return one run for programs where no member would change."""
    known = ("withoutSecondCopySeconds", "withoutCopySeconds", "refusedWritesSeconds", "lostShards")
    return {
        "seed": seed,
        "completed": True,
        "seconds": 0.0,
        "secondsWithoutFault": 0.0,
        **dict.fromkeys(known),
        "mostDown": 0,
        "fault": None,
        "waitsFor": "",
    }
