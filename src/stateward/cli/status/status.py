"""`status`: the state of a cluster, once or continuously."""

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec
from rich.live import Live

from stateward.api.kinds.cluster import Cluster
from stateward.cli.shared import screen
from stateward.cli.shared.completion import cluster_names
from stateward.cli.shared.echo import echo, echo_json
from stateward.cli.shared.find import chosen, none_found
from stateward.cli.shared.options import operator_option, target_options
from stateward.cli.shared.output import NAME, TABLE, WIDE, name_of, output_option, print_output, selection_options
from stateward.cli.shared.picture import cluster_view
from stateward.cli.shared.session import Session, run
from stateward.cli.status.declared import Declared, declared_document, declared_of, declared_summary
from stateward.cli.status.news import lasting_activities, news
from stateward.cli.status.presence import warn_of_silence
from stateward.operator.objects.kinds import kind_of

if TYPE_CHECKING:
    from stateward.cli.status.follow import Following

REDRAWS_PER_SECOND = 1
"""Enough for ages in seconds; updates are drawn at once."""


@click.command()
@click.argument("name", required=False, shell_complete=cluster_names)
@click.option("-w", "--watch", is_flag=True, help="Follow it until it is deleted or you press Ctrl-C.")
@selection_options
@output_option
@operator_option
@target_options
def status(name: str | None, *, watch: bool, all_namespaces: bool, selector: str, output: str, **target: str) -> None:
    """Show the state of a cluster, once or continuously.

    The output has version, health, pools and members of cluster NAME, the current activity, and what waits and why.
    Without NAME: of each cluster of the namespace, or of those that -A and -l choose; -o json and yaml are then a list.
    """
    if watch and name is None:
        raise click.UsageError("--watch follows one cluster: add its NAME; `list --watch` follows all")
    following = follower() if watch else None

    async def work(session: Session) -> None:
        found = await chosen(session, name, selector, everywhere=all_namespaces)
        await warn_of_silence(session, found)
        if name is None:
            print_all(found, output, session.now())
            if not found:
                echo(none_found("" if all_namespaces else session.namespace, selector), err=True)
        elif following is not None:
            await follow(session, following(session, kind_of(found[0]), session.key(name)), output)
            echo(f"{name} is deleted", err=True)
        else:
            print_cluster(found[0], output, session.now(), await declared_of(session, found[0]))

    run(work, **target)


def follower() -> "type[Following]":
    """Return what follows a cluster: imported only for a watch, which is slow, and before `run`, because it logs."""
    from stateward.cli.status.follow import Following  # noqa: PLC0415

    return Following


def print_all(found: list[Cluster], output: str, now: float) -> None:
    """Print clusters in the form that was chosen."""

    def views() -> None:
        for number, cluster in enumerate(found):
            if number:
                echo()
            screen.show(cluster_view(cluster, now, wide=output == WIDE))

    print_output(output, [document(cluster) for cluster in found], map(name_of, found), views)


def print_cluster(cluster: Cluster, output: str, now: float, declared: Declared) -> None:
    """Print a cluster and what is declared for its database in the form that was chosen."""

    def table() -> None:
        screen.show(cluster_view(cluster, now, wide=output == WIDE))
        for line in declared_summary(declared, cluster.metadata.name):
            echo(line)

    print_output(output, document(cluster) | declared_document(declared), [name_of(cluster)], table)


def document(cluster: Cluster) -> dict[str, Any]:
    """Return the document for programs: the status as in the API, and the desired version."""
    return {
        "kind": cluster.kind,
        "name": cluster.metadata.name,
        "namespace": cluster.metadata.namespace,
        "generation": cluster.metadata.generation,
        "wantedVersion": cluster.spec.version,
        "status": msgspec.to_builtins(cluster.status),
    }


async def follow(session: Session, following: "Following", output: str) -> None:
    """Show a cluster at every change, in the form that fits the output."""
    if output not in (TABLE, WIDE):
        await following.run(lambda cluster: append_document(cluster, output))
    elif screen.console().is_terminal:
        await redraw(session, following)
    else:
        await following.run(Lines(session).show)


def append_document(cluster: Cluster, form: str) -> None:
    """Print one state: a line of JSON, a document of YAML, or the name."""
    if form == "json":
        echo_json(json.dumps(document(cluster)))
    elif form == NAME:
        echo(name_of(cluster))
    else:
        echo("---")
        screen.show_document(document(cluster), form)


async def redraw(session: Session, following: "Following") -> None:
    """Keep one view on the terminal up to date."""
    seen: list[Cluster] = []

    def current() -> Any:
        return cluster_view(seen[-1], session.now(), trouble=following.trouble) if seen else ""

    with Live(
        console=screen.console(),
        get_renderable=current,
        refresh_per_second=REDRAWS_PER_SECOND,
        vertical_overflow="crop",
    ) as live:

        def show(cluster: Cluster) -> None:
            seen[:] = [cluster]
            live.refresh()

        await following.run(show)


class Lines:
    """Appends changes, one line each with the time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._before: Cluster | None = None
        self._printed = frozenset[str]()

    def show(self, cluster: Cluster) -> None:
        """Print what has changed since the last call."""
        clock = datetime.fromtimestamp(self._session.now(), UTC).strftime("%H:%M:%SZ")
        for line in news(self._before, cluster, self._printed):
            echo(f"{clock}  {line}")
        self._before, self._printed = cluster, lasting_activities(self._printed, cluster)
