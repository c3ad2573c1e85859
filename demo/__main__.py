"""`python -m demo`: from nothing to an upgraded and shrunk cluster, with every document counted."""

import asyncio
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import click
from rich.console import Console

from demo import pictures
from demo.database import NotAcknowledgedError, ProxiedDatabase
from demo.install import NotInstalledError, fresh_namespace, install, until_known
from demo.place import NAMESPACE, VERSIONS, NoPlaceError, Place, place
from demo.story import NAME, Story, TooLateError, manifest
from demo.verdict import Verdict
from demo.view import View
from demo.writer import Bounds, Writer, missing
from stateward.api.parse import convert_cluster
from stateward.cli.shared import screen
from stateward.cli.shared.failures import failure_of, leaf
from stateward.cli.shared.session import Session, Target, open_session
from stateward.operator.objects.caches import CLUSTERS
from stateward.operator.runtime import logs

CALM = 10.0
"""Seconds of writing before and after the changes, for comparison."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--sandbox", default="stateward", show_default=True, help="Name of the sandbox to use or make.")
@click.option("--rate", default=20.0, show_default=True, type=click.FloatRange(0.1, 200), help="Writes per second.")
def main(sandbox: str, rate: float) -> None:
    """Create an OpenSearch cluster, upgrade and shrink it while it is written to, and count what was kept.

    With KUBECONFIG and STATEWARD_IMAGE set it happens in that cluster; else a sandbox is made on this machine.
    Exit code 1 when a document is missing or a step does not end.
    """
    begin = time.monotonic()
    logs.configure("error")
    try:
        chosen = place(sandbox, say=lambda text: click.echo(f"== {text}"))
        verdict = asyncio.run(tell(chosen, rate, begin))
    except KeyboardInterrupt:
        fail("interrupted; run it again to go on, or `make sandbox-down` to end it", code=130)
    except Exception as error:
        known = known_failure(error)
        if known is None:
            raise
        fail(known)
    else:
        say_how_to_go_on(chosen)
        click.echo(str(verdict))
        sys.exit(0 if verdict.kept else 1)


def known_failure(error: Exception) -> str | None:
    """Return a failure that has a name as its message; None for a bug, whose traceback is needed."""
    cause = leaf(error)
    if isinstance(cause, NoPlaceError | NotInstalledError | NotAcknowledgedError | TooLateError):
        return str(cause)
    # The sandbox is imported only where it is used.
    return failure_of(cause) or (str(cause) if type(cause).__module__.startswith("sandbox.") else None)


def fail(text: str, code: int = 1) -> None:
    """Say in a line or a few what did not work, and end."""
    click.echo(f"demo: {text}", err=True)
    sys.exit(code)


async def tell(chosen: Place, rate: float, begin: float) -> Verdict:
    """Do everything, showing it as it goes on."""
    target = Target(kubeconfig=chosen.kubeconfig, namespace=NAMESPACE)
    async with open_session(target) as session:
        with View(Console(), begin) as view:
            view.step(f"installing the operator ({chosen.image})")
            await install(session.api, chosen.image)
            await until_known(session.api, CLUSTERS, NAMESPACE)
            view.step(f"making the namespace {NAMESPACE}; what an earlier run left in it goes")
            await fresh_namespace(session.api, NAMESPACE)
            verdict = await live(session, view, rate, begin)
        screen.show(await pictures.or_why_not(pictures.timeline(session, NAME)))
        return verdict


async def live(session: Session, view: View, rate: float, begin: float) -> Verdict:
    """Create, write, upgrade, shrink, count."""
    story = Story(session, view.seen)
    view.step(f"creating {NAME}: 3 managers and 3 data members of OpenSearch {VERSIONS[0]}")
    await story.create()
    async with in_background(story, view):
        await story.created()
        database = ProxiedDatabase(session.api, session.namespace, NAME)
        await database.create_index(shards=3, replicas=1)
        # Another run's documents stay apart: ids begin with the time.
        writer = Writer(database, Bounds(per_second=rate), prefix=f"{int(session.now())}-")
        async with writer.writing() as ledger:
            view.watch(ledger)
            view.step("writing")
            await asyncio.sleep(CALM)
            view.step(f"planning the upgrade to {VERSIONS[1]}; nothing changes yet")
            changed = convert_cluster(manifest(session.namespace, VERSIONS[1], 3))
            view.show(await pictures.or_why_not(pictures.plan(session, changed)))
            view.step(f"upgrading to {VERSIONS[1]} while it is written to")
            await story.upgrade()
            view.step("taking one data member away while it is written to")
            await story.shrink()
            view.step("writing a little more")
            await asyncio.sleep(CALM)
        view.step(f"looking for each of {len(ledger.acknowledged)} acknowledged documents by its id")
        lost = await missing(database, ledger)
    return Verdict(len(ledger.acknowledged), len(lost), ledger.unread, ledger.longest_gap, time.monotonic() - begin)


@asynccontextmanager
async def in_background(story: Story, view: View) -> AsyncGenerator[None]:
    """Follow the cluster and report on the writer while the block runs."""

    async def tick() -> None:
        while True:
            await asyncio.sleep(1)
            view.tick()

    # A group, so that a watch that cannot go on ends the demo instead of letting it wait for news.
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(story.follow()), group.create_task(tick())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()


def say_how_to_go_on(chosen: Place) -> None:
    """Say how to look at what is there now, and how to end it."""
    option = f" --kubeconfig {chosen.kubeconfig}" if chosen.kubeconfig else ""
    click.echo(f"\nlook at it:  {chosen.kubectl}kubectl get osclusters,pods -n {NAMESPACE} -o wide")
    click.echo(f"             {Path(sys.executable).parent}/kubectl-stateward status {NAME} -n {NAMESPACE}{option}")
    click.echo(f"end it:      {chosen.ending}\n")


if __name__ == "__main__":
    main()
