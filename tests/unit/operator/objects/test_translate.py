"""Objects become observations exactly; missing information becomes unknown."""

from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.values import names
from stateward.kube.objects.nodes import Node
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.storage import PersistentVolumeClaim, StorageClass
from stateward.kube.objects.workloads import StatefulSet
from stateward.operator.objects import translate
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.planning.model.observation import Claim, Desired, Unknown
from stateward.planning.model.phase import Phase

LABELS = {
    names.LABEL_CLUSTER: "logs",
    names.LABEL_POOL: "hot",
    names.LABEL_ORDINAL: "2",
    names.LABEL_MEMBER: "logs-hot-2",
}
MADE_FROM = {names.ANNOTATION_INPUTS: '{"version":"a1"}', names.ANNOTATION_VERSION: "2.19.5"}


def pod(status: dict[str, Any] | None = None, **meta: Any) -> Pod:
    metadata = {"name": "logs-hot-2-0", "uid": "p", "resourceVersion": "7", "labels": LABELS, "annotations": MADE_FROM}
    body = {"metadata": metadata | meta, "spec": {"nodeName": "n1"}, "status": status or {}}
    return msgspec.convert(body, Pod, strict=False)


def waiting(why: str, message: str = "", **last: Any) -> dict[str, Any]:
    container = {"name": "opensearch", "state": {"waiting": {"reason": why, "message": message}}}
    return {"containerStatuses": [container | ({"lastState": {"terminated": last}} if last else {})]}


def seen(source: Pod) -> Any:
    return translate.pod(source, {}, "opensearch")


def test_a_pod_says_what_it_was_made_from_and_whether_its_database_runs() -> None:
    running = {"containerStatuses": [{"name": "opensearch", "state": {"running": {}}}], "podIP": "10.0.0.9"}
    found = seen(pod(running))
    assert (found.inputs, found.version, found.running, found.ip) == ({"version": "a1"}, "2.19.5", True, "10.0.0.9")
    assert (found.ref.uid, found.ref.resource_version) == ("p", "7")


PARTS: dict[str, type[StatefulSet] | type[Pod] | type[PersistentVolumeClaim]] = {
    "sets": StatefulSet,
    "pods": Pod,
    "claims": PersistentVolumeClaim,
}


@pytest.mark.parametrize("made", PARTS)
def test_a_member_is_made_for_the_roles_on_the_label_of_any_of_its_objects(made: str) -> None:
    labels = {name: LABELS | {names.LABEL_ROLES: "data-voting" if name == made else "none"} for name in PARTS}
    objects: dict[str, Any] = {
        name: (msgspec.convert({"metadata": {"labels": labels[name]}}, PARTS[name], strict=False),) for name in PARTS
    }
    (member,) = translate.members(holding(**objects), "opensearch")
    assert member.made_for == {"data", "voting"}


@pytest.mark.parametrize(("told", "only"), [(("sets", "pods", "claims"), True), (("sets", "pods"), False), ((), False)])
def test_a_member_is_never_elected_only_if_all_its_objects_say_so(told: tuple[str, ...], only: bool) -> None:
    """The disaster this prevents: the last manager is made again, in doubt, as a node that only votes."""
    labels = {name: LABELS | {names.LABEL_ROLES: "voting"} for name in PARTS}
    for name in told:
        labels[name][names.LABEL_VOTING_ONLY] = "true"
    objects: dict[str, Any] = {
        name: (msgspec.convert({"metadata": {"labels": labels[name]}}, PARTS[name], strict=False),) for name in PARTS
    }
    (member,) = translate.members(holding(**objects), "opensearch")
    assert member.made_for == ({"voting", "voting_only"} if only else {"voting"})


@pytest.mark.parametrize(("labels", "made"), [({names.LABEL_ROLES: "none"}, frozenset[str]()), ({}, None)])
def test_a_member_that_was_made_for_no_role_is_another_one_than_one_without_the_label(
    labels: dict[str, str], made: frozenset[str] | None
) -> None:
    found = msgspec.convert({"metadata": {"labels": LABELS | labels}}, PersistentVolumeClaim, strict=False)
    (member,) = translate.members(holding(claims=(found,)), "opensearch")
    assert member.made_for == made


def test_only_the_databases_own_container_counts_as_the_database() -> None:
    assert not seen(pod({"containerStatuses": [{"name": "sidecar", "state": {"running": {}}}]})).running


