"""`events`: the Kubernetes events of a cluster and of everything that it owns, in the order of time."""

from collections.abc import Iterable
from typing import Any

import click
import msgspec
from rich.table import Table
from rich.text import Text

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.base import Json
from stateward.cli.diagnosis.owned_objects import identities, read_owned, read_raw
from stateward.cli.diagnosis.timeline import asked
from stateward.cli.shared import screen
from stateward.cli.shared.ages import age
from stateward.cli.shared.completion import cluster_names
from stateward.cli.shared.echo import echo
from stateward.cli.shared.find import chosen, none_found
from stateward.cli.shared.options import target_options
from stateward.cli.shared.output import WIDE, output_option, plural_of, print_output, selection_options
from stateward.cli.shared.picture import columns
from stateward.cli.shared.session import Session, run
from stateward.kube.objects.resource import Resource, Selection
from stateward.packages.format.trees import at, obj, text
from stateward.planning.model.times import parse_time

EVENTS: Resource[Json] = Resource("", "v1", "events", "Event", dict[str, Any])
"""The same events as those of events.k8s.io, by the API that Kubernetes' role `view` may read."""
KINDS = frozenset({"Pod", "StatefulSet", "PersistentVolumeClaim", "Secret"})
"""Kinds of objects of members: their events are told by name too, because the objects may be gone."""


class Occurred(msgspec.Struct, frozen=True, rename="camel", order=True):
    """An event: when it was last seen, how often, and what it says."""

    last_seen_time: str
    first_seen_time: str
    type: str
    reason: str
    kind: str
    object: str
    message: str
    count: int
    source: str
    name: str
    namespace: str
    cluster: str


@click.command()
@click.argument("name", required=False, shell_complete=cluster_names)
@click.option("--since", default="", metavar="DURATION", help="Only the last 90s, 30m, 12h.")
@click.option("--warnings", is_flag=True, help="Only warnings.")
@selection_options
@output_option
@target_options
def events(
    name: str | None,
    *,
    since: str,
    warnings: bool,
    all_namespaces: bool,
    selector: str,
    output: str,
    **target: str,
) -> None:
    """List the events of a cluster and of its objects, in order.

    These are the operator's own events about cluster NAME, and those of Kubernetes about its pods, volumes and other
    objects, the newest last. Without NAME: of each cluster of the namespace, or of those that -A and -l choose. The API
    server keeps events for an hour, mostly; `timeline` goes back further.
    """
    seconds = asked(since)

    async def work(session: Session) -> tuple[list[Occurred], float, list[str], str]:
        denied, bodies, found = list[str](), dict[str, list[Json]](), list[Occurred]()
        clusters = await chosen(session, name, selector, everywhere=all_namespaces)
        for cluster in clusters:
            place = cluster.metadata.namespace
            if place not in bodies:
                bodies[place] = await read_raw(session, EVENTS, Selection(place))
            found += await read_events(session, cluster, denied, bodies[place])
        nothing = f"there is no event about {name or 'these clusters'}: the API server keeps events for an hour, mostly"
        none = none_found("" if all_namespaces else session.namespace, selector)
        return sorted(found), session.now(), denied, nothing if clusters else none

    found, now, denied, nothing = run(work, **target)
    found = [e for e in found if not warnings or e.type == "Warning"]
    found = [e for e in found if not seconds or (parse_time(e.last_seen_time) or now) >= now - seconds]
    for kind in dict.fromkeys(denied):
        echo(f"you may not list {plural_of(kind)}: their events are found by the names of members only", err=True)
    names, several = [f"event/{each.name}" for each in found], name is None
    print_output(output, found, names, lambda: screen.show(table(found, now, wide=output == WIDE, several=several)))
    if not found:
        echo(nothing, err=True)


async def read_events(
    session: Session, cluster: Cluster, denied: list[str], bodies: list[Json] | None = None
) -> list[Occurred]:
    """Return the events of a cluster and its objects in order; raise ApiError.

    `bodies` are all events of its namespace if they were read already.
    """
    uids, members = identities(await read_owned(session, cluster, denied), cluster)
    if bodies is None:
        bodies = await read_raw(session, EVENTS, Selection(cluster.metadata.namespace))
    return concerning(bodies, uids, members, cluster)


def concerning(
    bodies: Iterable[Json], uids: frozenset[str], members: frozenset[str], cluster: Cluster
) -> list[Occurred]:
    """Return the events that are about one of these objects, in the order of time."""

    def ours(about: Json) -> bool:
        if about.get("uid") in uids:
            return True
        # An earlier cluster of this name had another UID, and is another story.
        return about.get("kind") in KINDS and about.get("name") in members and about.get("kind") != cluster.kind

    return sorted(occurred(body, cluster) for body in bodies if ours(obj(body.get("involvedObject"))))


def occurred(body: Json, cluster: Cluster) -> Occurred:
    """Return an event of a cluster; newer writers fill `eventTime` and `series`, older ones the timestamps."""
    about, series, meta = obj(body.get("involvedObject")), obj(body.get("series")), obj(body.get("metadata"))
    first = text(body.get("eventTime")) or text(body.get("firstTimestamp")) or text(meta.get("creationTimestamp"))
    last = text(series.get("lastObservedTime")) or text(body.get("lastTimestamp")) or first
    return Occurred(
        last_seen_time=_seconds(last),
        first_seen_time=_seconds(first),
        type=text(body.get("type")) or "Normal",
        reason=text(body.get("reason")),
        kind=text(about.get("kind")),
        object=text(about.get("name")),
        message=" ".join(text(body.get("message")).split()),
        count=int(series.get("count") or body.get("count") or 1),
        source=text(body.get("reportingComponent")) or text(at(body, "source", "component")),
        name=text(meta.get("name")),
        namespace=cluster.metadata.namespace,
        cluster=cluster.metadata.name,
    )


def _seconds(time: str) -> str:
    """Return a time with whole seconds, so that times compare as texts."""
    return f"{time[:19]}Z" if time else ""


def table(found: Iterable[Occurred], now: float, *, wide: bool = False, several: bool = False) -> Table:
    """Return one line per event; the wide table also has the first time and the source, one of several the cluster."""
    more = (*(("NAMESPACE", "CLUSTER") if several else ()), *(("FIRST SEEN", "SOURCE") if wide else ()))
    shown = columns("LAST SEEN", *more, "TYPE", "REASON", "OBJECT", "MESSAGE")
    for each in found:
        kind = Text(each.type, style="bold yellow" if each.type == "Warning" else "")
        extra = (each.namespace, each.cluster) if several else ()
        extra += (age(each.first_seen_time, now), each.source) if wide else ()
        times = f" (x{each.count})" if each.count > 1 else ""
        about = f"{each.kind.lower()}/{each.object}"
        shown.add_row(age(each.last_seen_time, now), *extra, kind, each.reason, about, each.message + times)
    return shown
