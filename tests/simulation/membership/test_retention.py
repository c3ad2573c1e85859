"""The retention of volumes of a deleted cluster follows its last spec, not its first one."""

import asyncio
from typing import Any

import pytest

from stateward.api.values import names
from stateward.kube.client.client import PatchKind
from stateward.simulation.apiserver.store import Event
from tests.simulation.scenario import CLAIMS, PODS, Scenario, hot, managers

pytestmark = pytest.mark.simulation
KEEP, GO = {"whenDeleted": "Retain"}, {"whenDeleted": "Delete"}


def owned(scenario: Scenario) -> set[bool]:
    """Return whether claims of the cluster have an owner."""
    claims = [s for s in scenario.world.store.all(CLAIMS) if names.LABEL_CLUSTER in s.labels]
    return {bool(s.meta.get("ownerReferences")) for s in claims}


def ready(scenario: Scenario) -> bool:
    """Return whether the status says that the newest spec is carried out."""
    resource = scenario.world.resource()
    assert resource is not None
    condition = next(c for c in scenario.status["conditions"] if c["type"] == "Ready")
    return condition["status"] == "True" and scenario.status["observedGeneration"] == resource.meta["generation"]


async def changed(scenario: Scenario, volumes: dict[str, Any]) -> None:
    """Change what becomes of the volumes, and wait until the operator says that it is done."""
    scenario.edit(volumes=volumes)
    assert await scenario.until(lambda: ready(scenario))


async def test_volumes_are_kept_when_that_was_requested_later_and_their_cluster_is_deleted() -> None:
    with Scenario(managers(1), hot(2), volumes=GO).logged() as scenario:
        await scenario.begin()
        assert owned(scenario) == {True}
        claims, pods = scenario.uids(CLAIMS), scenario.uids(PODS)
        await changed(scenario, KEEP)
        assert owned(scenario) == {False}
        assert scenario.uids(PODS) == pods
        scenario.user.delete()
        await asyncio.sleep(120.0)
        assert scenario.uids(CLAIMS) == claims


async def test_volumes_are_deleted_when_that_was_requested_later_and_their_cluster_is_deleted() -> None:
    with Scenario(managers(1), hot(2)).logged() as scenario:
        await scenario.begin()
        assert owned(scenario) == {False}
        await changed(scenario, GO)
        assert owned(scenario) == {True}
        scenario.user.delete()
        await asyncio.sleep(120.0)
        assert not scenario.uids(CLAIMS)


async def test_an_old_cache_does_not_undo_that_volumes_are_kept() -> None:
    """The operator still sees the old spec, and already sees claims that the cluster does not own any more."""
    with Scenario(managers(1), hot(2), volumes=GO).logged() as scenario:
        await scenario.begin()
        scenario.process.lags["stateward.dev/osclusters"] = 60.0
        scenario.edit(volumes=KEEP)
        for claim in scenario.world.store.all(CLAIMS):
            scenario.world.server.patch(CLAIMS, claim.key, {"metadata": {"ownerReferences": []}}, PatchKind.MERGE)
        seen: list[bool] = []

        def look(kind: str, _: Event) -> None:
            if kind == CLAIMS:
                seen.append(True in owned(scenario))

        scenario.world.store.subscribers.append(look)
        await scenario.settle()
        assert not any(seen)
