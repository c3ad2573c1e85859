"""Clusters of every size, spread as a database spreads its shards, for roll-outs on them."""

import random

import msgspec

from stateward.api.kinds.search import OpenSearchCluster
from stateward.engines import opensearch
from stateward.planning.model import observation as o

MANAGERS = 3
OLD, NEW = "2.17.1", "2.19.5"
COPIES = 20
"""Copies that each data member holds."""
NOW = 1.7e9


class Topology(msgspec.Struct, frozen=True):
    """A cluster: all its members, three managers among them, copies of each shard, and zones."""

    members: int
    replicas: int
    zones: int
    at_once: int | None = None
    """`maxUnavailable`; None is without limit."""


def observation(topology: Topology, seed: int = 1) -> o.Observation:
    """Return the cluster just after another version was asked for."""
    held, wanted = desired(topology, OLD), desired(topology, NEW)
    members = tuple(member(pool, number, topology.zones) for pool in held.pools for number in range(pool.replicas))
    nodes = {m.name: o.Node(m.name, OLD, m.pool == "hot", m.pool == "managers", 1 << 40, 1 << 39) for m in members}
    voters = frozenset(m.name for m in members if m.pool == "managers")
    database = o.Database("x", o.Health.GREEN, nodes, units(topology, members, seed), min(voters), voters)
    return o.Observation(
        name="roll",
        namespace="bench",
        uid="u",
        generation=2,
        desired=wanted,
        members=members,
        database=database,
        deployed_version=OLD,
        records={m.name: o.Record(OLD, f"claim-{m.name}", zone=m.pod.zone if m.pod else "") for m in members},
        bootstrap=o.Bootstrap(min(voters), "", formed=True),
        live=True,
    )


def desired(topology: Topology, version: str) -> o.Desired:
    """Return what is asked for."""
    storage = {"size": "100Gi"}
    pools = [
        {"name": "managers", "replicas": MANAGERS, "roles": ["cluster_manager"], "storage": storage},
        {"name": "hot", "replicas": topology.members - MANAGERS, "roles": ["data"], "storage": storage},
    ]
    limit = "100%" if topology.at_once is None else topology.at_once
    body = {
        "apiVersion": "stateward.dev/v1alpha1",
        "kind": "OpenSearchCluster",
        "metadata": {"name": "roll", "namespace": "bench", "uid": "u", "generation": 2},
        "spec": {"version": version, "pools": pools, "update": {"maxUnavailable": limit}},
        "status": {"version": OLD, "clusterUUID": "x"},
    }
    return opensearch.desired(msgspec.convert(body, OpenSearchCluster))


def member(pool: o.Pool, number: int, zones: int) -> o.Member:
    """Return a member that runs the older version."""
    name = f"roll-{pool.name}-{number}"
    ref, inputs = o.Ref(name, f"uid-{name}", "1"), pool.held_inputs
    zone = f"zone-{number % zones}"
    pod = o.Pod(ref, inputs, OLD, NOW - 9e6, ready=True, running=True, zone=zone, claims=True)
    size, ref_of_claim = pool.volume_size, o.Ref(name, f"claim-{name}", "1")
    data = pool.data and not pool.voting
    claim = o.Claim(ref_of_claim, size, size, "", expandable=True, state=pool.voting, data=data, version=OLD)
    workload = o.Workload(ref, inputs, OLD, replicas=1, observed=True)
    return o.Member(name, pool.name, number, workload, pod, claim, inputs)


def units(topology: Topology, members: tuple[o.Member, ...], seed: int) -> tuple[o.Unit, ...]:
    """Return shards whose copies are spread evenly over the members, and over the zones first, otherwise at random."""
    rng = random.Random(seed)  # noqa: S311 - a placement, repeated by its seed
    zones = {m.name: m.pod.zone for m in members if m.pod is not None and m.pool == "hot"}
    load = dict.fromkeys(zones, 0)
    copies = topology.replicas + 1
    found: list[o.Unit] = []
    for number in range(len(zones) * COPIES // copies):
        chosen: list[str] = []
        for _ in range(min(copies, len(zones))):
            used = [zones[name] for name in chosen]
            free = [name for name in zones if name not in chosen]
            chosen.append(min(free, key=lambda n: (used.count(zones[n]), load[n], rng.random())))
            load[chosen[-1]] += 1
        started = tuple(o.Copy(o.CopyState.STARTED, i == 0, name) for i, name in enumerate(chosen))
        found.append(o.Unit(f"logs-{number}[0]", copies, started, size=5 << 30))
    return tuple(found)
