"""The database's command line in the pods of a world, over a network that may fail."""

import asyncio
from collections.abc import Callable
from contextvars import ContextVar

from stateward.engines.connection.base import Target, UnreachableError
from stateward.engines.foundationdb.database.commands import STATUS, Printed
from stateward.engines.foundationdb.database.driver import FoundationEngine
from stateward.kube.objects.metadata import Key
from stateward.planning.model.observation import Database, Unknown
from stateward.simulation.foundationdb.commandline import Run
from stateward.simulation.foundationdb.ensemble import Ensemble
from stateward.simulation.opensearch.http import Wire
from stateward.simulation.world.foundationdb_pods import FoundationDBPods

SERVES = '"database_status": {"available": true'
"""With these words the status says that the database serves."""

_observes: ContextVar[bool] = ContextVar("observes", default=False)
"""Whether the driver observes the database now. Commands read the status too, and tell planning nothing of it."""


class WorldShell:
    """Runs commands in pods on the model, as the driver's shell does on a database."""

    def __init__(
        self,
        pods: FoundationDBPods,
        wire: Wire,
        ensemble_observed: Callable[[Ensemble, bool], None] = lambda _database, _serves: None,
        answer_lost: Callable[[], None] = lambda: None,
    ) -> None:
        """Run commands in these pods; the callbacks are for each observed status and each lost response.

        The first one also gets whether the status says that the database serves: a client whose cluster file is old
        finds no coordinator.
        """
        self.wire = wire
        self._ensemble_observed = ensemble_observed
        self._answer_lost = answer_lost
        self._pods = pods

    async def run(self, pod: str, command: str, seconds: int) -> Printed:
        """Return the output of `fdbcli --exec COMMAND` within a time limit; raises UnreachableError."""
        try:
            return await self._run(pod, command, seconds)
        except (UnreachableError, asyncio.CancelledError):
            self._answer_lost()
            raise

    async def _run(self, pod: str, command: str, seconds: int) -> Printed:
        self.wire.alive()
        await self.wire.reach(float(seconds))
        namespace, _, name = pod.partition("/")
        found = self._pods.pods.get(Key(namespace, name))
        if found is None or not found.reachable:
            raise UnreachableError(f"{name}: no command can run in it")
        client = found.client()
        database = self._pods.database(client.description)
        run = Run(lambda request: database.ask(client, request), asyncio.sleep, database.identity)
        code, output = await run.execute(command, float(seconds))
        found.file = client.file
        if command == STATUS:
            if _observes.get():
                self._ensemble_observed(database, SERVES in output)
        else:
            self.wire.command_done(command)
        await self.wire.back()
        whole = output.encode()
        body = self.wire.body(whole)
        if body != whole:
            self._answer_lost()
        return Printed(code, body.decode(errors="replace"))


class ObservingEngine(FoundationEngine):
    """The driver, which tells the shell when it observes."""

    async def observe(self, target: Target) -> Database | Unknown:
        """Return what the driver observes."""
        token = _observes.set(True)
        try:
            return await super().observe(target)
        finally:
            _observes.reset(token)
