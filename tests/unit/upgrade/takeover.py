"""Lets the current operator take over the frozen objects of a release, and records what it writes.

The database answers what it answered when the objects were frozen. Nothing else lives in this world: no controller
reacts to what the operator writes.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from stateward.engines.connection.base import Target
from stateward.kube.objects.metadata import Key
from stateward.operator.assembly import Operator
from stateward.operator.databases.agents import Access, AgentError, Peer
from stateward.operator.databases.engine import Family, family_of
from stateward.operator.objects.kinds import CLUSTER_KINDS
from stateward.operator.runtime.options import OperatorOptions
from stateward.planning.model.observation import Database
from stateward.planning.model.process import Process, ProcessState
from stateward.simulation.apiserver.audit import Unaudited, Write
from stateward.simulation.apiserver.client import ChangeSignal, WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.cluster.context import SimulationContext
from stateward.simulation.timing.loop import WorldLoop
from stateward.simulation.world import log_capture
from tests.unit.upgrade.frozen import FrozenCluster, restore

AGENT_IMAGE = "stateward:later"
TIME = 900.0
"""Seconds of virtual time in which the operator works on the objects."""


@dataclass
class Takeover:
    """What the operator did."""

    writes: list[Write] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    """Commands to the database and to agents."""
    status: dict[str, Any] = field(default_factory=dict)
    """The status of the cluster at the end."""

    def written(self, *kinds: str) -> list[str]:
        """Return the writes to objects of some kinds, in words."""
        return [f"{each.verb} {each.kind} {each.key}" for each in self.writes if each.kind in kinds]


class _Recorder(Unaudited):
    def __init__(self, found: Takeover) -> None:
        self._found = found

    def wrote(self, write: Write) -> None:
        self._found.writes.append(write)


class _Agents:
    """Agents whose processes run with what their pods record."""

    def __init__(self, context: SimulationContext, found: Takeover) -> None:
        self._context = context
        self._found = found

    async def ask(self, access: Access, peer: Peer) -> Process:
        for pod in self._context.store.all("/pods"):
            if pod.doc["status"].get("podIP") == peer.address:
                annotations = pod.meta["annotations"]
                checksum = annotations["stateward.dev/config-checksum"]
                return Process(ProcessState.RUNNING, checksum, checksum, annotations["stateward.dev/agent"])
        raise AgentError("there is no such pod")

    async def stop(self, access: Access, peer: Peer) -> None:
        self._found.commands.append(f"stop {peer.name}")

    async def start(self, access: Access, peer: Peer, checksum: str) -> None:
        self._found.commands.append(f"start {peer.name}")


class _Engine:
    """A database that always answers the same, and records every command."""

    def __init__(self, database: Database, found: Takeover) -> None:
        self._database = database
        self._found = found

    async def observe(self, target: Target) -> Database:
        return self._database

    def __getattr__(self, name: str) -> Callable[..., Any]:
        async def command(*_: object) -> None:
            self._found.commands.append(name)

        return command


def take_over(
    frozen: FrozenCluster, *, edit: Callable[[SimulationContext], None] = lambda _: None, seconds: float = TIME
) -> Takeover:
    """Let the current operator work on frozen objects; `edit` changes them before."""
    with asyncio.Runner(loop_factory=WorldLoop) as runner:
        return runner.run(_take_over(frozen, edit, seconds))


def unheard(_event: str, _values: Mapping[str, object]) -> None:
    """Ignore a line of the operator's log."""


async def _take_over(frozen: FrozenCluster, edit: Callable[[SimulationContext], None], seconds: float) -> Takeover:
    context, found = SimulationContext(1, asyncio.get_running_loop()), Takeover()
    await asyncio.sleep(frozen.seconds)
    restore(context.store, frozen)
    edit(context)
    network = Network(context.stream("network"), context.count)
    api = WorldApi(context.server, ChangeSignal(context.store), network, "stateward", _Recorder(found))
    (kind,) = [each for each in CLUSTER_KINDS if each.engine == frozen.engine]
    options = OperatorOptions(leader_elect=False, lease_namespace="stateward", identity="op")
    family = _family(frozen, context, found)
    operator = Operator(api, (family,), options, clock=context.clock, rng=context.stream("jitter"))
    with log_capture.to(unheard):
        running = asyncio.create_task(operator.run())
        await asyncio.sleep(seconds)
        network.dead = True
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    name = f"{kind.resource.group}/{kind.resource.plural}"
    found.status = context.server.get(name, Key("data", "logs")).doc["status"]
    return found


def templates_of(frozen: FrozenCluster) -> list[dict[str, Any]]:
    """Return the pod templates that this version writes for the members of a frozen cluster, in their order."""
    (kind,) = [each for each in CLUSTER_KINDS if each.engine == frozen.engine]
    nowhere: Any = None
    family = family_of(kind, nowhere, nowhere, AGENT_IMAGE if frozen.agents else "")
    resource = f"{kind.resource.group}/{kind.resource.plural}"
    (body,) = [each.body for each in frozen.objects if each.kind == resource]
    cluster = msgspec.convert(body, kind.resource.view)
    members = [each.body["metadata"]["labels"] for each in frozen.objects if each.kind == "apps/statefulsets"]
    return [
        family.member_objects(
            cluster, labels["stateward.dev/pool"], int(labels["stateward.dev/ordinal"]), cluster.status.version
        ).workload["spec"]["template"]
        for labels in members
    ]


def _family(frozen: FrozenCluster, context: SimulationContext, found: Takeover) -> Family:
    (kind,) = [each for each in CLUSTER_KINDS if each.engine == frozen.engine]
    nowhere: Any = None
    agents = _Agents(context, found)
    family = family_of(kind, nowhere, nowhere, AGENT_IMAGE if frozen.agents else "", agents)
    family.engine = cast("Any", _Engine(msgspec.convert(frozen.database, Database), found))
    return family
