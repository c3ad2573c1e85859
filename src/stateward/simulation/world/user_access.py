"""A user's access to a world: the API server without delay, and the pods behind its proxy and its exec.

Requests take no virtual time, so a reader changes nothing in the world.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar
from urllib.parse import unquote

from stateward.engines.connection.base import Call, UnreachableError
from stateward.kube.client.client import Body, PatchKind, RawRequest
from stateward.kube.client.exec import ExecError
from stateward.kube.objects.errors import error_for_body
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.operator.databases.foundationdb_shell import MARK
from stateward.simulation.apiserver.client import WorldApi, document, kind_name
from stateward.simulation.apiserver.documents import part
from stateward.simulation.apiserver.network import Network, Rates
from stateward.simulation.apiserver.refusals import not_found, refusal
from stateward.simulation.opensearch.http import Wire, WorldTransport
from stateward.simulation.world.foundationdb_shell import WorldShell
from stateward.simulation.world.world import World

USER = "kubectl"
PATIENCE = 1.0
"""Seconds of virtual time until the proxy gives up."""

T = TypeVar("T")


def unheard(kind: str, key: Key, form: PatchKind, body: Any) -> None:
    """Ignore a patch."""


Patched = Callable[[str, Key, PatchKind, Any], None]
"""Called with the kind, the key, the form and the body of each patch."""


class InstantWire(Wire):
    """A network without delay and without faults."""

    async def reach(self, patience: float) -> None:
        """Send a request."""

    async def back(self) -> None:
        """Receive the response."""


class UserApi(WorldApi):
    """The API server as a user with a kubeconfig reaches it."""

    def __init__(self, world: World, patched: Patched = unheard) -> None:
        """Connect to a world; `patched` hears of each patch before it is performed."""
        context = world.context
        network = Network(context.stream("user/api"), context.count, rates=Rates(latency=(0.0, 0.0)))
        super().__init__(world.server, world.change_signal, network, USER)
        self._world = world
        self._patched = patched
        self._transport = WorldTransport(world.databases, InstantWire(context.stream("user/engine"), context.count))
        self._shell = WorldShell(world.foundationdb, InstantWire(context.stream("user/shell"), context.count))

    async def patch(
        self, resource: Resource[T], key: Key, body: Body | Sequence[Any], *, kind: PatchKind, subresource: str = ""
    ) -> T:
        """Patch an object."""
        self._patched(kind_name(resource), key, kind, document(body))
        return await super().patch(resource, key, body, kind=kind, subresource=subresource)

    async def request(self, request: RawRequest) -> bytes:
        """Send a request outside the object model; those below `pods/NAME:PORT/proxy` reach the pod."""
        pod, mark, path = request.path.partition("/proxy")
        if not mark:
            return await super().request(request)
        try:
            async with asyncio.timeout(PATIENCE):
                answer = await self._transport.send(
                    Call(self._address(pod), request.method, path, request.query, part({"body": request.body}, "body"))
                )
        except (TimeoutError, UnreachableError) as error:
            raise refusal(503, "ServiceUnavailable", f"error trying to reach service: {error}") from error
        if answer.status != 200:
            raise error_for_body(answer.status, answer.body)
        return answer.body

    async def execute(self, pod: Key, container: str, command: Sequence[str], limit: int) -> bytes:
        """Run the command line of FoundationDB in a pod; raise ExecError."""
        del container, limit
        reached = self._world.foundationdb.pods.get(pod)
        if reached is None or not reached.reachable or not self._database_leads(reached.file):
            raise ExecError(f"{pod.name}: the database does not answer")
        try:
            printed = await self._shell.run(f"{pod.namespace}/{pod.name}", command[-1], 1)
        except UnreachableError as error:
            raise ExecError(str(error)) from error
        return f"{printed.output}\n{MARK}{printed.code}\n".encode()

    def _database_leads(self, file: str) -> bool:
        return any(database.leads(file) for database in self._world.foundationdb.databases.values())

    def _address(self, path: str) -> str:
        """Return the address of the pod in a path such as `/api/v1/namespaces/NAMESPACE/pods/NAME:PORT`."""
        words = unquote(path).split("/")
        name, _, port = words[-1].partition(":")
        key = Key(words[-3], name)
        stored = self._world.store.get("/pods", key)
        if stored is None:
            raise not_found("pods", key)
        return f"http://{part(stored.doc, 'status').get('podIP', '')}:{port}"
