"""`timeline`: the history of a cluster as a Gantt chart, in the terminal or as a picture."""

from pathlib import Path
from typing import Any

import click

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.duration import DurationError, parse_duration
from stateward.cli.shared import screen
from stateward.cli.shared.completion import cluster_names
from stateward.cli.shared.echo import echo
from stateward.cli.shared.find import read_cluster
from stateward.cli.shared.options import target_options
from stateward.cli.shared.output import name_of, output_option, print_output
from stateward.cli.shared.picture import version
from stateward.cli.shared.session import Session, run
from stateward.cli.shared.stored_history import Found, read_history
from stateward.cli.shared.timeline_view import view
from stateward.planning.model.times import rfc3339
from stateward.timeline.from_history import latest_work, timeline_of
from stateward.timeline.model import Timeline, cut
from stateward.timeline.times import clock


@click.command()
@click.argument("name", shell_complete=cluster_names)
@click.option("--since", default="", metavar="DURATION", help="Only the last 90s, 30m, 12h; default: the latest work.")
@click.option("--all", "everything", is_flag=True, help="The whole history, as far as it goes back.")
@click.option(
    "--html",
    "page_file",
    default="",
    metavar="FILE",
    type=click.Path(),
    help="Write a page with the picture and a table.",
)
@click.option("--svg", "svg_file", default="", metavar="FILE", type=click.Path(), help="Write the picture alone.")
@output_option
@target_options
def timeline(name: str, *, since: str, everything: bool, output: str, **target: str) -> None:
    """Draw the history of a cluster.

    The chart has a row for each member of cluster NAME that had something to do, with its phases as letters and colours
    (a legend explains them), the health of the database and whether it accepted writes, and edits of the spec. The
    operator keeps the history in the ConfigMap NAME-history, at most 1,000 entries.

    --html and --svg write self-contained files, for light and dark screens. Times are in UTC.
    """
    page_file, svg_file = target.pop("page_file"), target.pop("svg_file")
    seconds = asked(since)

    async def work(session: Session) -> tuple[Cluster, Found, float]:
        cluster = await read_cluster(session, name)
        return cluster, await read_history(session, cluster), session.now()

    cluster, found, now = run(work, **target)
    whole = timeline_of(found.history, name, now, subtitle=subtitle(cluster))
    begin = whole.begin if everything else now - seconds if seconds else latest_work(whole)
    shown = cut(whole, max(begin, whole.begin), whole.end) if begin < whole.end else whole
    if found.note:
        echo(found.note, err=True)
    if page_file or svg_file:
        written(shown, page_file, svg_file)
        return
    print_output(output, document(shown, cluster), [name_of(cluster)], lambda: screen.show(view(shown)))


def asked(since: str) -> float:
    """Return the seconds of the option --since, 0 without it; raise UsageError."""
    try:
        return parse_duration(since) if since else 0.0
    except DurationError as error:
        raise click.UsageError(f"--since: {error}") from error


def subtitle(cluster: Cluster) -> str:
    """Return the kind, the place and the version of a cluster."""
    return f"{cluster.kind} in namespace {cluster.metadata.namespace}, {version(cluster)}"


def written(shown: Timeline, page_file: str, svg_file: str) -> None:
    """Write the picture to the files that were asked for; raise OSError."""
    from stateward.timeline.page import page  # noqa: PLC0415 - only what is drawn is imported
    from stateward.timeline.svg import svg  # noqa: PLC0415

    for name, draw in ((page_file, page), (svg_file, svg)):
        if name:
            Path(name).write_text(draw(shown), encoding="utf-8")
            echo(f"{name}: {clock(shown.begin, date=True)} to {clock(shown.end, date=True)} UTC")


def document(shown: Timeline, cluster: Cluster) -> dict[str, Any]:
    """Return the timeline for programs; `endTime` is null while something lasts."""

    def period(begin: float, end: float | None) -> dict[str, str | None]:
        return {"startTime": rfc3339(begin), "endTime": None if end is None else rfc3339(end)}

    return {
        "kind": cluster.kind,
        "name": cluster.metadata.name,
        "namespace": cluster.metadata.namespace,
        "startTime": rfc3339(shown.begin),
        "endTime": rfc3339(shown.end),
        "members": [{"name": row.name, "pool": row.group} for row in shown.rows if row.group],
        "spans": [
            {"subject": s.row, "phase": s.phase.value, **period(s.begin, s.end), "reason": s.text} for s in shown.spans
        ],
        "bands": [
            {"name": b.name, "values": [{"value": s.value, **period(s.begin, s.end)} for s in b.stretches]}
            for b in shown.bands
        ],
        "events": [{"time": rfc3339(m.at), "subject": m.row or shown.title, "message": m.text} for m in shown.marks],
    }
