"""An object with the name of one of ours is ours only with our owner reference, or our cluster and engine labels."""

from typing import Any

import msgspec
import pytest

from stateward.api.values import names
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key, PartialObject
from stateward.operator.objects.caches import Caches
from stateward.operator.objects.copied_secrets import CopiedSecrets, mark
from stateward.operator.objects.ownership import NotOwnedError, exists
from tests.unit.engines.search_clusters import cluster
from tests.unit.kube.memory_api import MemoryApi
from tests.unit.operator.act.test_shared_objects import Deletions

KEY = Key("prod", "logs-hot-0-data")
LABELS = {names.LABEL_CLUSTER: "logs", names.LABEL_ENGINE: "opensearch"}


async def found(labels: dict[str, str], uid: str = "", **more: Any) -> bool:
    """Return whether a volume with these labels, and this owner, is the cluster's."""
    api = MemoryApi(latency=0)
    owner = {"apiVersion": "v1", "kind": "OpenSearchCluster", "name": "logs", "uid": uid, "controller": True}
    meta: dict[str, Any] = {"name": KEY.name, "labels": labels, **({"ownerReferences": [owner]} if uid else {}), **more}
    await api.create(kinds.CLAIMS, {"metadata": meta}, namespace=KEY.namespace)
    return await exists(api, kinds.CLAIMS, KEY, cluster())


async def test_a_volume_that_was_kept_is_ours_by_its_labels() -> None:
    assert await found(LABELS)


@pytest.mark.parametrize("engine", [{}, {names.LABEL_ENGINE: "elasticsearch"}])
async def test_a_kept_volume_that_another_engine_may_have_written_is_not(engine: dict[str, str]) -> None:
    with pytest.raises(NotOwnedError):
        await found({names.LABEL_CLUSTER: "logs", **engine})


async def test_what_the_cluster_controls_is_ours_also_from_before_there_were_engines() -> None:
    assert await found({names.LABEL_CLUSTER: "logs"}, cluster().metadata.uid)


async def test_what_another_cluster_controls_is_not() -> None:
    with pytest.raises(NotOwnedError):
        await found(LABELS, "another")


async def secret_found(made_for: str) -> bool:
    """Return whether a Secret without an owner, with this mark, is the cluster's."""
    api = MemoryApi(latency=0)
    meta: dict[str, Any] = {
        "name": "logs-ca",
        "labels": LABELS,
        "annotations": {names.ANNOTATION_CREATED_FOR: made_for},
    }
    await api.create(kinds.SECRETS, {"metadata": meta}, namespace=KEY.namespace)
    return await exists(api, kinds.SECRETS, Key(KEY.namespace, "logs-ca"), cluster())


async def test_a_secret_without_an_owner_is_ours_by_its_mark() -> None:
    assert await secret_found(mark(cluster().metadata.uid, Key(KEY.namespace, "logs-ca")))


@pytest.mark.parametrize(
    "made_for",
    [
        mark("a cluster of before", Key(KEY.namespace, "logs-ca")),
        mark(cluster().metadata.uid, Key("elsewhere", "logs-ca")),
        mark(cluster().metadata.uid, Key(KEY.namespace, "other-ca")),
    ],
)
async def test_a_secret_of_another_cluster_or_a_copy_is_not_ours(made_for: str) -> None:
    with pytest.raises(NotOwnedError):
        await secret_found(made_for)


async def test_what_is_being_deleted_is_not_ours_any_more() -> None:
    """Written to once more it would seem to be there, and be gone a moment later."""
    with pytest.raises(NotOwnedError):
        await found(LABELS, cluster().metadata.uid, deletionTimestamp="2026-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("owner", "ends", "healed"), [("u-1", False, True), ("another", False, False), ("u-1", True, False)]
)
async def test_only_the_clusters_own_owner_is_removed_from_a_secret(owner: str, ends: bool, healed: bool) -> None:
    api, caches = MemoryApi(latency=0), Caches()
    reference = {"apiVersion": "v1", "kind": "OpenSearchCluster", "name": "logs", "uid": owner, "controller": True}
    meta: dict[str, Any] = {"name": "logs-ca", "labels": LABELS, "ownerReferences": [reference]}
    if ends:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    await api.create(kinds.SECRETS, {"metadata": meta}, namespace=KEY.namespace)
    caches.of(kinds.SECRETS).wrote(msgspec.convert(api.objects["secrets", Key("prod", "logs-ca")], PartialObject))
    await CopiedSecrets(api, caches).heal(cluster())
    kept = api.objects["secrets", Key("prod", "logs-ca")]["metadata"]
    assert (not kept["ownerReferences"]) is healed
    assert (names.ANNOTATION_CREATED_FOR in kept.get("annotations", {})) is healed


async def test_only_secrets_of_the_clusters_own_names_are_deleted_after_it() -> None:
    api, caches = Deletions(), Caches()
    for name in ("logs-ca", "logs-admin", "logs-other"):
        annotations = {names.ANNOTATION_CREATED_FOR: mark("gone", Key("prod", name))}
        meta = {"name": name, "namespace": "prod", "uid": name, "resourceVersion": "1", "labels": LABELS}
        body = {"metadata": {**meta, "annotations": annotations}}
        caches.of(kinds.SECRETS).wrote(msgspec.convert(body, PartialObject))
    await CopiedSecrets(api, caches).sweep(Key("prod", "logs"))
    assert sorted(api.deleted) == ["secrets/logs-admin", "secrets/logs-ca"]
