"""Operator processes: the shipped operator with a client of the world; faults kill and restart it."""

import asyncio
from collections.abc import Callable
from typing import cast

from stateward.engines.connection.answer_limits import LOOK, Rooms
from stateward.kube.election.fence import LostLease
from stateward.kube.election.lease_record import LeaseTiming
from stateward.kube.timing.clock import Clock
from stateward.operator.assembly import Operator
from stateward.operator.clusters.forecast_worker import Compute
from stateward.operator.controls import declared_control, scaling_control
from stateward.operator.databases.engine import Family
from stateward.operator.databases.foundationdb import FoundationDBFamily
from stateward.operator.runtime.metrics import Metrics
from stateward.operator.runtime.options import OperatorOptions
from stateward.simulation.apiserver.audit import Audit, Unaudited
from stateward.simulation.apiserver.client import WorldApi
from stateward.simulation.apiserver.network import Network
from stateward.simulation.apiserver.network import Rates as ApiRates
from stateward.simulation.foundationdb.ensemble import Ensemble
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.http import DatabaseAudit, UnauditedDatabase, Wire, WorldTransport
from stateward.simulation.opensearch.http import Rates as EngineRates
from stateward.simulation.timing.wrong_clock import COUNTED, WrongClock
from stateward.simulation.world.database_calls import Stopping, WorldAgents
from stateward.simulation.world.decision_metrics import DecisionMetrics
from stateward.simulation.world.foundationdb_shell import ObservingEngine, WorldShell
from stateward.simulation.world.world import SYSTEM, World

RESTART = (1.0, 20.0)
"""Seconds until an ended process is restarted."""
LEASE = LeaseTiming(duration=60, renew_deadline=40.0, retry=8.0)
"""Four times the usual times: the same steps, and a quarter of the requests, which would cost more than all
reconciliations.
"""