def test_a_crash_loop_is_trouble_and_says_how_the_last_run_ended() -> None:
    found = seen(pod(waiting("CrashLoopBackOff", "back-off", exitCode=1, reason="Error")))
    assert found.trouble == "CrashLoopBackOff: back-off (it ended with code 1: Error)"
    status = waiting("CrashLoopBackOff", "back-off", exitCode=1, reason="Error")
    status["containerStatuses"][0]["lastState"]["terminated"]["message"] = "no plugin\n"
    told = seen(pod(status))
    assert told.trouble == "CrashLoopBackOff: back-off (it ended with code 1: no plugin)"


def test_a_container_that_is_being_created_is_no_trouble() -> None:
    assert seen(pod(waiting("ContainerCreating"))).trouble == ""


def test_a_pod_without_room_is_trouble_in_the_schedulers_words() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    assert seen(pod({"conditions": [condition]})).trouble == "Unschedulable: 0/3 nodes"


@pytest.mark.parametrize(
    ("message", "kept"),
    [
        (
            "0/3 nodes are available: 3 Insufficient memory. no new claims to deallocate, preemption: 3 not helpful.",
            "0/3 nodes are available: 3 Insufficient memory",
        ),
        (
            "0/3 nodes are available: 1 Too many pods, 2 node(s) were unschedulable. preemption: not eligible.",
            "0/3 nodes are available: 1 Too many pods, 2 node(s) were unschedulable",
        ),
        ("0/1 nodes are available. preemption: 0/1 nodes: 1 Insufficient memory.",) * 2,
        ("no nodes available to schedule pods",) * 2,
    ],
)
def test_what_a_scheduler_says_about_preemption_is_left_out(message: str, kept: str) -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    assert seen(pod({"conditions": [condition]})).trouble == f"Unschedulable: {kept}"


def test_a_pod_that_is_ready_has_no_trouble_whatever_was_reported_before() -> None:
    late = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes"}
    assert seen(pod({"conditions": [late, {"type": "Ready", "status": "True"}]})).trouble == ""
    assert seen(pod({"conditions": [late, {"type": "Ready", "status": "False"}]})).trouble != ""


def test_a_pod_that_ends_because_it_was_deleted_is_no_trouble() -> None:
    """Its database was stopped by a signal, so its phase is Failed; that lifted the allocation at each restart."""
    failed = {"phase": "Failed", "reason": "", "message": ""}
    assert seen(pod(failed)).trouble != ""
    ending = seen(pod(failed, deletionTimestamp="2026-01-01T00:00:00Z", deletionGracePeriodSeconds=120))
    assert (ending.trouble, ending.terminating, ending.gone_by, ending.grace) == ("", True, 1767225600.0, 120.0)
    assert (seen(pod(failed)).gone_by, seen(pod(failed)).grace) == (0.0, 0.0)


def test_a_pods_data_is_on_its_own_claim_and_not_on_one_that_the_user_has_given_it() -> None:
    """A claim for snapshots does not keep the data of a pod without a volume: it has to be drained all the same."""

    def using(*claims: str) -> Pod:
        volumes = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
        return msgspec.convert({"metadata": {"labels": LABELS}, "spec": {"volumes": volumes}}, Pod)

    assert not seen(using()).claims
    assert not seen(using("snapshots")).claims
    assert seen(using("snapshots", names.claim("logs-hot-2"))).claims


def test_the_last_end_of_a_container_that_was_started_again_is_read() -> None:
    def ended(*statuses: dict[str, Any]) -> Any:
        return seen(pod({"containerStatuses": list(statuses)})).ended

    early = {"name": "a", "lastState": {"terminated": {"exitCode": 0, "finishedAt": "1970-01-01T00:01:00Z"}}}
    late = {"name": "b", "lastState": {"terminated": {"exitCode": 1, "finishedAt": "1970-01-01T00:02:00Z"}}}
    assert ended({"name": "a"}) == ended({"name": "a", "lastState": {"terminated": {"exitCode": 1}}}) == 0.0
    assert ended(early, late) == ended(late, early) == 120.0


def test_a_claim_says_whether_its_member_has_left_it() -> None:
    def seen_claim(**annotations: str) -> Claim:
        meta = {"name": "data-c-hot-0", "annotations": annotations}
        return translate.claim(msgspec.convert({"metadata": meta}, PersistentVolumeClaim), {})

    assert seen_claim(**{names.ANNOTATION_RETIRED: "its member was replaced"}).left
    assert not seen_claim().left
    assert seen_claim(**{names.ANNOTATION_DATA_VERSION: "2.18.0"}).version == "2.18.0"
    for text in ("2.x", "newest", "2.18.0-rc1", "9" * 5000, f"{'9' * 5000}.0.0"):
        assert not seen_claim(**{names.ANNOTATION_DATA_VERSION: text}).version, "users can write it"
    assert not seen_claim().version


