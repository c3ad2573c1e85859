"""Large observations and a pod of the usual size, for measurements of pure code."""

from typing import Any

import msgspec

from stateward.api.kinds.search import OpenSearchCluster
from stateward.engines import opensearch
from stateward.planning.model import observation as o

MANAGERS, DATA, SHARDS = 3, 117, 3_000
VERSION, NEXT = "2.17.1", "2.19.5"
POD_BYTES = 12_000


def cluster(version: str) -> OpenSearchCluster:
    """Return a cluster of 120 members that was deployed with the older version."""
    storage = {"size": "100Gi"}
    pools = [
        {"name": "managers", "replicas": MANAGERS, "roles": ["cluster_manager"], "storage": storage},
        {"name": "hot", "replicas": DATA, "roles": ["data", "ingest"], "storage": storage},
    ]
    body: dict[str, Any] = {
        "apiVersion": "stateward.dev/v1alpha1",
        "kind": "OpenSearchCluster",
        "metadata": {"name": "large", "namespace": "bench", "uid": "u", "generation": 1},
        "spec": {"version": version, "pools": pools},
        "status": {"version": VERSION, "clusterUUID": "x"},
    }
    return msgspec.convert(body, OpenSearchCluster)


def large() -> o.Observation:
    """Return a settled cluster of 120 members with 3,000 shards of two copies."""
    desired = opensearch.desired(cluster(VERSION))
    members = tuple(_member(pool, number) for pool in desired.pools for number in range(pool.replicas))
    names = [member.name for member in members if member.pool == "hot"]
    nodes = {m.name: o.Node(m.name, VERSION, m.pool == "hot", m.pool == "managers", 1 << 40, 1 << 39) for m in members}
    voters = frozenset(member.name for member in members if member.pool == "managers")
    database = o.Database(
        identity="x",
        health=o.Health.GREEN,
        nodes=nodes,
        units=tuple(_unit(number, names) for number in range(SHARDS)),
        leader=min(voters),
        voters=voters,
    )
    return o.Observation(
        name="large",
        namespace="bench",
        uid="u",
        generation=1,
        desired=desired,
        members=members,
        database=database,
        deployed_version=VERSION,
        records={member.name: o.Record(VERSION, f"claim-{member.name}") for member in members},
        bootstrap=o.Bootstrap(min(voters), f"claim-{min(voters)}", formed=True),
        live=True,
    )


def rolling(settled: o.Observation) -> o.Observation:
    """Return the same cluster just after another version was asked for."""
    return msgspec.structs.replace(settled, generation=2, desired=opensearch.desired(cluster(NEXT)))


def _member(pool: o.Pool, number: int) -> o.Member:
    name = f"large-{pool.name}-{number}"
    ref = o.Ref(name, f"uid-{name}", "1")
    inputs = pool.held_inputs
    return o.Member(
        name=name,
        pool=pool.name,
        ordinal=number,
        workload=o.Workload(ref, inputs, VERSION, replicas=1, observed=True),
        pod=o.Pod(
            ref,
            inputs,
            VERSION,
            1.7e9,
            ready=True,
            running=True,
            node=f"n{number}",
            zone=f"z{number % 3}",
            ip="10.0.0.1",
        ),
        claim=o.Claim(
            o.Ref(name, f"claim-{name}", "1"),
            pool.volume_size,
            pool.volume_size,
            "fast",
            expandable=True,
            state=pool.voting,
            data=pool.data and not pool.voting,
            version=VERSION,
        ),
        config=inputs,
    )


def _unit(number: int, names: list[str]) -> o.Unit:
    first, second = names[number % len(names)], names[(number * 7 + 1 + number // len(names)) % len(names)]
    other = second if second != first else names[(number + 1) % len(names)]
    started = o.CopyState.STARTED
    return o.Unit(f"logs-{number}[0]", 2, (o.Copy(started, True, first), o.Copy(started, False, other)), size=1 << 30)


def pod() -> bytes:
    """Return a member's pod as the API server sends it, with the managed fields that make up half of it."""
    source = cluster(VERSION)
    workload = opensearch.member_objects(source, "hot", 0, VERSION).workload
    template = workload["spec"]["template"]
    running = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
    status = {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
            for kind in ("PodScheduled", "Initialized", "ContainersReady", "Ready")
        ],
        "containerStatuses": [{"name": "opensearch", "ready": True, "image": "x", "restartCount": 0, "state": running}],
    }
    metadata = {
        **template["metadata"],
        "name": "large-hot-0-0",
        "namespace": "bench",
        "uid": "6f2c1a52-8a5e-4d0e-9a0b-1f2d3c4b5a69",
        "resourceVersion": "123456",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    }
    whole = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"], "status": status}
    missing = POD_BYTES - len(msgspec.json.encode(whole))
    entry: dict[str, Any] = {"f:spec": {"f:containers": {'k:{"name":"opensearch"}': {".": {}, "f:image": {}}}}}
    entries = max(0, missing) // len(msgspec.json.encode(entry))
    metadata["managedFields"] = [entry] * entries
    return msgspec.json.encode(whole)
