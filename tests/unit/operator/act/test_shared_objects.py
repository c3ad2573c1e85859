"""The shared objects of a cluster: budgets without members are deleted, and nothing else."""

from contextlib import nullcontext
from typing import Any

import msgspec
import pytest

from stateward.api.values import names
from stateward.kube.client.client import DeleteOptions, ListOptions, Page
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import TransportError
from stateward.kube.objects.metadata import Key, T
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.workloads import PodDisruptionBudget
from stateward.kube.timing.clock import SystemClock
from stateward.operator.act.shared_objects import SharedObjects
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.ownership import TakenNames
from stateward.planning.model.observation import Refusal
from stateward.planning.safety.disruption_budget import Budget
from tests.unit.engines.search_clusters import cluster
from tests.unit.kube.memory_api import MemoryApi


class Deletions(MemoryApi):
    """A server that notes what is deleted."""

    def __init__(self) -> None:
        super().__init__(latency=0)
        self.deleted: list[str] = []

    async def delete(self, resource: Resource[Any], key: Key, options: DeleteOptions) -> None:
        self.deleted.append(f"{resource.plural}/{key.name}")

    async def list(self, resource: Resource[T], selection: Selection, options: ListOptions | None = None) -> Page[T]:
        """Return no clusters."""
        return Page((), "1")


class Family:
    """An engine with one disruption budget for each cluster."""

    def cluster_objects(self, existing: ClusterObjects, budgets: object) -> list[dict[str, Any]]:
        return [budget("logs-data")]


class Tight(Family):
    """An engine whose budget is as planned."""

    def cluster_objects(self, existing: ClusterObjects, budgets: Any) -> list[dict[str, Any]]:
        return [{**budget("logs-data"), "spec": {"minAvailable": each.min_available}} for each in budgets]


async def test_a_budget_that_another_client_has_loosened_counts_as_tightened_before_the_cache_shows_it() -> None:
    api, caches = Deletions(), Caches()
    body = {**budget("logs-data", uid="b", resourceVersion="100"), "spec": {"minAvailable": 3}}
    caches.of(kinds.BUDGETS).wrote(msgspec.convert(body, PodDisruptionBudget))
    loose = {**budget("logs-data", uid="b", resourceVersion="101"), "spec": {"minAvailable": 0}}
    api.objects["poddisruptionbudgets", Key("prod", "logs-data")] = loose
    shared, existing = shared_objects(api, caches, Tight()), ClusterObjects(cluster(), (), (), (), (), {}, {})
    assert not await closed(shared, existing, (Budget("data", ("data",), 3, 0),), settled=False)


async def test_a_relaxed_budget_is_not_tightened() -> None:
    api, caches = Deletions(), Caches()
    body = {**budget("logs-data", uid="b", resourceVersion="100"), "spec": {"minAvailable": 3}}
    caches.of(kinds.BUDGETS).wrote(msgspec.convert(body, PodDisruptionBudget))
    api.objects["poddisruptionbudgets", Key("prod", "logs-data")] = body
    shared, existing = shared_objects(api, caches, Tight()), ClusterObjects(cluster(), (), (), (), (), {}, {})
    assert await closed(shared, existing, (Budget("data", ("data",), 3, 1),), settled=True)


async def closed(shared: SharedObjects, *given: Any, **more: Any) -> bool:
    """Return whether a read that begins now shows the budgets closed."""
    return await shared.close(*given, **more, began=SystemClock().monotonic())


def shared_objects(api: Any, caches: Caches, family: Any) -> SharedObjects:
    clock = SystemClock()
    return SharedObjects(api, caches, family, clock, TakenNames(api, clock))


def budget(name: str, **meta: Any) -> dict[str, Any]:
    owner = {"apiVersion": "v1", "kind": "OpenSearchCluster", "name": "logs", "uid": "u-1", "controller": True}
    labels = {names.LABEL_CLUSTER: "logs"}
    metadata = {"name": name, "namespace": "prod", "labels": labels, "ownerReferences": [owner], **meta}
    return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata}


