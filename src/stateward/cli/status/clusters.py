"""`list`: all clusters, one line each."""

from typing import TYPE_CHECKING, NoReturn

import click
import msgspec
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.conditions import stalled
from stateward.cli.shared import screen
from stateward.cli.shared.ages import age
from stateward.cli.shared.echo import echo, echo_json
from stateward.cli.shared.find import all_clusters, none_found, served
from stateward.cli.shared.options import operator_option, target_options
from stateward.cli.shared.output import JSON, NAME, TABLE, WIDE, name_of, output_option, print_output, selection_options
from stateward.cli.shared.picture import HEALTH, columns, version
from stateward.cli.shared.session import Session, run
from stateward.cli.status.presence import warn_of_silence
from stateward.kube.objects.resource import Selection
from stateward.operator.objects.kinds import kind_of

if TYPE_CHECKING:
    from stateward.cli.status.follow import FollowingAll


@click.command("list")
@click.option("-w", "--watch", is_flag=True, help="Follow them until you press Ctrl-C.")
@selection_options
@output_option
@operator_option
@target_options
def clusters(*, watch: bool, all_namespaces: bool, selector: str, output: str, **target: str) -> None:
    """List the clusters, one line each.

    --watch redraws the list on a terminal. Elsewhere it appends the line of each cluster that is new or has changed;
    with -o json or yaml the cluster itself, a document each.
    """
    following = follower() if watch else None

    async def work(session: Session) -> None:
        namespace = "" if all_namespaces else session.namespace
        found = await all_clusters(session, namespace, selector)
        await warn_of_silence(session, found)

        def shown() -> None:
            if found:
                screen.show(table(found, session.now(), wide=output == WIDE))

        if not found:
            echo(none_found(namespace, selector), err=True)
        if following is not None:
            chosen = Selection(namespace, labels=selector)
            await follow(session, following(session, await served(session, chosen), chosen), output)
        print_output(output, found, map(name_of, found), shown)

    run(work, **target)


def follower() -> "type[FollowingAll]":
    """Return what follows clusters: imported only for a watch, which is slow, and before `run`, because it logs."""
    from stateward.cli.status.follow import FollowingAll  # noqa: PLC0415

    return FollowingAll


async def follow(session: Session, following: "FollowingAll", output: str) -> NoReturn:
    """Show clusters at every change, in the form that fits the output; raise ApiError."""
    if output in (TABLE, WIDE) and screen.console().is_terminal:
        await redraw(session, following, wide=output == WIDE)
    await following.run(Changes(session, output).show)


async def redraw(session: Session, following: "FollowingAll", *, wide: bool) -> NoReturn:
    """Keep one list on the terminal up to date."""
    seen: list[Cluster] = []

    def current() -> RenderableType:
        parts = [Text(following.trouble, style="red")] if following.trouble else []
        return Group(*parts, table(seen, session.now(), wide=wide))

    with Live(console=screen.console(), get_renderable=current, refresh_per_second=1, vertical_overflow="crop") as live:

        def show(found: list[Cluster]) -> None:
            seen[:] = found
            live.refresh()

        await following.run(show)


class Changes:
    """Appends each cluster that is new, changed or deleted."""

    def __init__(self, session: Session, output: str) -> None:
        self._session, self._output = session, output
        self._before: dict[str, Cluster] = {}

    def show(self, found: list[Cluster]) -> None:
        """Print what has changed since the last call; the first time, all."""
        present, lines = {cluster.metadata.uid: cluster for cluster in found}, self._output in (TABLE, WIDE)
        known = {uid: shown_of(cluster, whole=not lines) for uid, cluster in self._before.items()}
        new = [c for uid, c in present.items() if shown_of(c, whole=not lines) != known.get(uid)]
        if lines:
            if new:
                shown = table(new, self._session.now(), wide=self._output == WIDE)
                shown.show_header = not self._before
                screen.show(shown)
        else:
            for cluster in new:
                self._print(cluster)
        for uid in self._before.keys() - present.keys():
            meta = self._before[uid].metadata
            echo(f"{meta.name} in namespace {meta.namespace} is deleted", err=True)
        self._before = present

    def _print(self, cluster: Cluster) -> None:
        if self._output == JSON:
            echo_json(msgspec.json.encode(cluster))
        elif self._output == NAME:
            echo(name_of(cluster))
        else:
            echo("---")
            screen.show_document(msgspec.to_builtins(cluster), self._output)


def shown_of(cluster: Cluster, *, whole: bool) -> object:
    """Return what a change of is printed: of the `whole` resource, or of its line in the table without ages."""
    status = cluster.status
    if whole:
        return cluster.metadata.resource_version
    stuck, paused = (
        stalled(status.conditions) is not None,
        cluster.spec.update is not None and cluster.spec.update.paused,
    )
    return version(cluster), status.health, status.ready, status.activity, stuck, paused, cluster.metadata.labels


def table(found: list[Cluster], now: float, *, wide: bool = False) -> Table:
    """Return the clusters as a table with one line each, cut at the end of a terminal.

    The wide one also has the time since the last progress, and the labels.
    """
    more = ("PROGRESS", "WAITS", "LABELS") if wide else ()
    shown = columns("NAMESPACE", "NAME", "ENGINE", "VERSION", "HEALTH", "READY", "AGE", *more, "DOING", key="NAME")
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
