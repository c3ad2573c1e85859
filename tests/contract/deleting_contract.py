"""The contract of `Api`, deleting: checked against the real API server and against simulated ones.

A suite subclasses it and offers a fixture `world`. Each test works in a namespace of its own.
"""

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from stateward.kube.client.client import DeleteOptions, PatchKind, Preconditions, Propagation
from stateward.kube.objects.errors import AlreadyExists, Conflict, Invalid, NotFound, TooManyRequests
from stateward.kube.objects.metadata import PartialObject
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.resources import BUDGETS, CONFIG_MAPS, PODS
from tests.contract.world import World
from tests.contract.writing_contract import merge

MISSING_KIND = Resource("nothing.example", "v1", "things", "Thing", PartialObject)


class DeletingContract:
    """Deleting exactly what was meant, finalizers, grace, garbage collection and eviction."""

    async def test_an_object_that_nothing_holds_is_gone_at_once(self, world: World) -> None:
        made = await world.config_map("one")
        assert await world.delete(CONFIG_MAPS, made) is None
        with pytest.raises(NotFound):
            await world.delete(CONFIG_MAPS, made)

    async def test_another_uid_is_not_deleted(self, world: World) -> None:
        before = await world.config_map("one")
        await world.delete(CONFIG_MAPS, before)
        successor = await world.config_map("one")
        with pytest.raises(Conflict):
            await world.api.delete(CONFIG_MAPS, world.key("one"), DeleteOptions(Preconditions(before.metadata.uid)))
        assert await world.api.get(CONFIG_MAPS, world.key("one")) == successor

    async def test_another_version_is_not_deleted(self, world: World) -> None:
        made = await world.config_map("one")
        changed = await merge(world, "one", {"data": {"a": "2"}})
        with pytest.raises(Conflict):
            await world.delete(CONFIG_MAPS, made)
        assert await world.delete(CONFIG_MAPS, changed) is None

    async def test_a_finalizer_holds_a_deleted_object_until_it_is_removed(self, world: World) -> None:
        made = await world.config_map("one", finalizers=["stateward.dev/contract"])
        held = await world.delete(CONFIG_MAPS, made)
        assert held.metadata.terminating
        assert held.metadata.uid == made.metadata.uid
        assert int(held.metadata.resource_version) > int(made.metadata.resource_version)
        with pytest.raises(AlreadyExists):
            await world.config_map("one")
        await merge(world, "one", {"metadata": {"finalizers": None}})
        with pytest.raises(NotFound):
            await world.api.get(CONFIG_MAPS, world.key("one"))

    async def test_no_finalizer_is_added_to_what_is_being_deleted(self, world: World) -> None:
        made = await world.config_map("one", finalizers=["stateward.dev/contract"])
        await world.delete(CONFIG_MAPS, made)
        more = {"metadata": {"finalizers": ["stateward.dev/contract", "stateward.dev/other"]}}
        with pytest.raises(Invalid):
            await merge(world, "one", more)
        await merge(world, "one", {"metadata": {"finalizers": None}})

    async def test_a_pod_that_several_clients_delete_at_once_is_returned_only_with_a_version(
        self, world: World
    ) -> None:
        """The watch never reports an empty version: an operator that waited for it would wait without a limit."""
        for number in range(20):
            pod = await world.pod(f"pod-{number}")
            deleting = (world.delete(PODS, pod) for _ in range(4))
            answers = await asyncio.gather(*deleting, return_exceptions=True)
            assert all(isinstance(each, Pod | NotFound | Conflict | None) for each in answers)
            assert all(each.metadata.resource_version for each in answers if isinstance(each, Pod))

    async def test_a_pod_on_a_node_stays_terminating_until_its_kubelet_confirms_its_end(self, world: World) -> None:
        pod = await world.pod_on_lost_node("pod")
        held = await world.delete(PODS, pod)
        assert held.metadata.terminating
        assert held.metadata.deletion_grace_period_seconds == 30
        again = DeleteOptions(Preconditions(pod.metadata.uid), grace_seconds=0)
        await world.api.delete(PODS, world.key("pod"), again)
        with pytest.raises(NotFound):
            await world.api.get(PODS, world.key("pod"))

    async def test_the_grace_can_be_shortened_but_not_prolonged(self, world: World) -> None:
        pod = await world.pod_on_lost_node("pod")
        for asked, granted in ((20, 20), (25, 20), (10, 10)):
            options = DeleteOptions(Preconditions(pod.metadata.uid), grace_seconds=asked)
            held = await world.api.delete(PODS, world.key("pod"), options)
            assert held is not None
            assert held.metadata.deletion_grace_period_seconds == granted

    async def test_what_is_owned_goes_after_its_owner(self, world: World) -> None:
        owner = await world.config_map("owner")
        await world.config_map("owned", ownerReferences=[owned_by(owner)])
        await world.delete(CONFIG_MAPS, owner)
        await world.eventually(lambda: gone(world, "owned"))

    async def test_what_gets_an_owner_that_is_gone_goes(self, world: World) -> None:
        owner, living = await world.config_map("owner"), await world.config_map("living")
        await world.config_map("owned", ownerReferences=[owned_by(living)])
        await world.delete(CONFIG_MAPS, owner)
        await world.eventually(lambda: gone(world, "owner"))
        change = {"metadata": {"ownerReferences": [owned_by(owner)]}}
        await world.api.patch(CONFIG_MAPS, world.key("owned"), change, kind=PatchKind.MERGE)
        await world.eventually(lambda: gone(world, "owned"))

    async def test_what_is_orphaned_stays(self, world: World) -> None:
        owner = await world.config_map("owner")
        await world.config_map("owned", ownerReferences=[owned_by(owner)])
        options = DeleteOptions(Preconditions(owner.metadata.uid), Propagation.ORPHAN)
        await world.api.delete(CONFIG_MAPS, world.key("owner"), options)
        await world.eventually(lambda: gone(world, "owner"))
        orphan = await world.api.get(CONFIG_MAPS, world.key("owned"))
        assert orphan.metadata.owner_references == ()

    async def test_a_dry_run_deletes_nothing(self, world: World) -> None:
        made = await world.config_map("one")
        options = DeleteOptions(Preconditions.of(made), dry_run=True)
        await world.api.delete(CONFIG_MAPS, world.key("one"), options)
        assert await world.api.get(CONFIG_MAPS, world.key("one")) == made

    async def test_an_eviction_asks_the_budget(self, world: World) -> None:
        pod = await world.pod_on_lost_node("pod", labels={"app": "guarded"})
        ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
        await world.api.patch(PODS, world.key("pod"), ready, kind=PatchKind.MERGE, subresource="status")
        spec = {"maxUnavailable": 0, "selector": {"matchLabels": {"app": "guarded"}}}
        await world.api.create(BUDGETS, world.manifest(BUDGETS, "budget", spec=spec), namespace=world.namespace)
        options = DeleteOptions(Preconditions(pod.metadata.uid))
        with pytest.raises(TooManyRequests):
            await world.api.evict(world.key("pod"), options)
        assert not (await world.api.get(PODS, world.key("pod"))).metadata.terminating
        budget = await world.api.get(BUDGETS, world.key("budget"))
        # By UID only: its controller may write its status at any moment.
        await world.api.delete(BUDGETS, world.key("budget"), DeleteOptions(Preconditions(budget.metadata.uid)))
        await world.api.evict(world.key("pod"), options)
        assert (await world.api.get(PODS, world.key("pod"))).metadata.terminating


def owned_by(owner: PartialObject) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": owner.metadata.name, "uid": owner.metadata.uid}


async def gone(world: World, name: str) -> bool:
    with suppress(NotFound):
        await world.api.get(CONFIG_MAPS, world.key(name))
        return False
    return True
