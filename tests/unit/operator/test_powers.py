"""Whatever the spec of a cluster says, the objects that are made for it stay within the powers that `powers` lists."""

import copy
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.foundationdb import FoundationDBCluster
from stateward.api.kinds.search import ElasticsearchCluster, OpenSearchCluster, SearchCluster
from stateward.api.pod_policy import Level
from stateward.api.validation import errors, validate
from stateward.api.values.base import Json
from stateward.kube.objects.metadata import Key
from stateward.operator.databases.engine import unconnected
from stateward.operator.detection.cronjob import Place, cron_job
from stateward.operator.network.policy import network_policy
from stateward.operator.objects.cluster_objects import ClusterObjects
from stateward.operator.objects.kinds import kind_of
from stateward.operator.pod_rights.finished import final_templates
from stateward.operator.pod_rights.named import named
from stateward.operator.pod_rights.policy import PodNotAllowed, refuse
from stateward.operator.security import credentials, own_secrets
from stateward.planning.safety.disruption_budget import Budget
from tests.support.fuzz import fuzzed
from tests.unit.operator.pod_rights.clusters import ELASTIC, PROCESSES, SEARCH
from tests.unit.operator.powers import beyond, beyond_detection

RECORDS: dict[type[Cluster], tuple[str, str, list[Json]]] = {
    OpenSearchCluster: ("2.19.5", "opensearch", SEARCH),
    ElasticsearchCluster: ("8.19.4", "elasticsearch", ELASTIC),
    FoundationDBCluster: ("7.3.63", "foundationdb", PROCESSES),
}
PLACE = Place("stateward-system", "stateward:1", "stateward-detection")

NAMES = st.sampled_from(
    [
        *("payments", "kube-system/payments", "../payments", "a.b", "logs-ca", "logs-agent", "default", "", "x" * 300),
        *("data-logs-hot-0", "logs-hot-1", "logs-operator-tls", "..", "system:admin"),
    ]
)
MARKS = st.dictionaries(
    st.sampled_from(
        [
            *(
                "stateward.dev/cluster",
                "stateward.dev/allowed-for-pods",
                "stateward.dev/member",
                "stateward.dev/retired",
            ),
            *(
                "stateward.dev/restart-phase",
                "stateward.dev/created-for",
                "stateward.dev/detection-engine",
                "app",
                "a/b/c",
            ),
            *("kubernetes.io/service-account.name", "service.beta.kubernetes.io/x", "app.kubernetes.io/instance"),
        ]
    )
    | st.text(max_size=5),
    st.sampled_from(["payments", "true", "logs"]) | NAMES,
    max_size=3,
)
POWER: Json = {"privileged": True, "capabilities": {"add": ["SYS_ADMIN"]}, "procMount": "Unmasked"}


@st.composite
def few(draw: st.DrawFn, fields: dict[str, st.SearchStrategy[Any]], most: int = 2) -> Json:
    """Return an object with some of these fields: with more of them, nearly all would be refused."""
    return {name: draw(fields[name]) for name in sorted(draw(st.sets(st.sampled_from(sorted(fields)), max_size=most)))}


def containers(engine: str) -> st.SearchStrategy[Json]:
    parts = st.sampled_from(
        [
            *({"securityContext": POWER}, {"securityContext": None}, {"ports": [{"containerPort": 1, "hostPort": 1}]}),
            {"env": [{"name": "K", "valueFrom": {"secretKeyRef": {"name": "payments", "key": "k"}}}]},
            {"envFrom": [{"secretRef": {"name": "payments"}}]},
            {"livenessProbe": {"httpGet": {"port": 80, "host": "169.254.169.254"}}},
            *({"$patch": "replace"}, {"$patch": "delete"}, {"image": "busybox"}, {"command": ["sh"]}),
        ]
    )
    called = st.sampled_from([engine, "side", "stateward-agent", "stateward-beside", "../x"])
    return st.tuples(called, parts).map(lambda both: {"name": both[0], "image": "x", **both[1]})


