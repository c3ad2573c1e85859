"""The desired state is cached while its inputs are unchanged, and no longer."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.kinds.status import BootstrapStatus, ClusterStatus
from stateward.engines import opensearch
from stateward.kube.objects.metadata import Key
from stateward.operator.databases.engine import OpenSearchFamily
from stateward.operator.observe.desired_state import DesiredStates
from stateward.planning.model.observation import Desired

POOL = {"name": "all", "replicas": 3, "roles": ["cluster_manager", "data"], "storage": {"size": "2Gi"}}


class Family(OpenSearchFamily):
    """A family that counts how often it is asked."""

    def __init__(self) -> None:
        super().__init__(opensearch.driver(None))  # pyright: ignore[reportArgumentType] - nobody is asked here
        self.asked = 0

    def desired(self, cluster: Cluster) -> Desired:
        self.asked += 1
        return super().desired(cluster)


@pytest.fixture
def family() -> Family:
    return Family()


def cluster(status: ClusterStatus | None = None, seen: str = "7", **spec: Any) -> OpenSearchCluster:
    metadata = {"name": "logs", "namespace": "data", "uid": "u", "resourceVersion": seen}
    body = {"metadata": metadata, "spec": {"version": "2.17.1", "pools": [POOL], **spec}}
    return msgspec.structs.replace(msgspec.convert(body, OpenSearchCluster), status=status or ClusterStatus())


async def test_a_status_update_causes_no_reconciliation(family: Family) -> None:
    wanted = DesiredStates(family)
    first = await wanted.desired(cluster())
    told = ClusterStatus(activity="logs-all-0 restarts", ready="2/3", observed_generation=3)
    assert await wanted.desired(cluster(told, seen="8")) is first
    assert family.asked == 1


@pytest.mark.parametrize(
    "changes",
    [
        {"version": "2.18.0"},
        {"config": {"a": 1}},
        {"config": {"a": True}},
        {"config": {"a": 1.0}},
        {"config": {"a": "1"}},
        {"update": {"paused": True}},
        {"pools": [{**POOL, "replicas": 4}]},
    ],
)
async def test_a_change_of_the_spec_is_seen_at_once(family: Family, changes: dict[str, Any]) -> None:
    wanted = DesiredStates(family)
    await wanted.desired(cluster())
    await wanted.desired(cluster(**changes))
    assert family.asked == 2


async def test_one_and_true_are_equal_in_python_and_not_the_same_setting(family: Family) -> None:
    wanted = DesiredStates(family)
    numbers, truth = [(await wanted.desired(cluster(config={"a": value}))).pools[0].inputs for value in (1, True)]
    assert numbers != truth


async def test_a_spec_that_makes_no_sense_asks_for_nothing_until_it_does_again(family: Family) -> None:
    wanted = DesiredStates(family)
    refused = await wanted.desired(cluster(pools=[POOL, POOL]))
    assert not refused.pools
    assert refused.refusals
    assert (await wanted.desired(cluster())).pools


async def test_a_cluster_that_is_gone_is_forgotten(family: Family) -> None:
    wanted = DesiredStates(family)
    await wanted.desired(cluster())
    wanted.forget(Key("data", "logs"))
    await wanted.desired(cluster())
    assert family.asked == 2


@given(
    version=st.sampled_from(["", "2.17.1", "2.18.0"]),
    identity=st.sampled_from(["", "uuid-1"]),
    grant=st.sampled_from([None, BootstrapStatus(member="logs-all-0", volume="v", formed=True)]),
    doing=st.text(max_size=5),
    asked=st.sampled_from(["2.17.1", "2.18.0", "1.0.0"]),
)
async def test_it_is_what_the_driver_says_of_the_healthy_cluster(
    version: str, identity: str, grant: BootstrapStatus | None, doing: str, asked: str
) -> None:
    status = ClusterStatus(version=version, cluster_uuid=identity, bootstrap=grant, activity=doing)
    whole = msgspec.structs.replace(cluster(version=asked), status=status)
    assert await DesiredStates(Family()).desired(whole) == Family().desired(whole)


async def test_a_spec_with_many_problems_has_few_refusals(family: Family) -> None:
    """Each became a wait in the status: a megabyte of wrong keys made a status of many, in each round."""
    wanted = DesiredStates(family)
    refusals = (await wanted.desired(cluster(config={f"path.data.{i}": 1 for i in range(5000)}))).refusals
    assert len(refusals) == 21
    assert refusals[-1].message.startswith("spec: there are 4980 more problems")
    many = {f"path.data.{'k' * 200}{i}": ["x" * 900] for i in range(9)}
    long = (await wanted.desired(cluster(config=many))).refusals
    assert all(len(each.message) < 1100 for each in long)
