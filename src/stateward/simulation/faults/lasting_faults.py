"""Faults that last a whole run: rates of errors, lags, slowness."""

from typing import TYPE_CHECKING

from stateward.simulation.apiserver.network import Rates as ApiRates
from stateward.simulation.cluster.mounts import Habits as KubeletHabits
from stateward.simulation.opensearch.databases import Habits as DatabaseHabits
from stateward.simulation.opensearch.http import Rates as EngineRates
from stateward.simulation.world.foundationdb_pods import Habits as FoundationHabits

if TYPE_CHECKING:
    from stateward.simulation.faults.faults import Stage
    from stateward.simulation.world.operators import Process

KINDS = (
    "/pods",
    "apps/statefulsets",
    "/persistentvolumeclaims",
    "/secrets",
    "/nodes",
)


def clear(stage: "Stage") -> None:
    """End all lasting faults."""
    for process in stage.processes:
        _reset(process.api_rates, ApiRates())
        _reset(process.engine_rates, EngineRates())
        process.lags.clear()
        process.wrote = lambda _verb, _kind: None
        process.told = lambda _: None
    world = stage.world
    world.sets.lag = (0.02, 0.3)
    world.scheduler.capacity = world.layout.capacity
    missing, broken = world.kubelets.habits.missing, world.databases.habits.broken
    world.kubelets.habits = KubeletHabits(missing=missing)
    world.databases.habits = DatabaseHabits(broken=broken)
    world.foundations.habits = FoundationHabits(broken=world.foundations.habits.broken)


def _reset(rates: ApiRates | EngineRates, calm: ApiRates | EngineRates) -> None:
    for name in rates.__slots__:
        setattr(rates, name, getattr(calm, name))


def api_errors(stage: "Stage") -> None:
    """Let some requests to the API server fail."""
    for process in stage.processes:
        process.api_rates.error = stage.chance.uniform(0.01, 0.2)


def api_lost(stage: "Stage") -> None:
    """Perform some writes without an answer."""
    for process in stage.processes:
        process.api_rates.lost = stage.chance.uniform(0.01, 0.15)


def api_slow(stage: "Stage") -> None:
    """Let some requests take up to a minute."""
    for process in stage.processes:
        process.api_rates.slow = stage.chance.uniform(0.01, 0.05)


def lag(stage: "Stage") -> None:
    """Let watches be behind, some kinds more than others: what the operator sees was never true at one time."""
    for process in stage.processes:
        process.api_rates.lag = stage.chance.uniform(0.0, 3.0)
        for kind in (*KINDS, stage.world.clusters):
            if stage.chance.random() < 0.5:
                process.lags[kind] = stage.chance.uniform(0.0, 30.0)


def streams(stage: "Stage") -> None:
    """Break watches all the time."""
    for process in stage.processes:
        process.api_rates.stream = (5.0, stage.chance.uniform(20.0, 200.0))


def stale(stage: "Stage") -> None:
    """Let a new watch begin with an old state."""
    for process in stage.processes:
        process.api_rates.stale = stage.chance.randint(5, 200)


def engine_errors(stage: "Stage") -> None:
    """Let some requests to the database fail."""
    for process in stage.processes:
        process.engine_rates.error = stage.chance.uniform(0.01, 0.15)


def engine_lost(stage: "Stage") -> None:
    """Perform some commands to the database without an answer."""
    for process in stage.processes:
        process.engine_rates.lost = stage.chance.uniform(0.01, 0.1)


def engine_slow(stage: "Stage") -> None:
    """Let some requests to the database hang."""
    for process in stage.processes:
        process.engine_rates.slow = stage.chance.uniform(0.01, 0.05)


def engine_garbled(stage: "Stage") -> None:
    """Cut some answers of the database short."""
    for process in stage.processes:
        process.engine_rates.garbled = stage.chance.uniform(0.01, 0.05)


def killed_after_writes(stage: "Stage") -> None:
    """Kill the operator right after some of its writes, before it receives the answer."""
    rate = stage.chance.uniform(0.005, 0.05)
    for process in stage.processes:

        def wrote(_verb: str, kind: str, process: "Process" = process) -> None:
            if not kind.startswith(("events", "coordination")) and stage.chance.random() < rate:
                stage.world.ground.count("operator killed after a write")
                process.kill()

        process.wrote = wrote


def killed_after_calls(stage: "Stage") -> None:
    """Kill the operator right after some of its calls to the database."""
    rate = stage.chance.uniform(0.01, 0.2)
    for process in stage.processes:

        def told(_: str, process: "Process" = process) -> None:
            if stage.chance.random() < rate:
                stage.world.ground.count("operator killed after an engine call")
                process.kill()

        process.told = told


def slow_sets(stage: "Stage") -> None:
    """Keep the StatefulSet controller busy with others."""
    stage.world.sets.lag = (0.5, stage.chance.uniform(2.0, 30.0))


def late_config(stage: "Stage") -> None:
    """Give a new pod a Secret from before its last change."""
    stage.world.kubelets.habits.config = stage.chance.uniform(5.0, 120.0)


def late_files(stage: "Stage") -> None:
    """Show changed files to running pods minutes later."""
    stage.world.kubelets.habits.files = (10.0, stage.chance.uniform(20.0, 150.0))


def slow_start(stage: "Stage") -> None:
    """Let the database take minutes to start, and images minutes to come."""
    boot = (10.0, stage.chance.uniform(30.0, 300.0))
    stage.world.databases.habits.boot = stage.world.foundations.habits.boot = boot
    stage.world.kubelets.habits.pull = (1.0, stage.chance.uniform(10.0, 120.0))


def nearly_full(stage: "Stage") -> None:
    """Leave no more room on the nodes than the initial cluster needs."""
    nodes, wanted = len(stage.world.nodes.names), sum(pool["replicas"] for pool in stage.user.spec["pools"])
    stage.world.scheduler.capacity = -(-wanted // nodes)


def slow_copies(stage: "Stage") -> None:
    """Move data as slowly as on disks that others use too."""
    stage.world.databases.habits.throughput = stage.chance.uniform(0.5, 4.0) * 2**20
