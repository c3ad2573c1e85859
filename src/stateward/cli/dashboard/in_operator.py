"""The page in the operator's process: read-only, for users that Kubernetes or a proxy has authenticated."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from ipaddress import ip_address

from stateward.cli.dashboard.host import OPERATOR, opened
from stateward.cli.dashboard.operator_reads import Databases, OperatorReads
from stateward.cli.dashboard.reviews import ReviewGuard
from stateward.cli.page.guard import LOOPBACK
from stateward.cli.page.server import guarded_page
from stateward.cli.shared.session import Session
from stateward.kube.client.client import Api
from stateward.kube.timing.clock import Clock, SystemClock
from stateward.operator.runtime.options import OperatorOptions


@asynccontextmanager
async def operator_page(
    api: Api, options: OperatorOptions, databases: Databases, clock: Clock | None = None
) -> AsyncGenerator[int]:
    """Serve the page for the block; yields its port. Raise OSError if the port is in use.

    Databases are read by the operator itself: no viewer's token reaches it for that, and nothing goes through
    `pods/proxy`, to which it has no right.
    """
    clock, namespaces = clock or SystemClock(), options.namespaces or ("",)
    hosts = (*LOOPBACK, options.page_host, *options.page_names) if is_loopback(options.page_host) else ()
    guard = ReviewGuard(api, clock, namespaces, hosts)
    session = Session(api, "", clock=clock, reads=OperatorReads(databases, clock))
    async with (
        opened(session, OPERATOR, read_only=True, namespaces=namespaces) as host,
        guarded_page(host, guard, options.page_host, options.page_port) as port,
    ):
        yield port


def is_loopback(address: str) -> bool:
    """Return whether only this pod reaches an address."""
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
