"""With --network-policies the ports of members are closed to all but their callers, and the operator works."""

from collections.abc import Iterator
from typing import Any

import pytest

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from tests.e2e.callers import Callers
from tests.e2e.clusters import Clusters, pool, settled
from tests.e2e.operators import CHART, kubectl, with_argument

pytestmark = [pytest.mark.e2e, pytest.mark.full, pytest.mark.images("opensearch:2.19.5")]

VERSION = "2.19.5"
HTTP, TRANSPORT, AGENT, PROBES = 9200, 9300, 9443, 9444
PORTS = [HTTP, TRANSPORT, AGENT, PROBES]
POLICY = CHART / "network/network-policy.yaml"
OUTSIDE = {"ipBlock": {"cidr": "10.250.0.0/24"}}
"""The tests themselves: the API server's proxy is no pod."""


@pytest.fixture
def closed(stateward: Sandbox) -> Iterator[Sandbox]:
    """The operator with network policies, for the clusters and for itself."""
    kubectl(stateward, "apply", "-f", "-", stdin=POLICY.read_text())
    try:
        with with_argument(stateward, "--network-policies"):
            yield stateward
    finally:
        kubectl(stateward, "delete", "-f", "-", stdin=POLICY.read_text())


def members(**config: Any) -> list[dict[str, Any]]:
    return [pool("nodes", 3, "cluster_manager", "data", config=config)]


def said_to_have_no_effect(cluster: Cluster) -> bool:
    return any(wait.reason == "NetworkPoliciesOff" for wait in cluster.status.waiting)


async def test_members_are_reached_by_their_callers_only(clusters: Clusters, closed: Sandbox) -> None:
    key = Key(clusters.namespace, "shut-members")
    await clusters.apply("shut", version=VERSION, pools=members())
    await clusters.until("shut", settled, seconds=600)
    address = (await clusters.pods("shut"))["shut-nodes-0"].status.pod_ip
    callers = Callers(closed, clusters.namespace)
    for name in ("web", "stranger"):
        callers.start(name)
        callers.until(name, address, PORTS, [HTTP])
    await clusters.database("shut").create_index("kept")

    shut = {"clients": [{"podSelector": {"matchLabels": {"app": "web"}}}, OUTSIDE]}
    await clusters.apply("shut", version=VERSION, pools=members(), networkPolicy=shut)
    callers.until("stranger", address, PORTS, [])
    callers.until("web", address, PORTS, [HTTP])

    # Members, their agents and the operator reach each other: a change restarts all processes in their pods.
    before = {name: pod.metadata.uid for name, pod in (await clusters.pods("shut")).items()}
    changed = members(**{"indices.recovery.max_bytes_per_sec": "41mb"})
    await clusters.apply("shut", version=VERSION, pools=changed, networkPolicy=shut)
    await clusters.until("shut", settled, seconds=600)
    assert {name: pod.metadata.uid for name, pod in (await clusters.pods("shut")).items()} == before
    whole = await clusters.database("shut").ask("_cluster/health?wait_for_status=green&timeout=60s")
    assert whole["status"] == "green"
    assert (await clusters.api.get(kinds.NETWORK_POLICIES, key)).metadata.name == key.name


async def test_an_operator_that_makes_none_removes_them_and_says_that_the_field_has_no_effect(
    clusters: Clusters, stateward: Sandbox
) -> None:
    await clusters.apply("open", version=VERSION, pools=members(), networkPolicy={"clients": []})
    await clusters.until("open", said_to_have_no_effect, seconds=60)
    with pytest.raises(NotFound):
        await clusters.api.get(kinds.NETWORK_POLICIES, Key(clusters.namespace, "open-members"))