@pytest.mark.parametrize(
    ("spec", "status", "empty"),
    [
        ({}, {}, True),
        ({}, {"capacity": {"storage": "1Gi"}}, False),
        ({"volumeName": "pv-1"}, {"phase": "Pending"}, False),
        ({"volumeName": "pv-1"}, {"phase": "Lost"}, False),
    ],
    ids=["new", "bound", "restored", "its volume was deleted"],
)
def test_a_claim_that_names_a_volume_does_not_count_as_one_that_was_never_bound(
    spec: dict[str, Any], status: dict[str, Any], empty: bool
) -> None:
    body = {"metadata": {"name": "data-logs-hot-0"}, "spec": spec, "status": status}
    assert translate.claim(msgspec.convert(body, PersistentVolumeClaim), {}).empty is empty


@pytest.mark.parametrize(
    ("recorded", "grown"), [("8Gi", 8 << 30), ("10Gi", 10 << 30), ("10Ti", 10 << 30), ("-1", 0), ("much", 0), ("", 0)]
)
def test_what_a_claim_records_as_grown_is_never_more_than_it_asks_for(recorded: str, grown: int) -> None:
    meta = {"name": "data-logs-hot-0", "annotations": {names.ANNOTATION_GROWN: recorded}}
    spec = {"resources": {"requests": {"storage": "10Gi"}}}
    found = translate.claim(msgspec.convert({"metadata": meta, "spec": spec}, PersistentVolumeClaim), {})
    assert (found.grown, found.resized) == (grown, None)


def test_long_inputs_that_a_user_writes_are_not_kept() -> None:
    """Of 256 KiB each, as many as are kept of the usual ones fill the memory of the operator."""
    before = translate.cached_inputs.cache_info().currsize
    for i in range(20):
        text = f'{{"a":"{i}","b":"{"x" * 200_000}"}}'
        assert translate.inputs({names.ANNOTATION_INPUTS: text})["a"] == str(i)
    assert translate.cached_inputs.cache_info().currsize == before


@pytest.mark.parametrize(("text", "number"), [("12", 12), ("9" * 5000, 0), ("²", 0), ("", 0)])
def test_a_revision_that_is_no_number_counts_as_the_first(text: str, number: int) -> None:
    assert translate.revision({names.ANNOTATION_TEMPLATE: text}) == number


def test_inputs_that_cannot_be_read_count_as_made_from_nothing() -> None:
    assert translate.inputs({names.ANNOTATION_INPUTS: "{not json"}) == {}


def test_a_class_that_was_not_read_is_not_mistaken_for_one_that_cannot_grow() -> None:
    claim = msgspec.convert(
        {"metadata": {"name": "data-logs-hot-2"}, "spec": {"storageClassName": "fast"}}, PersistentVolumeClaim
    )
    assert translate.claim(claim, {}).expandable is None
    fast = StorageClass(allow_volume_expansion=True)
    assert translate.claim(claim, {"fast": fast}).expandable is True
    assert translate.claim(claim, {"fast": StorageClass()}).expandable is False


def test_a_class_that_there_is_not_is_distinguished_from_classes_that_were_not_read() -> None:
    claim = msgspec.convert(
        {"metadata": {"name": "data-logs-hot-2"}, "spec": {"storageClassName": "fast"}}, PersistentVolumeClaim
    )
    assert translate.claim(claim, {"slow": StorageClass()}).classless
    assert not translate.claim(claim, {"slow": StorageClass(), "fast": StorageClass()}).classless
    assert not translate.claim(claim, {}).classless
    unset = msgspec.convert({"metadata": {"name": "data-logs-hot-2"}}, PersistentVolumeClaim)
    assert not translate.claim(unset, {"slow": StorageClass()}).classless


def test_objects_whose_labels_contradict_each_other_are_no_members() -> None:
    odd = pod(labels=LABELS | {names.LABEL_ORDINAL: "3"})
    existing = holding(pods=(odd,))
    assert translate.members(existing, "opensearch") == ()


def test_a_member_is_what_any_of_its_objects_say() -> None:
    stateful_set = msgspec.convert(
        {
            "metadata": {"name": "logs-hot-2", "uid": "s", "labels": LABELS, "generation": 3},
            "spec": {"replicas": 0, "template": {"metadata": {"annotations": MADE_FROM}}},
            "status": {"observedGeneration": 2},
        },
        StatefulSet,
    )
    (member,) = translate.members(holding(sets=(stateful_set,)), "opensearch")
    assert (member.name, member.pool, member.ordinal) == ("logs-hot-2", "hot", 2)
    assert member.workload is not None
    assert (member.workload.replicas, member.workload.observed, member.workload.version) == (0, False, "2.19.5")
    assert (member.pod, member.claim, member.config) == (None, None, None)


