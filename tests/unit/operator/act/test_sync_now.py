"""Which pods are annotated, so that their agents learn of a new configuration at once."""

from typing import Any

import msgspec

from stateward.api.values import names
from stateward.engines.pods.objects import MemberObjects
from stateward.kube.objects.pods import Pod
from stateward.operator.act.sync_now import behind
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.planning.model.observation import Ref
from tests.unit.engines.search_clusters import cluster

OLD, NEW = "sha256:old", "sha256:new"
OBJECTS = MemberObjects(
    {"metadata": {"annotations": {names.ANNOTATION_CHECKSUM: NEW}}}, None, {"metadata": {"name": "logs-hot-0"}}
)


def told(annotations: dict[str, str], **meta: Any) -> bool:
    """Return whether a pod of the member with these annotations is behind."""
    labels = {names.LABEL_MEMBER: "logs-hot-0"}
    metadata = {"name": "logs-hot-0-0", "uid": "p", "resourceVersion": "7", "labels": labels}
    pod = msgspec.convert({"metadata": {**metadata, "annotations": annotations, **meta}}, Pod, strict=False)
    found = behind(ClusterObjects(cluster(), (), (pod,), (), (), {}, {}), OBJECTS)
    assert found in (None, (Ref("logs-hot-0-0", "p", "7"), NEW))
    return found is not None


def test_a_pod_with_an_agent_that_was_notified_of_another_configuration_is_behind() -> None:
    agent = {names.ANNOTATION_AGENT: "x"}
    assert told({**agent, names.ANNOTATION_CHECKSUM: OLD})
    assert told({**agent, names.ANNOTATION_CHECKSUM: NEW, names.ANNOTATION_WRITTEN: OLD})
    assert not told({**agent, names.ANNOTATION_CHECKSUM: OLD, names.ANNOTATION_WRITTEN: NEW})
    assert not told({**agent, names.ANNOTATION_CHECKSUM: NEW})


def test_a_pod_without_an_agent_and_one_that_ends_are_not_annotated() -> None:
    assert not told({names.ANNOTATION_CHECKSUM: OLD})
    ends = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    assert not told({names.ANNOTATION_AGENT: "x", names.ANNOTATION_CHECKSUM: OLD}, **ends)


def test_a_pod_of_another_member_is_not_annotated() -> None:
    other = {"labels": {names.LABEL_MEMBER: "logs-hot-1"}}
    assert not told({names.ANNOTATION_AGENT: "x", names.ANNOTATION_CHECKSUM: OLD}, **other)
