"""What the operator believes about disruption budgets, on a real API server with its disruption controller.

Each member has a StatefulSet of one replica, as in a cluster. The test plays the kubelet.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import pytest

from stateward.kube.client.client import Api, ApplyOptions, DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects.errors import NotFound, TooManyRequests
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.resources import BUDGETS, PODS, STATEFUL_SETS
from stateward.kube.objects.workloads import BudgetStatus
from tests.integration.api_server import PATIENCE, own_namespace

pytestmark = pytest.mark.integration

MEMBERS = ("logs-hot-0", "logs-hot-1", "logs-hot-2")
QUOTAS: Resource[dict[str, Any]] = Resource("", "v1", "resourcequotas", "ResourceQuota", dict[str, Any])
SELECTOR = {"matchLabels": {"app": "logs"}}


class Members:
    """Three members whose pods are ready, and a budget for them."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api, self.namespace = api, namespace

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    async def create(self) -> None:
        for name in MEMBERS:
            labels = {"app": "logs", "member": name}
            pod = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "db", "image": "db"}]}}
            spec = {"replicas": 1, "serviceName": "logs", "selector": {"matchLabels": labels}, "template": pod}
            await self.api.create(
                STATEFUL_SETS.raw(), {"metadata": {"name": name}, "spec": spec}, namespace=self.namespace
            )
        for name in MEMBERS:
            await self.until(lambda pod: pod is not None, name)
            ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
            await self.api.patch(
                PODS, self.key(f"{name}-0"), {"status": ready}, kind=PatchKind.MERGE, subresource="status"
            )

    async def pod(self, name: str) -> Any:
        try:
            return await self.api.get(PODS, self.key(f"{name}-0"))
        except NotFound:
            return None

    async def until(self, holds: Callable[[Any], bool], name: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds(await self.pod(name)):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)

    async def lose(self, *names: str) -> None:
        """Let the pods of members go, and none be created again."""
        quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
        await self.api.create(QUOTAS, quota, namespace=self.namespace)
        deadline = time.monotonic() + PATIENCE
        while "hard" not in (await self.api.get(QUOTAS, self.key("none"))).get("status", {}):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)
        for name in names:
            uid = (await self.pod(name)).metadata.uid
            await self.api.delete(PODS, self.key(f"{name}-0"), DeleteOptions(Preconditions(uid), grace_seconds=0))
            await self.until(lambda pod: pod is None, name)

    async def budget(self, **limit: int) -> dict[str, Any]:
        body = {"metadata": {"name": "logs"}, "spec": {"selector": SELECTOR, **limit}}
        head = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget"}
        options = ApplyOptions("stateward", force=True)
        return await self.api.apply(BUDGETS.raw(), self.key("logs"), head | body, options)

    async def observed(self) -> BudgetStatus:
        """Return the budget's status once the disruption controller has seen its spec."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found = await self.api.get(BUDGETS, self.key("logs"))
            if found.status.observed_generation == found.metadata.generation:
                return found.status
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)

    async def allows(self, number: int) -> None:
        """Wait until the budget allows so many disruptions."""
        deadline = time.monotonic() + PATIENCE
        while (await self.observed()).disruptions_allowed != number:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)

    async def evict(self, name: str) -> None:
        # Not its version: the scheduler writes the status of a pod without a node now and then.
        uid = (await self.pod(name)).metadata.uid
        await self.api.evict(self.key(f"{name}-0"), DeleteOptions(Preconditions(uid), dry_run=True))


@pytest.fixture
async def members(control_plane: Path) -> AsyncGenerator[Members]:
    async with own_namespace(control_plane, "budgets") as (api, namespace):
        made = Members(api, namespace)
        await made.create()
        yield made


async def test_of_the_unavailable_only_pods_that_exist_count_and_of_the_available_all(members: Members) -> None:
    await members.budget(maxUnavailable=1)
    await members.allows(1)
    await members.lose("logs-hot-1", "logs-hot-2")
    await members.allows(1)
    await members.evict("logs-hot-0")
    await members.budget(minAvailable=2)
    await members.allows(0)
    with pytest.raises(TooManyRequests):
        await members.evict("logs-hot-0")


async def test_no_eviction_is_allowed_once_a_tighter_budget_is_written(members: Members) -> None:
    """The API server refuses evictions until the disruption controller has seen the newest spec."""
    for _ in range(5):
        await members.budget(minAvailable=2)
        await members.allows(1)
        await members.evict("logs-hot-0")
        await members.budget(minAvailable=3)
        with pytest.raises(TooManyRequests):
            await members.evict("logs-hot-0")


async def test_a_budget_of_an_earlier_version_of_the_operator_is_changed_by_one_apply(members: Members) -> None:
    await members.budget(maxUnavailable=1)
    assert (await members.budget(minAvailable=2))["spec"] == {"minAvailable": 2, "selector": SELECTOR}