@pytest.mark.parametrize(("mark", "released"), [(None, False), ("2", False), ("3", True)])
def test_a_statefulset_that_was_changed_after_the_operator_scaled_it_to_zero_counts_as_scaled_by_others(
    mark: str | None, released: bool
) -> None:
    told = {} if mark is None else {names.ANNOTATION_RELEASED: mark}
    meta = {"name": "logs-hot-2", "uid": "s", "labels": LABELS, "generation": 3, "annotations": told}
    stateful_set = msgspec.convert({"metadata": meta, "spec": {"replicas": 0}}, StatefulSet)
    (member,) = translate.members(holding(sets=(stateful_set,)), "opensearch")
    assert member.workload is not None
    assert member.workload.released is released


def test_the_observation_remembers_what_the_status_says() -> None:
    status = {
        "version": "2.17.1",
        "bootstrap": {"member": "logs-managers-0", "volume": "v", "formed": True},
        "memberStates": [
            {
                "name": "logs-hot-2",
                "version": "2.19.5",
                "volume": "c",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
                "state": "Ready",
            },
            {"name": "logs-hot-3", "lastTransitionTime": "not a time", "state": "Creating"},
        ],
    }
    found = translate.observation(holding(status=status), Desired("2.19.5", ()), Unknown("asleep"), "opensearch")
    assert found.deployed_version == "2.17.1"
    assert found.records.keys() == {"logs-hot-2"}
    assert found.since == {"logs-hot-2": datetime(2026, 1, 1, tzinfo=UTC).timestamp()}
    assert found.bootstrap is not None
    assert found.bootstrap.formed


def holding(status: dict[str, Any] | None = None, **parts: Any) -> ClusterObjects:
    body = {
        "metadata": {"name": "logs", "namespace": "ns", "uid": "u"},
        "spec": {"version": "2.19.5", "pools": [{"name": "hot", "replicas": 3}]},
        "status": status or {},
    }
    cluster = msgspec.convert(body, OpenSearchCluster)
    nodes: dict[str, Node] = {}
    classes: dict[str, StorageClass] = {}
    empty: dict[str, Any] = {"sets": (), "pods": (), "claims": (), "secrets": (), "nodes": nodes, "classes": classes}
    return ClusterObjects(cluster=cluster, **(empty | parts))


def test_a_node_that_was_deleted_is_not_ready_and_one_that_was_never_observed_is_not_judged() -> None:
    other = msgspec.convert({"metadata": {"name": "n2"}, "spec": {}, "status": {}}, Node, strict=False)
    assert seen(pod()).node_ready, "no node was observed"
    assert not translate.pod(pod(), {"n2": other}, "opensearch").node_ready
    unscheduled = msgspec.convert({"metadata": {"name": "logs-hot-2-0"}, "spec": {}, "status": {}}, Pod, strict=False)
    assert translate.pod(unscheduled, {"n2": other}, "opensearch").node_ready


@pytest.mark.parametrize(
    ("text", "phase", "strange"),
    [("", Phase.NONE, ""), ("stop", Phase.STOP, ""), ("schedule", Phase.SCHEDULE, ""), ("now", Phase.NONE, "now")],
)
def test_a_restart_goes_on_as_the_annotation_of_its_pod_says(text: str, phase: Phase, strange: str) -> None:
    found = seen(pod(annotations={names.ANNOTATION_PHASE: text} if text else {}))
    assert (found.phase, found.strange_phase) == (phase, strange)


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        ({"conditions": [{"type": "PodScheduled", "status": "True"}]}, ""),
        ({"conditions": [{"type": "PodScheduled", "status": "False", "reason": "R", "message": "m"}]}, "R: m"),
        ({"conditions": [{"type": "Initialized", "status": "False", "reason": "R", "message": "m"}]}, ""),
        ({"phase": "Failed", "message": "the node is out of memory"}, "Failed: the node is out of memory"),
        ({"phase": "Failed", "reason": "Evicted", "message": "m"}, "Evicted: m"),
    ],
)
def test_what_keeps_a_pod_from_running_is_said_in_the_words_of_kubernetes(status: dict[str, Any], trouble: str) -> None:
    assert translate.trouble(pod(status)) == trouble
