"""A FoundationDB cluster as its resource describes it, in the model, and the driver before it."""

import asyncio
from typing import Any

import msgspec

from stateward.api.kinds.foundationdb import FoundationDBCluster, replicas
from stateward.engines.connection.base import UnreachableError
from stateward.engines.foundationdb.database.commands import Printed
from stateward.engines.foundationdb.database.driver import FoundationEngine
from stateward.engines.foundationdb.database.target import FoundationTarget
from stateward.engines.foundationdb.spec.identity import coordinator, first_connection
from stateward.engines.foundationdb.spec.security import secured
from stateward.planning.model.observation import Database
from stateward.simulation.foundationdb.commandline import Run
from stateward.simulation.foundationdb.ensemble import Client, Ensemble
from stateward.simulation.foundationdb.state import Worker

POOLS = [
    {"name": "storage", "processClass": "storage", "replicas": 5},
    {"name": "log", "processClass": "log", "replicas": 4},
    {"name": "stateless", "processClass": "stateless", "replicas": 2},
]


def cluster(pools: list[dict[str, Any]] | None = None, **spec: Any) -> FoundationDBCluster:
    """Return a cluster called ledger."""
    meta = {"name": "ledger", "namespace": "bank", "uid": "0123456789ab"}
    body = {"version": "7.1.67", "pools": POOLS if pools is None else pools, **spec}
    document = {"apiVersion": "stateward.dev/v1alpha1", "kind": "FoundationDBCluster", "metadata": meta, "spec": body}
    return msgspec.convert(document, FoundationDBCluster)


class Model:
    """Its members, each a process on a machine of its own, over three zones."""

    def __init__(self, of: FoundationDBCluster, *, members: bool = True, version: str = "7.1.67") -> None:
        self.of = of
        self.version = version
        self.now = 1000.0
        self.addresses: dict[str, str] = {}
        self.commands: list[str] = []
        self.numbers = 0
        self.strange: set[str] = set()
        """Pods with programs that the database does not talk to."""
        self.stores: dict[str, int] = {}
        self.ensemble = Ensemble(lambda: self.now)
        self.ensemble.resolve = self.resolve
        self.refuses = ""
        """The beginning of the commands that the database refuses."""
        self.client = Client(version, str(first_connection(of)))
        self.engine = FoundationEngine(self)
        for pool in of.spec.pools if members else ():
            for i in range(replicas(of.spec, pool)):
                self.start(f"ledger-{pool.name}-{i}", pool.process_class.value, f"z{i % 5}")

    def resolve(self, name: str) -> str:
        """Return the address that a name in DNS stands for now."""
        known = {str(coordinator(self.of, member)): address for member, address in self.addresses.items()}
        return known.get(name, name)

    def start(self, member: str, kind: str, zone: str, address: str = "") -> None:
        """Start a member's process, at this address or at an unused one."""
        self.numbers += 1
        tls = ":tls" if secured(self.of) else ""
        self.addresses[member] = address or f"10.0.0.{self.numbers}:4500{tls}"
        number = self.stores.setdefault(member, self.numbers)
        locality = {"instance_id": member, "zoneid": zone, "machineid": zone, "processid": f"{number:032x}"}
        words = f"fdbserver --class {kind}"
        address = self.addresses[member]
        self.ensemble.start(Worker(address, kind, locality, self.version, words, self.now, f"{number:032x}"))

    async def run(self, pod: str, command: str, seconds: int) -> Printed:
        """Run a command in virtual time, as the shell of a pod."""
        assert pod.startswith("bank/")
        self.commands.append(command)
        if self.refuses and command.startswith(self.refuses):
            return Printed(1, "ERROR: the database does not want to\n")
        until = self.now + seconds
        strange = Client("7.3.63", self.client.file)

        async def sleep(passed: float) -> None:
            self.now += passed
            await asyncio.sleep(0)
            if self.now >= until:
                raise TimeoutError

        def ask(request: dict[str, Any]) -> Any:
            return self.ensemble.ask(strange if pod in self.strange else self.client, request)

        code, text = await Run(ask, sleep, self.ensemble.identity).execute(command)
        return Printed(code, text)

    def target(self, **more: Any) -> FoundationTarget:
        """Return the cluster as the operator speaks of it."""
        known = {name: frozenset({address.removesuffix(":tls")}) for name, address in self.addresses.items()}
        given: dict[str, Any] = {"processes": dict.fromkeys(known, 1), "known": known, **more}
        lasting = frozenset(name for name in known if "stateless" not in name)
        return FoundationTarget(("bank/ledger-storage-0-0",), "ledger", cluster=self.of, lasting=lasting, **given)

    async def seen(self, **more: Any) -> Database:
        """Return what the driver sees, once a recovery that a change has brought about is over."""
        await self.settle(10.0)
        found = await self.engine.observe(self.target(**more))
        assert isinstance(found, Database), found
        return found

    async def made(self) -> "Model":
        """Make the database, and wait until it has settled."""
        await self.engine.create_database(self.target())
        await self.settle()
        self.commands.clear()
        return self

    async def settle(self, seconds: float = 60.0) -> None:
        """Let time pass."""
        self.now += seconds
        self.ensemble.advance()


class SilentShell:
    """A shell in which nothing can be run."""

    async def run(self, pod: str, command: str, seconds: int) -> Printed:
        """Fail."""
        raise UnreachableError(f"{pod}: {command} for {seconds} s: no route to host")
