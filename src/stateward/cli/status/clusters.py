"""`list`: all clusters, one line each."""

import click
from rich.table import Table
from rich.text import Text

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.conditions import stalled
from stateward.cli.shared import screen
from stateward.cli.shared.ages import age
from stateward.cli.shared.find import all_clusters
from stateward.cli.shared.options import operator_option, target_options
from stateward.cli.shared.output import WIDE, name_of, output_option, print_output, selection_options
from stateward.cli.shared.picture import HEALTH, columns, version
from stateward.cli.shared.session import Session, run
from stateward.cli.status.presence import warn_of_silence
from stateward.operator.objects.kinds import kind_of


@click.command("list")
@selection_options
@output_option
@operator_option
@target_options
def clusters(*, all_namespaces: bool, selector: str, output: str, **target: str) -> None:
    """List the clusters, one line each."""

    async def work(session: Session) -> tuple[str, list[Cluster]]:
        namespace = "" if all_namespaces else session.namespace
        found = await all_clusters(session, namespace, selector)
        await warn_of_silence(session, found)

        def shown() -> None:
            if found:
                screen.show(table(found, session.now(), wide=output == WIDE))

        print_output(output, found, map(name_of, found), shown)
        return namespace, found

    namespace, found = run(work, **target)
    if not found:
        where = f"namespace {namespace!r}; --all-namespaces searches all namespaces" if namespace else "any namespace"
        which = f" with the labels {selector}" if selector else ""
        click.echo(f"there is no cluster{which} in {where}", err=True)


def table(found: list[Cluster], now: float, *, wide: bool = False) -> Table:
    """Return the clusters as a table with one line each, cut at the end of a terminal.

    The wide one also has the time since the last progress, and the labels.
    """
    more = ("PROGRESS", "WAITS", "LABELS") if wide else ()
    shown = columns("NAMESPACE", "NAME", "ENGINE", "VERSION", "HEALTH", "READY", "AGE", *more, "DOING")
    for cluster in found:
        meta, status = cluster.metadata, cluster.status
        health = Text(status.health or "unknown", style=HEALTH.get(status.health, "magenta"))
        paused = cluster.spec.update is not None and cluster.spec.update.paused
        doing = f"paused; {status.activity}" if paused and "paused" not in status.activity else status.activity
        doing = f"stalled; {doing}" if stalled(status.conditions) is not None else doing
        place = (meta.namespace, meta.name, kind_of(cluster).engine, version(cluster))
        labels = ",".join(f"{name}={value}" for name, value in sorted(meta.labels.items()))
        extra = (age(status.last_progress_time, now), str(len(status.waiting)), labels) if wide else ()
        shown.add_row(
            *place,
            health,
            status.ready,
            age(meta.creation_timestamp, now),
            *extra,
            Text(doing, no_wrap=True, overflow="ellipsis"),
        )
    return shown