def volumes() -> st.SearchStrategy[Json]:
    sources = st.sampled_from(
        [
            *({"hostPath": {"path": "/"}}, {"emptyDir": {"sizeLimit": "9" * 300}}, {"configMap": {"name": "x"}}),
            *({"secret": {"secretName": "payments"}}, {"persistentVolumeClaim": {"claimName": "payments"}}),
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}, {"secret": {"name": "payments"}}]}},
            *({"csi": {"driver": "d", "nodePublishSecretRef": {"name": "payments"}}}, {"nfs": {"server": "x"}}),
            {"secret": {"secretName": "logs-ca"}},
        ]
    )
    called = st.sampled_from(["config", "data", "run", "x", "tls"])
    bit = st.sampled_from([{}, {"$patch": "replace"}])
    return st.tuples(called, sources, bit).map(lambda all_: {"name": all_[0], **all_[1], **all_[2]})


def templates(engine: str) -> st.SearchStrategy[Json]:
    spec = few(
        {
            **{field: st.booleans() for field in ("hostNetwork", "hostPID", "hostIPC", "hostUsers")},
            **dict.fromkeys(("serviceAccountName", "serviceAccount", "nodeName", "hostname"), NAMES),
            "automountServiceAccountToken": st.none() | st.booleans(),
            "containers": st.lists(containers(engine), max_size=2),
            "initContainers": st.lists(containers(engine), max_size=2),
            "ephemeralContainers": st.lists(containers(engine), max_size=1),
            "volumes": st.lists(volumes(), max_size=2),
            "imagePullSecrets": st.lists(st.fixed_dictionaries({"name": NAMES}), max_size=1),
            "securityContext": st.sampled_from([None, {"$patch": "replace"}, {"sysctls": [{"name": "x"}]}]),
            "$patch": st.just("replace"),
        },
        3,
    )
    meta = {"labels": MARKS, "annotations": MARKS, **dict.fromkeys(("name", "namespace"), NAMES)}
    more = {"finalizers": st.just(["x/y"]), "ownerReferences": st.just([{"uid": "v"}]), "$patch": st.just("replace")}
    metadata = few({**meta, **more}, 1)
    return st.tuples(spec, few({"metadata": metadata}, 1)).map(lambda both: {"spec": both[0], **both[1]})


SERVICES = few(
    {
        "type": st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer", "ExternalName"]),
        "labels": MARKS,
        "annotations": MARKS,
        "spec": few(
            {
                "externalIPs": st.just(["10.0.0.1"]),
                "externalName": st.just("payments.bank.svc"),
                "selector": st.just({"app": "payments"}),
                "type": st.just("ExternalName"),
                "clusterIP": st.just("None"),
                "loadBalancerIP": st.just("10.0.0.1"),
                "ports": st.just([{"port": 1, "targetPort": 1, "nodePort": 30000}]),
            },
        ),
    },
)
NETWORKS = st.sampled_from(
    [
        *({}, {"clients": []}, {"clients": [{}]}, {"clients": [{"namespaceSelector": {}}]}),
        *({"clients": [{"ipBlock": {"cidr": "0.0.0.0/0"}}]}, {"egress": [{}]}, {"podSelector": {}}),
    ]
)
DETECTIONS = few(
    {
        "labels": MARKS,
        "annotations": MARKS,
        "schedule": st.sampled_from(["* * * * *", "x" * 400]),
        "serviceAccountName": NAMES,
        "image": NAMES,
        "nodeSelector": MARKS,
        "resources": st.sampled_from([{"requests": {"memory": "1Gi"}}, {"claims": [{"name": "x"}]}]),
    },
)
STORAGE = few(
    {
        "size": st.sampled_from(["1Gi", "9" * 300, "-1", "1e400"]),
        "storageClass": NAMES,
        "ephemeral": st.booleans(),
        "volumeName": NAMES,
        "dataSource": st.just({"kind": "PersistentVolumeClaim", "name": "payments"}),
    },
)


