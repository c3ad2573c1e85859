"""Members that stay away are replaced on other machines, and do no harm when their machine comes back."""

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from tests.e2e.clusters import Clusters, pool, settled
from tests.e2e.operators import OperatorPods
from tests.e2e.witness import Writer

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.images("opensearch:2.19.5")]

VERSION = "2.19.5"


def nodes(replicas: int = 3) -> list[dict[str, object]]:
    return [pool("nodes", replicas, "cluster_manager", "data", "ingest")]


def phase(cluster: Cluster, member: str) -> str:
    return next((entry.phase for entry in cluster.status.pending_removals if entry.name == member), "")


def ready(cluster: Cluster) -> set[str]:
    return {m.name for m in cluster.status.member_states if m.state == "Ready"}


@contextmanager
def away(sandbox: Sandbox, machine: str) -> Generator[None]:
    """Stop a machine with everything that runs on it, and start it again."""
    sandbox.node_stop(machine, with_containers=True)
    try:
        yield
    finally:
        sandbox.node_start(machine)
        sandbox.wait_node(machine, ready=True)


async def test_the_member_of_a_machine_that_stays_away_is_replaced_and_its_old_pod_does_no_harm(
    clusters: Clusters, operator: OperatorPods, stateward: Sandbox
) -> None:
    await clusters.apply("failed", version=VERSION, pools=nodes(), replacement={"enabled": True, "after": "60s"})
    await clusters.until("failed", settled, seconds=600)
    await clusters.database("failed").create_index("docs")
    spared = {pod.spec.node_name for pod in await operator.pods()}
    pods = await clusters.pods("failed")
    member, machine = next((n, p.spec.node_name) for n, p in sorted(pods.items()) if p.spec.node_name not in spared)
    await clusters.until("failed", lambda c: c.status.health == "green" and settled(c))
    await clusters.database("failed").ask("_cluster/health?wait_for_status=green&timeout=30s")
    with away(stateward, machine):
        async with Writer(clusters.database("failed"), "docs") as writer:
            await clusters.until("failed", lambda c: phase(c, member) != "", seconds=300)
            whole = await clusters.until(
                "failed", lambda c: phase(c, member) == "Terminating" and settled(c), seconds=600
            )
        assert whole.status.health == "green"
        assert ready(whole) == {"failed-nodes-0", "failed-nodes-1", "failed-nodes-2", "failed-nodes-3"} - {member}
        assert await writer.missing() == set()
    await clusters.until("failed", lambda c: phase(c, member) == "VolumeKept" and settled(c), seconds=300)
    assert member not in await clusters.database("failed").versions()
    assert member not in await clusters.pods("failed")
    assert not (left := await clusters.database("failed").left_behind()), left
    assert await writer.missing() == set()


async def test_a_replacement_by_name_is_reverted_in_flight(clusters: Clusters) -> None:
    await clusters.apply("kept", version=VERSION, pools=nodes())
    await clusters.until("kept", settled, seconds=600)
    database = clusters.database("kept")
    await database.create_index("docs")
    # What may be nowhere else keeps the replacement in flight until it is taken back.
    pinned = {"number_of_replicas": 0, "routing.allocation.require._name": "kept-nodes-1"}
    await database.ask("pinned", "PUT", {"settings": {"index": pinned}})
    async with Writer(database, "docs") as writer:
        await clusters.apply("kept", version=VERSION, pools=nodes(), members={"replace": ["kept-nodes-1"]})
        await clusters.until("kept", lambda c: "kept-nodes-3" in ready(c) and phase(c, "kept-nodes-1") == "Draining")
        await clusters.apply("kept", version=VERSION, pools=nodes(), members={"keep": ["kept-nodes-1"]})
        kept = await clusters.until("kept", settled, seconds=300)
    assert ready(kept) == {"kept-nodes-0", "kept-nodes-1", "kept-nodes-2"}
    assert kept.status.pending_removals == []
    assert await writer.missing() == set()
    assert not (left := await database.left_behind()), left
