"""`list`: all clusters, one line each."""

import click
import msgspec
from rich.table import Table
from rich.text import Text

from stateward.api.kinds.cluster import Cluster
from stateward.cli.shared import screen
from stateward.cli.shared.ages import age
from stateward.cli.shared.find import all_clusters
from stateward.cli.shared.picture import HEALTH, columns, version
from stateward.cli.shared.session import Session, run, target_options
from stateward.operator.objects.kinds import kind_of


@click.command("list")
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces.")
@click.option("-o", "--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
@target_options
def clusters(*, all_namespaces: bool, output: str, **target: str) -> None:
    """List the clusters, one line each."""

    async def work(session: Session) -> tuple[str, list[Cluster]]:
        namespace = "" if all_namespaces else session.namespace
        found = await all_clusters(session, namespace)
        if output != "table":
            screen.show_document(msgspec.to_builtins(found), output)
        elif found:
            screen.show(table(found, session.now()))
        return namespace, found

    namespace, found = run(work, **target)
    if not found:
        where = f"namespace {namespace!r}; --all-namespaces searches all namespaces" if namespace else "any namespace"
        click.echo(f"there is no cluster in {where}", err=True)


def table(found: list[Cluster], now: float) -> Table:
    """Return the clusters as a table."""
    shown = columns("NAMESPACE", "NAME", "ENGINE", "VERSION", "HEALTH", "READY", "AGE", "DOING")
    for cluster in found:
        meta, status = cluster.metadata, cluster.status
        health = Text(status.health or "unknown", style=HEALTH.get(status.health, "magenta"))
        paused = cluster.spec.update is not None and cluster.spec.update.paused
        doing = f"paused; {status.activity}" if paused and "paused" not in status.activity else status.activity
        place = (meta.namespace, meta.name, kind_of(cluster).engine, version(cluster))
        shown.add_row(*place, health, status.ready, age(meta.creation_timestamp, now), doing)
    return shown
