"""A FoundationDB cluster of twelve members to rehearse, and runs of it."""

from functools import cache
from typing import Any

import msgspec
from msgspec.structs import replace

from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.values.quantity import parse_bytes
from stateward.engines.foundationdb.spec.desired import desired
from stateward.forecast.durations import Durations
from stateward.planning.model.observation import (
    Bootstrap,
    Claim,
    Database,
    Desired,
    Duties,
    Health,
    Member,
    Node,
    Observation,
    Pod,
    Pool,
    Record,
    Ref,
    Workload,
)
from stateward.simulation.rehearsal.faults import Fault
from stateward.simulation.rehearsal.foundationdb.rules import FoundationRules
from tests.unit.simulation.rehearsal import samples
from tests.unit.simulation.rehearsal.samples import START

GIB = 2**30
USUAL = Durations(start=20.0, stop=5.0, rate=16.0 * 2**20)
POOLS: list[dict[str, Any]] = [
    {"name": "storage", "processClass": "storage", "replicas": 5, "storage": {"size": "20Gi"}},
    {"name": "log", "processClass": "log", "replicas": 4, "storage": {"size": "10Gi"}},
    {"name": "stateless", "processClass": "stateless", "replicas": 3},
]
VERSION = "7.1.57"


def cluster(pools: list[dict[str, Any]] | None = None, **spec: Any) -> FoundationDBCluster:
    """Return a cluster called ledger, in which 7.1.57 is deployed."""
    body = {"version": VERSION, "pools": POOLS if pools is None else pools, **spec}
    head = {"apiVersion": "stateward.dev/v1alpha1", "kind": "FoundationDBCluster", "status": {"version": VERSION}}
    meta = {"name": "ledger", "namespace": "bank", "uid": "0123456789ab"}
    return msgspec.convert({**head, "metadata": meta, "spec": body}, FoundationDBCluster)


def wanted(of: FoundationDBCluster) -> Desired:
    """Return its desired state, with agents in the pods."""
    return replace(desired(of), agent="1.0.0", paused=False)


def member(pool: Pool, ordinal: int, *, agents: bool) -> Member:
    """Return a member that serves, on a node of its own."""
    name = f"ledger-{pool.name}-{ordinal}"
    claim = None
    if not pool.ephemeral:
        claim = Claim(Ref(f"data-{name}", f"v-{name}", "1"), pool.volume_size, pool.volume_size, "", expandable=True)
    pod = Pod(
        Ref(f"{name}-0", f"p-{name}", "1"),
        pool.held_inputs,
        VERSION,
        START - 86400.0,
        ready=True,
        running=True,
        served=True,
        node=f"n-{pool.name}-{ordinal}",
        zone="abc"[ordinal % 3],
        claims=claim is not None,
        agent=agents,
        agent_version="1.0.0" if agents else "",
        revision=1,
    )
    ref, inputs = Ref(name, f"s-{name}", "1"), pool.held_inputs
    workload = Workload(ref, inputs, VERSION, 1, observed=True, agent=pod.agent_version)
    return Member(name, pool.name, ordinal, workload, pod, claim, pool.held_inputs)


def record(of: Member) -> Record:
    """Return what the status remembers of a member."""
    return Record(VERSION, of.claim.ref.uid if of.claim else "", of.pod.zone if of.pod else "")


JOBS = (("master", "cluster_controller"), ("commit_proxy", "grv_proxy", "resolver"), ("ratekeeper", "data_distributor"))
"""The roles of the three stateless members."""


@cache
def running(copies: str = "double", stored: int = GIB, *, agents: bool = True) -> Observation:
    """Return the cluster with nothing to do; each storage member keeps some bytes."""
    of = wanted(cluster(redundancy=copies))
    of = replace(of, template_revision=1)
    members = tuple(member(pool, i, agents=agents) for pool in of.pools for i in range(pool.replicas))
    roles = dict[str, frozenset[str]]()
    for each in members:
        kind, i = each.pool, each.ordinal
        own = {"storage"} if kind == "storage" else {"log"} if kind == "log" and i < 3 else set[str]()
        roles[each.name] = frozenset(own)
    roles |= {f"ledger-stateless-{i}": frozenset(jobs) for i, jobs in enumerate(JOBS)}
    count = {"single": 1, "double": 3, "triple": 5}[copies]
    voters = frozenset(f"ledger-storage-{i}" for i in range(count))
    nodes = {
        m.name: Node(
            m.name,
            VERSION,
            data=True,
            voting=m.name in voters,
            disk_total=parse_bytes("20Gi"),
            disk_free=parse_bytes("15Gi"),
            duties=Duties(m.pool, m.pod.node if m.pod else "", roles[m.name], stored if m.pool == "storage" else 0),
        )
        for m in members
    }
    database = Database(
        "bank_ledger_01234567", Health.GREEN, nodes, voters=voters, redundancy=copies, tolerance=1, connection="x"
    )
    return Observation(
        "ledger",
        "bank",
        "0123456789ab",
        1,
        of,
        members,
        database,
        deployed_version=VERSION,
        records={m.name: record(m) for m in members},
        bootstrap=Bootstrap("", "", formed=True),
        live=True,
    )


class Watched(samples.Watched):
    """A run of an edited cluster, and what the planner saw and did in it."""

    def __init__(
        self,
        edited: FoundationDBCluster,
        of: Fault | None = None,
        start: Observation | None = None,
        durations: Durations = USUAL,
    ) -> None:
        before = start or running(edited.spec.redundancy.value)
        changed = replace(before, desired=replace(wanted(edited), template_revision=1))
        super().__init__(changed, of, durations, FoundationRules(edited))
