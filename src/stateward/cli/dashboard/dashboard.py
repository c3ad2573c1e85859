"""`dashboard`: clusters in a browser, with the rights of the viewer's kubeconfig."""

import asyncio
import webbrowser
from dataclasses import replace
from typing import Any

import click

from stateward.cli.dashboard.host import opened
from stateward.cli.page.server import open_page
from stateward.cli.shared.echo import echo
from stateward.cli.shared.options import PORT, target_options, view_options
from stateward.cli.shared.session import Session, run
from stateward.kube.client.client import ListOptions
from stateward.kube.objects.errors import ApiError, Forbidden
from stateward.kube.objects.resource import Selection


@click.command()
@click.option("-A", "--all-namespaces", is_flag=True, help="All namespaces; the default, if you may list them.")
@click.option("--read-only", is_flag=True, help="Show everything, and change nothing.")
@click.option("--port", type=PORT, default=0, help="Port of the page; default: a free one.")
@click.option("--open", "browser", is_flag=True, help="Open the page in the browser.")
@view_options
@target_options
def dashboard(*, all_namespaces: bool, read_only: bool, port: int, browser: bool, **target: Any) -> None:
    """Show clusters in a browser, and change them there.

    The page has all clusters, and for each one its members by zone and pool, what waits and why, the plan and the
    timeline. Buttons pause, restart, replace, stop and start, after they have shown the plan. The page is reachable
    only from this machine, at an address with a random token, and has the rights of your kubeconfig.
    """
    chosen = target["namespace"]

    async def work(session: Session) -> None:
        everywhere = all_namespaces or (not chosen and await may_list_all(session))
        await show(replace(session, namespace="" if everywhere else session.namespace), port, browser, read_only)

    run(work, **target)


async def may_list_all(session: Session) -> bool:
    """Return whether the viewer may list the clusters of all namespaces."""
    try:
        await session.api.list(session.kinds[0].resource, Selection(), ListOptions(limit=1))
    except Forbidden:
        return False
    except ApiError:
        return True  # The page shows the trouble.
    return True


async def show(session: Session, port: int, browser: bool, read_only: bool) -> None:
    """Serve the page until interrupted."""
    async with opened(session, "dashboard", read_only=read_only) as host, open_page(host, port=port) as url:
        where = f"namespace {session.namespace}" if session.namespace else "all namespaces"
        echo(f"clusters of {where}{', read-only' if read_only else ''}: {url}")
        echo("Ctrl-C ends it. The address contains a token: who has it, has your rights.")
        if browser:
            webbrowser.open(url)
        await asyncio.Event().wait()
