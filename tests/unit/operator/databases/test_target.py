"""Whom the operator asks first: members that serve, and of them those whose processes stay."""

from typing import Any

import msgspec

from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.values import names
from stateward.engines import opensearch
from stateward.kube.objects.pods import Pod
from stateward.operator.databases.engine import OpenSearchFamily
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.planning.model.phase import Phase

POOL = {"name": "hot", "replicas": 3, "roles": ["cluster_manager", "data"], "storage": {"size": "2Gi"}}


def pod(number: int, *, ready: bool = True, phase: Phase = Phase.NONE) -> Pod:
    annotations = {names.ANNOTATION_PHASE: phase.value} if phase else {}
    meta: dict[str, Any] = {"name": f"logs-hot-{number}-0", "annotations": annotations}
    conditions = [{"type": "Ready", "status": "True" if ready else "False"}]
    body = {"metadata": meta, "spec": {}, "status": {"podIP": f"10.0.0.{number}", "conditions": conditions}}
    return msgspec.convert(body, Pod, strict=False)


def asked(*pods: Pod) -> list[str]:
    """Return the last parts of the addresses in the order in which they are asked."""
    body = {"metadata": {"name": "logs", "namespace": "prod"}, "spec": {"version": "2.19.5", "pools": [POOL]}}
    cluster = msgspec.convert(body, OpenSearchCluster)
    family = OpenSearchFamily(opensearch.driver(None))  # pyright: ignore[reportArgumentType] - nobody is asked here
    target = family.target(ClusterObjects(cluster, (), pods, (), (), {}, {}))
    return [url.rpartition(":")[0].rpartition(".")[2] for url in target.endpoints]


def test_a_member_whose_process_is_stopped_or_started_is_asked_after_those_that_stay() -> None:
    """Its pod stays Ready for some seconds, and a read must not wait for it."""
    for phase in (Phase.STOP, Phase.START, Phase.STOP_COORDINATED, Phase.START_COORDINATED):
        assert asked(pod(0, phase=phase), pod(1), pod(2)) == ["1", "2", "0"]
    assert asked(pod(0, phase=Phase.SCHEDULE_ROLLING), pod(1)) == ["0", "1"], "nothing has happened to it yet"


def test_one_that_serves_is_asked_before_one_that_does_not_whatever_is_done_to_it() -> None:
    assert asked(pod(0, ready=False), pod(1, phase=Phase.START), pod(2)) == ["2", "1", "0"]
