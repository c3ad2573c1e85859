"""Which changes of a cluster cause a reconciliation."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import structs

from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.kinds.status import ClusterStatus, MemberStatus
from stateward.api.values import names
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key, ObjectMeta
from stateward.kube.objects.storage import PersistentVolumeClaim
from stateward.operator.objects.caches import Caches
from tests.unit.engines.search_clusters import cluster

MEMBERS = [MemberStatus(name="logs-hot-0", state="Ready", version="2.19.5")]


def status(before: OpenSearchCluster, **changes: Any) -> OpenSearchCluster:
    return structs.replace(before, status=structs.replace(before.status, **changes))


def metadata(before: OpenSearchCluster, **changes: Any) -> OpenSearchCluster:
    return structs.replace(before, metadata=structs.replace(before.metadata, **changes))


def enqueued(change: Callable[[OpenSearchCluster], OpenSearchCluster]) -> list[Key]:
    caches, keys = Caches(), list[Key]()
    before = structs.replace(cluster(), status=ClusterStatus(member_states=MEMBERS))
    before = metadata(before, resource_version="1")
    caches.clusters.wrote(before)
    caches.on_change(keys.append)
    keys.clear()  # A subscriber hears of what is there already.
    caches.clusters.wrote(metadata(change(before), resource_version="2"))
    return keys


def test_a_status_that_only_displays_something_else_causes_no_reconciliation() -> None:
    assert enqueued(lambda before: status(before, activity="logs-hot-0 starts", health="yellow")) == []


def joined(before: OpenSearchCluster) -> OpenSearchCluster:
    return status(before, member_states=[structs.replace(MEMBERS[0], version="3.0.0")])


def upgraded(before: OpenSearchCluster) -> OpenSearchCluster:
    return structs.replace(before, spec=structs.replace(before.spec, version="2.19.6"))


def annotated(before: OpenSearchCluster) -> OpenSearchCluster:
    return metadata(before, annotations={"stateward.dev/restart-phase": "schedule-rolling"})


@pytest.mark.parametrize("change", [joined, upgraded, annotated])
def test_a_record_the_spec_or_an_annotation_causes_one(
    change: Callable[[OpenSearchCluster], OpenSearchCluster],
) -> None:
    changed = enqueued(change)
    assert [key.name for key in changed] == [cluster().metadata.name]


def test_a_copy_of_a_members_claim_is_no_object_of_its_cluster() -> None:
    """The disaster this prevents: a user copies a claim with its labels, and the copy is deleted with the member."""
    caches, of = Caches(), metadata(cluster(), resource_version="1")
    caches.clusters.wrote(of)
    meta = of.metadata
    labels = {
        names.LABEL_CLUSTER: meta.name,
        names.LABEL_ENGINE: caches.kind.engine,
        names.LABEL_MEMBER: f"{meta.name}-hot-0",
    }
    for name in (f"data-{meta.name}-hot-0", f"data-{meta.name}-hot-0-copy"):
        found = ObjectMeta(name=name, namespace=meta.namespace, uid=name, resource_version="2", labels=labels)
        caches.of(kinds.CLAIMS).wrote(PersistentVolumeClaim(metadata=found))
    existing = caches.cluster_objects(Key(meta.namespace, meta.name))
    assert existing is not None
    assert [claim.metadata.name for claim in existing.claims] == [f"data-{meta.name}-hot-0"]