async def test_a_budget_that_is_not_needed_is_deleted_once_and_one_of_another_owner_stays() -> None:
    api, caches = Deletions(), Caches()
    ends = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    other = {"ownerReferences": [{"apiVersion": "v1", "kind": "X", "name": "x", "uid": "other", "controller": True}]}
    for name, meta in {"logs-data": {}, "logs-managers": {}, "logs-old": ends, "foreign": other}.items():
        body = budget(name, uid=name, resourceVersion="1", **meta)
        caches.of(kinds.BUDGETS).wrote(msgspec.convert(body, PodDisruptionBudget))
        api.objects["poddisruptionbudgets", Key("prod", name)] = body
    shared = shared_objects(api, caches, Family())
    await shared.apply(ClusterObjects(cluster(), (), (), (), (), {}, {}), (), settled=True)
    assert api.deleted == ["poddisruptionbudgets/logs-managers"]


async def test_what_was_written_for_a_cluster_is_remembered_until_the_cluster_is_gone() -> None:
    """Clusters come and go for as long as an operator runs."""
    api, caches = MemoryApi(latency=0), Caches()
    shared, existing = shared_objects(api, caches, Family()), ClusterObjects(cluster(), (), (), (), (), {}, {})
    for _ in range(2):
        await shared.apply(existing, (), settled=True)
    assert api.verbs("poddisruptionbudgets").count("apply") == 1
    shared.forget(Key("prod", "logs"))
    await shared.apply(existing, (), settled=True)
    assert api.verbs("poddisruptionbudgets").count("apply") == 2


@pytest.mark.parametrize(
    ("written", "wanted", "tightened"),
    [
        (None, 3, True),
        ({"minAvailable": 2}, 3, True),
        ({"maxUnavailable": 1}, 3, True),
        ({"minAvailable": 3}, 3, False),
    ],
)
async def test_it_is_told_whether_a_budget_was_tightened(
    written: dict[str, int] | None, wanted: int, *, tightened: bool
) -> None:
    """A budget of an earlier version of the operator says how many may be unavailable."""
    api, caches = Deletions(), Caches()
    if written is not None:
        body = {**budget("logs-data", uid="b", resourceVersion="100"), "spec": written}
        caches.of(kinds.BUDGETS).wrote(msgspec.convert(body, PodDisruptionBudget))
        api.objects["poddisruptionbudgets", Key("prod", "logs-data")] = body
    shared, existing = shared_objects(api, caches, Tight()), ClusterObjects(cluster(), (), (), (), (), {}, {})
    wants = (Budget("data", ("data",), wanted, 0),)
    assert await closed(shared, existing, wants, settled=False) is not tightened


@pytest.mark.parametrize("fails", [False, True])
async def test_a_read_from_before_a_budget_was_tightened_shows_it_open_whichever_round_tightened_it(
    monkeypatch: pytest.MonkeyPatch, *, fails: bool
) -> None:
    """Also if the answer to the write was lost: the next one finds nothing to change."""
    api = Deletions()
    shared, existing = shared_objects(api, Caches(), Tight()), ClusterObjects(cluster(), (), (), (), (), {}, {})
    wants, began, plain = (Budget("data", ("data",), 3, 0),), SystemClock().monotonic(), api.apply

    async def lost(*given: Any, **more: Any) -> Any:
        await plain(*given, **more)
        raise TransportError("the connection broke before the answer came")

    with monkeypatch.context() as patch, pytest.raises(TransportError) if fails else nullcontext():
        if fails:
            patch.setattr(api, "apply", lost)
        await shared.apply(existing, wants, settled=False)
    assert not await shared.close(existing, wants, settled=False, began=began)
    assert await closed(shared, existing, wants, settled=False)


@pytest.mark.parametrize("barred", [False, True])
async def test_a_service_that_the_server_may_refuse_is_not_sent_and_the_other_objects_are(*, barred: bool) -> None:
    class WithService(Family):
        def cluster_objects(self, existing: ClusterObjects, budgets: object) -> list[dict[str, Any]]:
            return [{**budget("logs"), "apiVersion": "v1", "kind": "Service"}, budget("logs-data")]

    api, caches = Deletions(), Caches()
    shared = shared_objects(api, caches, WithService())
    refused = (Refusal("spec.service.spec.portz", "NotAcceptedByServer", "unknown field"),) if barred else ()
    existing = ClusterObjects(cluster(), (), (), (), (), {}, {}, barred=refused)
    await shared.apply(existing, (), settled=False)
    assert [plural for verb, plural, _ in api.calls if verb == "apply"] == [
        *([] if barred else ["services"]),
        "poddisruptionbudgets",
    ]
