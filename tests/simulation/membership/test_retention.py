"""Volumes of a deleted cluster: their retention follows its last spec, and a cluster forms again on kept ones."""

import asyncio
from typing import Any

import pytest

from stateward.api.values import names
from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions
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


async def rewritten(scenario: Scenario) -> None:
    """Replace all claims by claims that a user has written for the same volumes, as after the loss of all objects."""
    world = scenario.world
    before = [claim for claim in world.store.all(CLAIMS) if names.LABEL_CLUSTER in claim.labels]
    disks = {claim.key: world.databases.disks.pop(claim.uid) for claim in before}
    for claim in before:
        world.server.delete(CLAIMS, claim.key, DeleteOptions(Preconditions(claim.uid)))
    assert await scenario.until(lambda: not scenario.uids(CLAIMS))
    for claim in before:
        labels = {name: value for name, value in claim.labels.items() if name.startswith("stateward.dev/")}
        spec = {name: value for name, value in claim.doc["spec"].items() if name != "volumeName"}
        body = {"metadata": {"name": claim.key.name, "labels": labels}, "spec": spec}
        written = world.server.create(CLAIMS, claim.key.namespace, body, "kubectl")
        world.databases.disks[written.uid] = disks[claim.key]


async def test_a_cluster_forms_again_on_claims_that_a_user_has_written_for_its_volumes() -> None:
    """As docs/disaster-recovery.md describes it for the loss of Kubernetes itself."""
    with Scenario(managers(3), hot(2)).logged() as scenario:
        await scenario.begin()
        before, documents = scenario.database, sum(shard.acknowledged for shard in scenario.database.shards)
        scenario.user.delete()
        assert await scenario.until(lambda: not scenario.uids(PODS))
        await rewritten(scenario)
        scenario.user.create()
        await scenario.settle()
        assert scenario.database is before
        assert sum(shard.acknowledged for shard in scenario.database.shards) >= documents
