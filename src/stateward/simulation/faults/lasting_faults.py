"""Lasting faults: rates of errors, lags and delays."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from stateward.simulation.apiserver.network import Rates as ApiRates
from stateward.simulation.cluster.mounts import NodeBehavior
from stateward.simulation.faults.targets import FaultTargets
from stateward.simulation.opensearch.behavior import DatabaseBehavior
from stateward.simulation.opensearch.http import Rates as EngineRates
from stateward.simulation.world.foundationdb_pods import TIMING, PodBehavior
from stateward.simulation.world.operators import Process

LastingEffect = Callable[[FaultTargets], None]
"""Starts a lasting fault."""
KINDS = (
    "/pods",
    "apps/statefulsets",
    "/persistentvolumeclaims",
    "/secrets",
    "/nodes",
)


def clear(targets: FaultTargets) -> None:
    """End all lasting faults."""
    for process in targets.processes:
        _reset(process.api_rates, ApiRates())
        _reset(process.engine_rates, EngineRates())
        process.lags.clear()
        process.write_done = lambda _verb, _kind: None
        process.command_done = lambda _: None
    world = targets.world
    world.sets.lag = (0.02, 0.3)
    world.scheduler.capacity = world.layout.capacity
    missing, broken = world.kubelets.behavior.missing, world.databases.behavior.broken
    world.kubelets.behavior = NodeBehavior(missing=missing)
    world.databases.behavior = DatabaseBehavior(broken=broken)
    world.foundationdb.behavior = PodBehavior(broken=world.foundationdb.behavior.broken)
    world.foundationdb.time(TIMING)


def _reset(rates: ApiRates | EngineRates, quiet_period: ApiRates | EngineRates) -> None:
    for name in rates.__slots__:
        setattr(rates, name, getattr(quiet_period, name))


def rate(network: Literal["api_rates", "engine_rates"], name: str, low: float, high: float) -> LastingEffect:
    """Return a fault that draws one rate of a network between two bounds, for each operator process."""

    def begin(targets: FaultTargets) -> None:
        for process in targets.processes:
            setattr(getattr(process, network), name, targets.rng.uniform(low, high))

    return begin


def lag(targets: FaultTargets) -> None:
    """Delay watches, some kinds more than others: the operator sees states of different times."""
    for process in targets.processes:
        process.api_rates.lag = targets.rng.uniform(0.0, 3.0)
        for kind in (*KINDS, targets.world.clusters):
            if targets.rng.random() < 0.5:
                process.lags[kind] = targets.rng.uniform(0.0, 30.0)


def streams(targets: FaultTargets) -> None:
    """Break watch streams repeatedly."""
    for process in targets.processes:
        process.api_rates.stream = (5.0, targets.rng.uniform(20.0, 200.0))


def stale(targets: FaultTargets) -> None:
    """Start new watches from an old state."""
    for process in targets.processes:
        process.api_rates.stale = targets.rng.randint(5, 200)


def killed_after_writes(targets: FaultTargets) -> None:
    """Kill the operator right after some of its writes, before it receives the response."""
    probability = targets.rng.uniform(0.005, 0.05)
    for process in targets.processes:

        def write_done(_verb: str, kind: str, process: Process = process) -> None:
            if not kind.startswith(("events", "coordination")) and targets.rng.random() < probability:
                targets.world.context.count("operator killed after a write")
                process.kill()

        process.write_done = write_done


def killed_after_calls(targets: FaultTargets) -> None:
    """Kill the operator right after some of its calls to the database."""
    probability = targets.rng.uniform(0.01, 0.2)
    for process in targets.processes:

        def command_done(_: str, process: Process = process) -> None:
            if targets.rng.random() < probability:
                targets.world.context.count("operator killed after an engine call")
                process.kill()

        process.command_done = command_done


def slow_sets(targets: FaultTargets) -> None:
    """Delay the StatefulSet controller."""
    targets.world.sets.lag = (0.5, targets.rng.uniform(2.0, 30.0))


def late_config(targets: FaultTargets) -> None:
    """Give a new pod a Secret from before its last change."""
    targets.world.kubelets.behavior.config = targets.rng.uniform(5.0, 120.0)


def late_files(targets: FaultTargets) -> None:
    """Delay changed files in running pods by minutes."""
    targets.world.kubelets.behavior.files = (10.0, targets.rng.uniform(20.0, 150.0))


def slow_start(targets: FaultTargets) -> None:
    """Delay the start of databases and the pull of images by minutes."""
    boot = (10.0, targets.rng.uniform(30.0, 300.0))
    targets.world.databases.behavior.boot = targets.world.foundationdb.behavior.boot = boot
    targets.world.kubelets.behavior.pull = (1.0, targets.rng.uniform(10.0, 120.0))


def nearly_full(targets: FaultTargets) -> None:
    """Limit the nodes to the capacity that the initial cluster needs."""
    nodes, wanted = len(targets.world.nodes.names), sum(pool["replicas"] for pool in targets.user.spec["pools"])
    targets.world.scheduler.capacity = -(-wanted // nodes)


def slow_votes(targets: FaultTargets) -> None:
    """Let the voting configuration follow changes late, as when a node applies no changes of the state."""
    targets.world.databases.behavior.reconfiguration = (0.0, targets.rng.uniform(2.0, 40.0))


def slow_copies(targets: FaultTargets) -> None:
    """Limit the recovery throughput, as on shared disks."""
    rate = targets.rng.uniform(0.5, 4.0) * 2**20
    targets.world.databases.behavior.throughput = rate
    targets.world.foundationdb.time(replace(TIMING, moving=rate))
