"""`logs`: the operator's decisions about a cluster, or the log of a member's database process."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence

import click

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.api.values.base import Json
from stateward.cli.diagnosis.operator_pods import decisions, operator_pods, parsed, read_log, readable
from stateward.cli.diagnosis.timeline import asked
from stateward.cli.shared import screen
from stateward.cli.shared.completion import cluster_names, member_names
from stateward.cli.shared.echo import echo, echo_json
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.find import find_member, read_cluster
from stateward.cli.shared.options import operator_option, target_options
from stateward.cli.shared.output import FORMS, JSON, NAME, YAML
from stateward.cli.shared.session import Session, run
from stateward.kube.client.client import RawRequest
from stateward.kube.objects.errors import ApiError, Forbidden, NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import PODS
from stateward.kube.timing.background import in_background
from stateward.operator.objects.kinds import kind_of

NO_RIGHT = "you may not read the operator's pods: ask for the right to get pods/log there, or name a MEMBER"


@click.command()
@click.argument("name", shell_complete=cluster_names)
@click.argument("member", required=False, shell_complete=member_names)
@click.option("-f", "--follow", is_flag=True, help="Follow the log until you press Ctrl-C.")
@click.option("--tail", type=click.IntRange(1, 10_000_000), metavar="LINES", help="Only the last lines.")
@click.option("--since", default="", metavar="DURATION", help="Only the last 90s, 30m, 12h.")
@click.option("-p", "--previous", is_flag=True, help="With a MEMBER: the log of its previous container.")
@click.option("-c", "--container", default="", help="With a MEMBER: another container of its pod than the database's.")
@operator_option
@click.option("-o", "--output", type=click.Choice(FORMS), default="table", show_default=True, help="json: one a line.")
@target_options
def logs(name: str, member: str | None, *, follow: bool, tail: int | None, previous: bool, **rest: str) -> None:
    """Print the operator's decisions about a cluster, or a member's log.

    Without a MEMBER: what the operator has logged about cluster NAME, from all its pods in the order of time. With a
    MEMBER: the log of its database process, as `kubectl logs` prints it.
    """
    since, container, output = rest.pop("since"), rest.pop("container"), rest.pop("output")
    query = {"sinceSeconds": str(int(asked(since)))} if since else {}
    if member is None and (previous or container):
        raise click.UsageError("--previous and --container need a MEMBER")

    async def work(session: Session) -> None:
        cluster = await read_cluster(session, name)
        if member is None:
            await operator_log(session, cluster, query, Printer(output, tail, follow=follow))
            return
        wanted = query | {"container": container or kind_of(cluster).engine}
        wanted |= {"previous": "true"} if previous else {}
        wanted |= {"tailLines": str(tail)} if tail else {}
        await member_log(session, cluster, member, wanted, follow=follow)

    run(work, **rest)


class Printer:
    """Prints entries of the operator's log in the form that was chosen."""

    def __init__(self, output: str, tail: int | None, *, follow: bool) -> None:
        self._output = output
        self.tail = tail
        self.follow = follow

    def __call__(self, entry: Json) -> None:
        """Print one entry."""
        if self._output == JSON:
            echo_json(json.dumps(entry))
        elif self._output == YAML:
            echo("---")
            screen.show_document(entry, YAML)
        else:
            echo(str(entry.get("event", "")) if self._output == NAME else readable(entry))


async def operator_log(session: Session, cluster: Cluster, query: dict[str, str], show: Printer) -> None:
    """Print what the operator says about a cluster; raise Failure without the right to read it."""
    key, namespace = Key(cluster.metadata.namespace, cluster.metadata.name), session.operator_namespace
    unread = list[str]()
    try:
        found = await decisions(session, namespace, key, query, unread)
        for entry in found[-show.tail :] if show.tail else found:
            show(entry)
        pods = await operator_pods(session, namespace)
    except Forbidden as error:
        raise Failure(f"{error.message}; {NO_RIGHT}") from error
    if not pods:
        raise Failure(f"there is no operator in namespace {namespace!r}; name its place with --operator-namespace")
    for each in unread:
        echo(f"not included: {each}", err=True)
    if not found:
        echo(f"the logs of {len(pods)} operator pods have nothing about {key}", err=True)
    if show.follow:
        # Only one of them works, and which one may change: the others log nothing about a cluster.
        chosen = [pod for pod in pods if _running(pod)] or pods[:1]
        following = [Key(namespace, pod["metadata"]["name"]) for pod in chosen]
        async for line in followed_together(session, following, {"container": "operator"}):
            _if_about(line, key, show)


def _running(pod: Json) -> bool:
    return pod.get("status", {}).get("phase") == "Running"


def _if_about(line: str, key: Key, show: Printer) -> None:
    entry = parsed(line)
    if entry is not None and entry.get("cluster") == str(key):
        show(entry)


async def member_log(session: Session, cluster: Cluster, member: str, query: dict[str, str], *, follow: bool) -> None:
    """Print the log of a member's pod; raise Failure if it has none."""
    found = find_member(cluster, member)
    pod = Key(cluster.metadata.namespace, names.pod(found.name))
    try:
        if follow:
            await followed(session, pod, query, echo, from_now=False)
            return
        for line in await read_log(session, pod, query):
            echo(line)
    except NotFound as error:
        raise Failure(
            f"{found.name} has no pod now; `explain {cluster.metadata.name} {found.name}` says why"
        ) from error


async def followed_together(session: Session, pods: Sequence[Key], query: dict[str, str]) -> AsyncGenerator[str]:
    """Yield the lines of several logs as they come, until all have ended; raise ApiError if none could be followed."""
    lines = asyncio.Queue[str | ApiError | None]()

    async def read(pod: Key) -> None:
        try:
            await followed(session, pod, query, lines.put_nowait)
        except ApiError as error:
            lines.put_nowait(error)
        else:
            lines.put_nowait(None)

    async with in_background(*(read(pod) for pod in pods)):
        left, errors = len(pods), list[ApiError]()
        while left:
            found = await lines.get()
            if isinstance(found, str):
                yield found
                continue
            left -= 1
            if found is not None:
                errors.append(found)
        if errors and len(errors) == len(pods):
            raise errors[0]


async def followed(
    session: Session, pod: Key, query: dict[str, str], show: Callable[[str], None], *, from_now: bool = True
) -> None:
    """Print the lines of a log until it ends; raise ApiError."""
    more = {"follow": "true", **({"sinceSeconds": "1"} if from_now else {})}
    async for line in session.lines(RawRequest(PODS.path_of(pod, "log"), query=query | more)):
        show(line.decode(errors="replace"))
