"""The pod policy beside the judge that Kubernetes has itself: what one accepts the other accepts, and the other way."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sandbox.kubernetes.kubeapi import ApiError, KubeApi
from stateward.api.pod_policy import Level, baseline, violations
from stateward.api.values.base import Json
from stateward.operator.databases.engine import unconnected
from stateward.operator.objects.kinds import CLUSTER_KINDS
from stateward.operator.pod_rights.finished import final_templates
from tests.unit.api.test_pod_policy import CASES, level_of
from tests.unit.operator.pod_rights.clusters import elastic, foundation, search

pytestmark = pytest.mark.integration

ENFORCE = "pod-security.kubernetes.io/enforce"
JUDGED = (Level.BASELINE, Level.RESTRICTED)
Judge = Callable[[Level, Json], bool | None]


@pytest.fixture(scope="module")
def judge(control_plane: Path) -> Iterator[Judge]:
    """Return what asks the API server whether it would admit a pod; None where it is no valid pod at all."""
    api, mark = KubeApi(control_plane), uuid4().hex[:8]
    for level in JUDGED:
        meta = {"name": f"pods-{level}-{mark}", "labels": {ENFORCE: level, f"{ENFORCE}-version": "v1.34"}}
        api.apply(f"/api/v1/namespaces/{meta['name']}", {"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        api.apply(f"/api/v1/namespaces/pods-{level}-{mark}/serviceaccounts/default", account)

    def admits(level: Level, template: Json) -> bool | None:
        body = {"apiVersion": "v1", "kind": "Pod", **template}
        body["metadata"] = {**template.get("metadata", {}), "name": "drawn"}
        try:
            api.post(f"/api/v1/namespaces/pods-{level}-{mark}/pods?dryRun=All", body)
        except ApiError as error:
            if "violates PodSecurity" in str(error):
                return False
            if error.status not in {400, 422}:
                raise
            return None
        return True

    yield admits
    for level in JUDGED:
        api.delete(f"/api/v1/namespaces/pods-{level}-{mark}")


def some(**values: list[Any]) -> st.SearchStrategy[Json]:
    """Draw an object with any of the fields, mostly few, and mostly with the first of their values."""
    fields = {name: st.sampled_from(choices) for name, choices in values.items()}
    return st.lists(st.sampled_from(list(fields)), max_size=3, unique=True).flatmap(
        lambda chosen: st.fixed_dictionaries({name: fields[name] for name in chosen})
    )


PROFILES: list[Any] = [
    {"type": "RuntimeDefault"},
    {"type": "Unconfined"},
    {"type": "Localhost", "localhostProfile": "p"},
]
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
SELINUX: list[Any] = [{}, {"type": "container_t"}, {"type": "container_engine_t"}, {"type": "spc_t"}, {"user": "u"}]
SELINUX.extend([{"role": "r"}, {"level": "s0"}])
ANY_CONTEXT: dict[str, list[Any]] = {
    "seccompProfile": PROFILES,
    "appArmorProfile": PROFILES,
    "seLinuxOptions": SELINUX,
    "runAsNonRoot": [True, False],
    "runAsUser": [1000, 0],
    "windowsOptions": [{}, {"hostProcess": False}, {"hostProcess": True}],
}
CONTEXT = some(
    **ANY_CONTEXT,
    privileged=[False, True],
    allowPrivilegeEscalation=[False, True],
    procMount=["Default", "Unmasked"],
    capabilities=[
        {"drop": ["ALL"]},
        {"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]},
        {"drop": ["ALL"], "add": ["CHOWN"]},
        {"add": ["NET_RAW"]},
        {"add": ["CHOWN", "SYS_ADMIN"]},
        {"add": ["CAP_CHOWN"]},
        {"drop": ["all"]},
    ],
    readOnlyRootFilesystem=[True],
)
SYSCTLS = [
    "net.ipv4.tcp_rmem",
    "kernel.shm_rmid_forced",
    "kernel.msgmax",
    "vm.max_map_count",
    "net.ipv4.tcp_fin_timeout",
]
POD_CONTEXT = some(**ANY_CONTEXT, fsGroup=[1000], sysctls=[[], *([{"name": name, "value": "1"}] for name in SYSCTLS)])
HANDLERS: list[Any] = [
    {"httpGet": {"port": 1}},
    {"httpGet": {"port": 1, "host": ""}},
    {"httpGet": {"port": 1, "host": "10.0.0.1"}},
    {"tcpSocket": {"port": 1, "host": "localhost"}},
    {"tcpSocket": {"port": 1}},
    {"exec": {"command": ["true"]}},
]
PORTS: list[Any] = [
    [{"containerPort": 80}],
    [{"containerPort": 80, "hostPort": 0}],
    [{"containerPort": 8, "hostPort": 8}],
]
HARD: Json = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
BARE: Json = {"securityContext": HARD}


def container(name: str) -> st.SearchStrategy[Json]:
    more = some(
        ports=PORTS,
        livenessProbe=HANDLERS,
        readinessProbe=HANDLERS,
        startupProbe=HANDLERS,
        lifecycle=[{hook: handler} for hook in ("postStart", "preStop") for handler in HANDLERS],
    )
    context = st.just(HARD) | CONTEXT.map(lambda drawn: {**HARD, **drawn}) | CONTEXT

    def build(fields: Json, rights: Json) -> Json:
        return {"name": name, "image": "i", "securityContext": rights, **fields}

    return st.builds(build, st.just({}) | more, context)


VOLUMES: list[Json] = [
    {},
    {"emptyDir": {}},
    {"emptyDir": {"medium": "Memory"}},
    {"hostPath": {"path": "/"}},
    {"secret": {"secretName": "s"}},
    {"configMap": {"name": "c"}},
    {"nfs": {"server": "s", "path": "/"}},
    {"csi": {"driver": "d"}},
    {"image": {"reference": "r"}},
    {"projected": {"sources": [{"serviceAccountToken": {"path": "t", "audience": "a"}}]}},
    {"persistentVolumeClaim": {"claimName": "c"}},
    {"downwardAPI": {"items": []}},
    {"iscsi": {"targetPortal": "1.2.3.4:1", "iqn": "iqn.2001-04.com.example:x", "lun": 0}},
    {"gitRepo": {"repository": "r"}},
    {"cephfs": {"monitors": ["m"]}},
    {"flexVolume": {"driver": "d/d"}},
]
SOUND: Json = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}
ANNOTATION = "container.apparmor.security.beta.kubernetes.io/db"


@st.composite
def templates(draw: st.DrawFn) -> Json:
    """Draw a pod, mostly one that is hardened in all but one or two places."""
    spec: Json = {
        "containers": [draw(container("db")), *draw(st.just([]) | st.tuples(container("side")).map(list))],
        "securityContext": draw(st.just(SOUND) | POD_CONTEXT.map(lambda drawn: {**SOUND, **drawn}) | POD_CONTEXT),
        **draw(st.just({}) | some(hostNetwork=[True, False], hostPID=[True], hostIPC=[True], hostUsers=[True, False])),
    }
    if draw(st.booleans()):
        spec["volumes"] = [{"name": "v", **draw(st.sampled_from(VOLUMES))}]
    if draw(st.sampled_from([False, False, True])):
        spec["initContainers"] = [draw(container("init"))]
        for name in ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle"):
            spec["initContainers"][0].pop(name, None)
    values = st.sampled_from(["runtime/default", "localhost/p", "unconfined"])
    annotations = draw(st.just({}) | st.fixed_dictionaries({ANNOTATION: values}))
    return {"metadata": {"annotations": annotations}, "spec": spec}


def test_it_accepts_what_the_api_server_accepts_and_refuses_what_it_refuses(judge: Judge) -> None:
    verdicts = Counter[tuple[Level, bool | None]]()

    @settings(max_examples=400, deadline=None, suppress_health_check=SLOW)
    @given(template=templates(), level=st.sampled_from(JUDGED))
    def compare(template: Json, level: Level) -> None:
        theirs = judge(level, template)
        verdicts[level, theirs] += 1
        if theirs is not None:
            assert (violations(level, template) == ()) is theirs

    compare()
    assert all(verdicts[level, verdict] >= 15 for level in JUDGED for verdict in (True, False)), verdicts


def test_what_a_control_is_for_the_api_server_refuses_too(judge: Judge) -> None:
    """All but what is no valid pod there: a process of a Windows host beside a container of Linux."""
    refused = {control for control, _, template in CASES if judge(level_of(control), template) is False}
    assert not [path for control, path, template in CASES if judge(level_of(control), template)]
    assert refused == {control for control, _, _ in CASES} - {baseline.host_process}


def test_the_pods_of_every_engine_are_admitted_where_only_restricted_ones_are(judge: Judge) -> None:
    seen: set[str] = set()
    for cluster in (search(), search(security={"enabled": True}), elastic(), foundation()):
        kind = next(kind for kind in CLUSTER_KINDS if kind.resource.kind == cluster.kind)
        for made in final_templates(unconnected(kind), cluster):
            assert judge(Level.RESTRICTED, made.template) is True
            seen.add(kind.engine)
    assert seen == {kind.engine for kind in CLUSTER_KINDS}