@st.composite
def specs(draw: st.DrawFn) -> Cluster | None:
    """Return a cluster whose spec is hostile and that the operator takes; None where it refuses it."""
    record = draw(st.sampled_from(list(RECORDS)))
    version, engine, pools = RECORDS[record]
    spec: Json = {"version": version, "pools": copy.deepcopy(pools)}
    some = {
        "podTemplate": templates(engine),
        "networkPolicy": NETWORKS,
        "replacement": st.fixed_dictionaries({"enabled": st.just(True), "detection": DETECTIONS}),
        "image": NAMES,
        "volumes": st.sampled_from([{"whenDeleted": "Delete"}, {"whenDeleted": "Retain"}]),
    }
    if issubclass(record, SearchCluster):
        on = {"enabled": True, "caSecretName": "payments", "adminSecretName": "payments"}
        some |= {
            "service": SERVICES,
            "security": st.sampled_from([{"enabled": True}, on]),
            "plugins": st.just([{"name": "icu"}]),
            "pluginSource": st.one_of(st.fixed_dictionaries({"claimName": NAMES}), st.just({"image": "plugins:1"})),
            "secureSettings": st.lists(st.fixed_dictionaries({"secretName": NAMES}), max_size=2),
            "config": st.sampled_from([{"a": "x" * 10_000}, {"path.data": "/"}, {"node.name": "other"}]),
        }
    spec |= draw(few(some)) | draw(few({"podTemplate": some["podTemplate"]}, 1))
    own = {"podTemplate": templates(engine), "storage": STORAGE, "name": NAMES}
    pool = draw(st.sampled_from(spec["pools"]))
    pool |= draw(few(own, 1))
    meta: Json = {
        "name": draw(st.sampled_from(["logs"] * 9 + ["a.b", "../payments", "logs-ca", "x" * 60])),
        "namespace": "data",
        "uid": "u",
    }
    meta["labels"] = meta["annotations"] = draw(MARKS)
    try:
        cluster = msgspec.convert({"kind": record.__name__, "metadata": meta, "spec": spec}, record)
    except msgspec.ValidationError:
        return None
    return None if not cluster.metadata.name or errors(validate(cluster)) else cluster


def objects(cluster: Cluster, level: Level) -> Iterator[Json]:
    """Yield every object that the operator would make for a cluster in its namespace, as it is sent."""
    family, kind = unconnected(kind_of(cluster)), kind_of(cluster)
    existing = ClusterObjects(cluster, (), (), (), (), {}, {})
    yield from family.cluster_objects(existing, (Budget("data", ("data",), 3, 1),))
    yield network_policy(cluster, kind.engine, PLACE.namespace)
    yield credentials.secret(cluster, f"{cluster.metadata.name}-agents", {"x": "y"}, {})
    if isinstance(cluster, SearchCluster):
        for suffix in ("ca", "tls", "operator-tls", "admin"):
            yield own_secrets.secret(cluster, f"{cluster.metadata.name}-{suffix}", {"x": "y"})
    for pool in cluster.spec.pools:
        for ordinal in (0, 1):
            made = family.member_objects(cluster, pool.name, ordinal, cluster.spec.version)
            yield made.config
            if made.claim is not None:
                yield made.claim
            try:
                refuse(level, made.workload["spec"]["template"])
            except PodNotAllowed:
                continue  # it is not sent
            yield made.workload


def looked_at(cluster: Cluster) -> frozenset[tuple[str, str]]:
    """Return what is used only if its labels allow it, and what is the operator's own of this cluster's pods."""
    family = unconnected(kind_of(cluster))
    own = {each for made in final_templates(family, cluster, ordinals=(0, 1)) for each in made.own}
    return frozenset(own | {(each.kind, each.name) for each in named(family, cluster)})


