"""The webhook asks the API server about all pods of a spec, and refuses what the change makes wrong, in its words."""

from contextlib import AsyncExitStack
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search import OpenSearchCluster
from stateward.kube.cache.reflector import ReflectorOptions
from stateward.operator.admission.judge import Verdict
from stateward.simulation.cluster.deployments import DEPLOYMENTS
from stateward.simulation.cluster.statefulsets import SETS
from tests.support.requests import refuse, unknown_field
from tests.unit.operator.test_process import Written, api, operator
from tests.unit.operator.test_standby import running

__all__ = ["api"]
BOGUS = {"podTemplate": {"spec": {"bogus": 1}}}


def cluster(**spec: Any) -> OpenSearchCluster:
    meta = {"name": "logs", "namespace": "data", "uid": "u"}
    whole = {"version": "2.19.5", "pools": [{"name": "all", "replicas": 3}], **spec}
    return msgspec.convert({"metadata": meta, "spec": whole}, OpenSearchCluster)


async def judged(api: Written, new: OpenSearchCluster, old: OpenSearchCluster | None = None) -> Verdict:
    """Return the verdict of a process that stands by, with its caches filled."""
    one = operator(api)
    async with AsyncExitStack() as stack:
        for controller in one.controllers.values():
            for reflector in (*one.objects.reflectors(api, ReflectorOptions()), *controller.reflectors):
                await stack.enter_async_context(running(reflector.run()))
            await controller.caches.wait_synced()
        return await one.judge(new, old)


@pytest.mark.parametrize("block", ["dashboards", "metrics"])
async def test_pods_beside_a_cluster_that_the_server_refuses_are_refused_in_its_words(
    api: Written, monkeypatch: pytest.MonkeyPatch, block: str
) -> None:
    refuse(monkeypatch, unknown_field(DEPLOYMENTS))
    before = api.writes
    found = await judged(api, cluster(**{block: BOGUS}))
    assert found.refused == (f"spec.{block}.podTemplate.spec.bogus: the API server says: unknown field",)
    good = await judged(api, cluster(**{block: {"podTemplate": {"spec": {"priorityClassName": "high"}}}}))
    assert good.refused == ()
    assert api.writes == before, "a dry run stores nothing"


async def test_a_change_that_adds_no_fault_beside_the_cluster_comes_in(
    api: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, unknown_field(DEPLOYMENTS))
    old = cluster(metrics=BOGUS)
    assert (await judged(api, cluster(metrics=BOGUS, version="2.19.6"), old)).refused == ()
    both = await judged(api, cluster(metrics=BOGUS, dashboards=BOGUS), old)
    assert [text.partition(":")[0] for text in both.refused] == ["spec.dashboards.podTemplate.spec.bogus"]


async def test_what_the_server_did_not_accept_before_does_not_block_the_correction_of_another_fault(
    api: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server is asked nothing about an invalid spec, so what it says after the correction may be as old."""
    refuse(monkeypatch, unknown_field(SETS))
    both = cluster(**BOGUS, update={"order": ["missing"]})
    assert (await judged(api, cluster(**BOGUS), both)).refused == ()
    assert (await judged(api, cluster(**BOGUS), cluster())).refused


async def test_what_the_server_did_not_accept_of_a_pool_is_known_again_when_another_pool_goes(
    api: Written, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse(monkeypatch, unknown_field(SETS))
    first, second, third = ({"name": name, "replicas": 3} for name in ("all", "cold", "hot"))
    old = cluster(pools=[first, second, {**third, **BOGUS}])
    assert (await judged(api, cluster(pools=[first, {**third, **BOGUS}]), old)).refused == ()