class Process:
    """One operator process and its restarts; faults set its rates, and may kill it."""

    def __init__(self, world: World, name: str, *, leader_elect: bool = False, foundationdb: bool = False) -> None:
        self.name = name
        self.api_rates = ApiRates()
        self.engine_rates = EngineRates()
        self.lags: dict[str, float] = {}
        self.stales: dict[str, int] = {}
        self.write_done: Callable[[str, str], None] = lambda _verb, _kind: None
        self.command_done: Callable[[str], None] = lambda _: None
        self.failed: Callable[[BaseException], None] = lambda _: None
        self.audit: Audit = Unaudited()
        self.agent_image = ""
        """The image from which new pods get agents; if it is empty, they have none."""
        self.stopping: Stopping = lambda _: None
        self.cluster_observed: Callable[[Cluster], None] = lambda _: None
        self.ensemble_observed: Callable[[Ensemble, bool], None] = lambda _database, _serves: None
        self.answer_lost: Callable[[], None] = lambda: None
        self.max_replacements = OperatorOptions().max_replacements
        self.pod_policy = OperatorOptions().pod_policy
        self.pod_references = OperatorOptions().pod_references
        self.wave = ""
        self.forecast: Compute | None = None
        """Forecasts its changes, in this thread; runs have no forecasts, which would cost more than all else."""
        self.pool_scales = False
        """Whether it watches PoolScales: one more watch changes the course of every run."""
        self.declares = False
        """Whether it keeps declared resources: five more watches."""
        self.database_audit: DatabaseAudit = UnauditedDatabase()
        self.metrics: Metrics | None = None
        """The metrics of the process that was started last."""
        self.api: WorldApi | None = None
        self._world = world
        self._leader_elect = leader_elect
        self._foundationdb = foundationdb
        self._starts = 0
        self._wire: Wire | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Whether the process runs."""
        return self._task is not None and not self._task.done()

    def start(self) -> None:
        """Start a process without any state."""
        if self.running:
            return
        self._starts += 1
        context = self._world.context
        identity = f"{self.name}-{self._starts}"
        network = Network(
            context.stream(f"{identity}/api"), context.count, self._write_done, self.api_rates, self.lags, self.stales
        )
        self._wire = Wire(context.stream(f"{identity}/engine"), context.count, self._command_done, self.engine_rates)
        self.api = WorldApi(self._world.server, self._world.change_signal, network, "stateward", self.audit)
        options = OperatorOptions(
            leader_elect=self._leader_elect,
            lease_namespace=SYSTEM,
            lease_timing=LEASE,
            identity=identity,
            workers=2,
            max_replacements=self.max_replacements,
            pod_policy=self.pod_policy,
            pod_references=self.pod_references,
            wave=self.wave,
            verify_snapshots=self.declares,
        )
        rng = context.stream(f"{identity}/jitter")
        self.metrics = DecisionMetrics(context)
        family = self._family(self._wire)
        operator = Operator(
            self.api,
            (family,),
            options,
            clock=self._clock(identity),
            rng=rng,
            metrics=self.metrics,
            forecast=self.forecast,
        )
        if self.pool_scales:
            operator.companions.append(scaling_control(operator))
        if self.declares:
            operator.companions.append(declared_control(operator, {}))
        self._task = context.loop.create_task(operator.run())
        self._task.add_done_callback(self._ended)

    def _clock(self, identity: str) -> Clock:
        """Return the clock of the machine on which the process starts: each time another one."""
        context, most = self._world.context, self._world.clock_error
        if not most:
            return context.clock
        error = context.stream(f"{identity}/clock").uniform(-most, most)
        context.trace(f"the clock of operator {identity} is wrong by {error:+.0f} s")
        context.count(COUNTED)
        return WrongClock(context.clock, error)

    def _family(self, wire: Wire) -> Family:
        """Return the only family that it handles: each other one would add watches to every run."""
        agents = WorldAgents(self._world.agents, wire, self._node_reachable, self.stopping)
        if self._foundationdb:
            shell = WorldShell(self._world.foundationdb, wire, self.ensemble_observed, self.answer_lost)
            rooms = Rooms(usual=LOOK)
            family = FoundationDBFamily(shell, self.agent_image, agents, rooms)
            family.engine = ObservingEngine(shell, rooms)
            return family
        databases = self._world.databases
        transport = WorldTransport(databases, wire, self.cluster_observed, self.answer_lost, self.database_audit)
        return self._world.product.family(transport, self.agent_image, agents, announces=databases.announced)

    def kill(self) -> None:
        """Kill the process between two instructions; no part of it continues, not even its clean-up."""
        if not self.running or self._task is None or self.api is None or self._wire is None:
            return
        self._world.context.trace(f"operator {self.name} is killed")
        self.api.network.dead = self._wire.dead = True
        self._task.cancel()
        self._world.context.soon(*RESTART, self.start)

    def freeze(self, seconds: float) -> None:
        """Hold back all watch events of the process for a while."""
        if self.api is not None:
            self.api.network.frozen_until = self._world.now + seconds

    def _node_reachable(self, node: str) -> bool:
        world = self._world
        isolated = world.databases.isolated | world.foundationdb.isolated
        return node not in isolated and node not in world.kubelets.powerless

    def _write_done(self, verb: str, kind: str) -> None:
        self.write_done(verb, kind)

    def _command_done(self, what: str) -> None:
        self.command_done(what)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        for cause in leaves(error):
            if not isinstance(cause, LostLease):
                self.failed(cause)
        self._world.context.trace(f"operator {self.name} ends: {error}")
        self._world.context.soon(*RESTART, self.start)


def leaves(error: BaseException) -> list[BaseException]:
    """Return the errors inside groups of errors."""
    if isinstance(error, BaseExceptionGroup):
        inside = cast("tuple[BaseException, ...]", error.exceptions)
        return [leaf for inner in inside for leaf in leaves(inner)]
    return [error]