@fuzzed(150)
@given(specs(), st.sampled_from([Level.BASELINE, Level.RESTRICTED]))
def test_whatever_a_spec_says_its_objects_stay_within_the_powers(cluster: Cluster | None, level: Level) -> None:
    if cluster is None:
        return
    known = looked_at(cluster)
    found = {f"{made['kind']} {said}" for made in objects(cluster, level) for said in beyond(cluster, made, known)}
    assert found == set()
    if (policy := cluster.spec.replacement) is not None:
        key = Key(cluster.metadata.namespace, cluster.metadata.name)
        made = cron_job(PLACE, kind_of(cluster).engine, key, policy)
        assert list(beyond_detection(PLACE.namespace, PLACE.service_account, PLACE.image, made)) == []


def plain(record: type[Cluster] = OpenSearchCluster) -> Cluster:
    version, _, pools = RECORDS[record]
    meta = {"name": "logs", "namespace": "data", "uid": "u"}
    return msgspec.convert(
        {"kind": record.__name__, "metadata": meta, "spec": {"version": version, "pools": pools}}, record
    )


POD = "spec/template/spec"


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        *((kind, "metadata/namespace", "payments") for kind in ("Service", "StatefulSet", "Secret", "ConfigMap")),
        ("Secret", "metadata/name", "payments"),
        ("Secret", "metadata/ownerReferences", [{"kind": "x", "name": "y", "uid": "z"}]),
        ("Secret", "metadata/annotations", {"kubernetes.io/service-account.name": "admin"}),
        ("Secret", "type", "kubernetes.io/service-account-token"),
        ("Secret", "metadata/finalizers", ["x"]),
        ("Service", "metadata/labels/stateward.dev~allowed-for-pods", "true"),
        ("Service", "spec/externalIPs", ["10.0.0.1"]),
        ("Service", "spec/type", "ExternalName"),
        ("Service", "spec/selector", {"app": "payments"}),
        ("PersistentVolumeClaim", "spec/dataSource", {"name": "x"}),
        ("PodDisruptionBudget", "spec/selector", {"matchLabels": {}}),
        ("NetworkPolicy", "spec/podSelector", {}),
        ("NetworkPolicy", "spec/egress", []),
        ("StatefulSet", "spec/replicas", 2),
        ("StatefulSet", "spec/template/metadata/namespace", "x"),
        ("StatefulSet", f"{POD}/hostPID", True),
        ("StatefulSet", f"{POD}/serviceAccountName", "builder"),
        ("StatefulSet", f"{POD}/automountServiceAccountToken", None),
        ("StatefulSet", f"{POD}/volumes", [{"name": "x", "hostPath": {"path": "/"}}]),
        ("StatefulSet", f"{POD}/volumes", [{"name": "x", "secret": {"secretName": "payments"}}]),
        ("StatefulSet", f"{POD}/volumes", [{"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]),
        ("StatefulSet", f"{POD}/containers/0/securityContext", POWER),
        ("StatefulSet", f"{POD}/containers/0/envFrom", [{"secretRef": {"name": "payments"}}]),
        ("StatefulSet", f"{POD}/imagePullSecrets", [{"name": "payments"}]),
    ],
)
def test_a_power_beyond_the_list_is_named(kind: str, path: str, value: Any) -> None:
    cluster = plain()
    made = next(made for made in objects(cluster, Level.RESTRICTED) if made["kind"] == kind)
    assert beyond(cluster, made, looked_at(cluster)) == []
    steps = [step.replace("~", "/") for step in path.split("/")]
    at: Any = made
    for step in steps[:-1]:
        at = at[int(step)] if isinstance(at, list) else at.setdefault(step, {})
    at[steps[-1]] = value
    assert beyond(cluster, made, looked_at(cluster)) != []


@pytest.mark.parametrize("record", list(RECORDS))
def test_every_kind_of_the_list_is_made_and_held_to_it(record: type[Cluster]) -> None:
    cluster = plain(record)
    made = list(objects(cluster, Level.RESTRICTED))
    assert [said for each in made for said in beyond(cluster, each, looked_at(cluster))] == []
    assert {each["kind"] for each in made} == {
        *("ConfigMap", "Secret", "Service", "PersistentVolumeClaim", "StatefulSet", "PodDisruptionBudget"),
        "NetworkPolicy",
    }
