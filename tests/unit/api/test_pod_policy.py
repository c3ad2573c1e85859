"""Each control of the Pod Security Standards finds what it is for, and nothing else finds it."""

from typing import Any

import pytest

from stateward.api.pod_policy import Account, Level, Reference, account, baseline, references, restricted, violations
from stateward.api.pod_policy.violations import CONTROLS

Json = dict[str, Any]
HARD: Json = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
POD: Json = {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}}

POWER: Json = {"privileged": True, "allowPrivilegeEscalation": True}
"""Without the second the first makes no sense to the API server."""


def template(spec: Json | None = None, *, annotations: Json | None = None, **container: Any) -> Json:
    """Return a template that restricted accepts, with fields of its pod or of its container replaced."""
    made: Json = {"name": "db", "image": "db:1", "securityContext": HARD, **container}
    base: Json = {"securityContext": POD, "containers": [made], "automountServiceAccountToken": False}
    return {"metadata": {"annotations": annotations or {}}, "spec": {**base, **(spec or {})}}


def context(**fields: Any) -> Json:
    return template(securityContext={**HARD, **fields})


def pod(**fields: Any) -> Json:
    return template({"securityContext": {**POD, **fields}})


def volume(**source: Any) -> Json:
    return template({"volumes": [{"name": "v", **source}]})


def beside(kind: str, **fields: Any) -> Json:
    return template({kind: [{"name": "side", "image": "side:1", "securityContext": {**HARD, **fields}}]})


UNMASKED: Json = template({"hostUsers": False}, securityContext={**HARD, "procMount": "Unmasked"})
CASES: list[tuple[baseline.Control, str, Json]] = [
    (
        baseline.host_process,
        "spec.securityContext.windowsOptions.hostProcess",
        pod(windowsOptions={"hostProcess": True}),
    ),
    (
        baseline.host_process,
        "spec.containers[db].securityContext.windowsOptions.hostProcess",
        context(windowsOptions={"hostProcess": True}),
    ),
    (baseline.host_namespaces, "spec.hostNetwork", template({"hostNetwork": True})),
    (baseline.host_namespaces, "spec.hostPID", template({"hostPID": True})),
    (baseline.host_namespaces, "spec.hostIPC", template({"hostIPC": True})),
    (baseline.host_namespaces, "spec.hostIPC", template({"hostIPC": "yes"})),
    (baseline.privileged, "spec.containers[db].securityContext.privileged", context(**POWER)),
    (
        baseline.privileged,
        "spec.initContainers[side].securityContext.privileged",
        beside("initContainers", **POWER),
    ),
    (
        baseline.privileged,
        "spec.ephemeralContainers[side].securityContext.privileged",
        beside("ephemeralContainers", privileged=True),
    ),
    (baseline.host_paths, "spec.volumes[v].hostPath", volume(hostPath={"path": "/"})),
    (
        baseline.host_ports,
        "spec.containers[db].ports[http].hostPort",
        template(ports=[{"name": "http", "containerPort": 1, "hostPort": 80}]),
    ),
    (
        baseline.host_ports,
        "spec.containers[db].ports[0].hostPort",
        template(ports=[{"containerPort": 1, "hostPort": 80}]),
    ),
    *(
        (
            baseline.probe_hosts,
            f"spec.containers[db].{probe}.{kind}.host",
            template(**{probe: {kind: {"port": 1, "host": "169.254.169.254"}}}),
        )
        for probe in ("livenessProbe", "readinessProbe", "startupProbe")
        for kind in ("httpGet", "tcpSocket")
    ),
    *(
        (
            baseline.probe_hosts,
            f"spec.containers[db].lifecycle.{hook}.{kind}.host",
            template(lifecycle={hook: {kind: {"port": 1, "host": "10.0.0.1"}}}),
        )
        for hook in ("postStart", "preStop")
        for kind in ("httpGet", "tcpSocket")
    ),
    (baseline.apparmor, "spec.securityContext.appArmorProfile.type", pod(appArmorProfile={"type": "Unconfined"})),
    (
        baseline.apparmor,
        "spec.containers[db].securityContext.appArmorProfile.type",
        context(appArmorProfile={"type": "Unconfined"}),
    ),
    (
        baseline.apparmor,
        "metadata.annotations[container.apparmor.security.beta.kubernetes.io/db]",
        template(annotations={"container.apparmor.security.beta.kubernetes.io/db": "unconfined"}),
    ),
    (baseline.selinux, "spec.securityContext.seLinuxOptions.type", pod(seLinuxOptions={"type": "spc_t"})),
    (
        baseline.selinux,
        "spec.containers[db].securityContext.seLinuxOptions.user",
        context(seLinuxOptions={"user": "root"}),
    ),
    (
        baseline.selinux,
        "spec.containers[db].securityContext.seLinuxOptions.role",
        context(seLinuxOptions={"role": "sysadm_r"}),
    ),
    (baseline.proc_mount, "spec.containers[db].securityContext.procMount", UNMASKED),
    (
        baseline.seccomp,
        "spec.containers[db].securityContext.seccompProfile.type",
        context(seccompProfile={"type": "Unconfined"}),
    ),
    (
        baseline.sysctls,
        "spec.securityContext.sysctls[kernel.msgmax].name",
        pod(sysctls=[{"name": "kernel.msgmax", "value": "1"}]),
    ),
    (restricted.volume_types, "spec.volumes[v].nfs", volume(nfs={"server": "s", "path": "/"})),
    (restricted.volume_types, "spec.volumes[v].iscsi", volume(iscsi={"lun": 0})),
    (
        restricted.privilege_escalation,
        "spec.containers[db].securityContext.allowPrivilegeEscalation",
        context(allowPrivilegeEscalation=None),
    ),
    (
        restricted.privilege_escalation,
        "spec.containers[db].securityContext.allowPrivilegeEscalation",
        context(allowPrivilegeEscalation=True),
    ),
    (restricted.non_root, "spec.containers[db].securityContext.runAsNonRoot", context(runAsNonRoot=False)),
    (restricted.non_root, "spec.containers[db].securityContext.runAsNonRoot", pod(runAsNonRoot=None)),
    (restricted.user, "spec.containers[db].securityContext.runAsUser", context(runAsUser=0)),
    (restricted.user, "spec.securityContext.runAsUser", pod(runAsUser=0)),
    (restricted.seccomp_set, "spec.containers[db].securityContext.seccompProfile.type", pod(seccompProfile=None)),
    (
        restricted.capabilities_dropped,
        "spec.containers[db].securityContext.capabilities.drop",
        context(capabilities={"drop": ["CHOWN"]}),
    ),
    (
        restricted.capabilities_dropped,
        "spec.containers[db].securityContext.capabilities.add",
        context(capabilities={"drop": ["ALL"], "add": ["CHOWN"]}),
    ),
]


def level_of(control: baseline.Control) -> Level:
    """Return the first level that has a control."""
    return Level.BASELINE if control in CONTROLS[Level.BASELINE] else Level.RESTRICTED


def shown(path: tuple[str, ...]) -> str:
    return "".join(part if part.startswith("[") else f".{part}" for part in path).removeprefix(".")


@pytest.mark.parametrize(("control", "path", "given"), CASES)
def test_a_control_finds_what_it_is_for_and_without_it_nothing_does(
    control: baseline.Control, path: str, given: Json, monkeypatch: pytest.MonkeyPatch
) -> None:
    level = level_of(control)
    assert [shown(finding.path) for finding in violations(level, given)] == [path]
    assert violations(Level.PRIVILEGED, given) == ()
    monkeypatch.setitem(CONTROLS, level, tuple(each for each in CONTROLS[level] if each is not control))
    assert violations(level, given) == ()


def test_every_control_has_a_case() -> None:
    assert {control for control, _, _ in CASES} == {*CONTROLS[Level.RESTRICTED]} - {baseline.capabilities}


def test_a_capability_that_containers_do_not_have_is_found_by_both_levels() -> None:
    given = context(capabilities={"drop": ["ALL"], "add": ["NET_RAW"]})
    assert [f.value for f in violations(Level.BASELINE, given)] == ["NET_RAW"]
    assert [f.value for f in baseline.capabilities(given)] == ["NET_RAW"]
    assert {f.value for f in violations(Level.RESTRICTED, given)} == {"NET_RAW"}


def test_baseline_finds_no_fault_in_what_only_restricted_forbids() -> None:
    for control, _, given in CASES:
        if control in CONTROLS[Level.RESTRICTED] and control not in CONTROLS[Level.BASELINE]:
            assert violations(Level.BASELINE, given) == ()


@pytest.mark.parametrize(
    "given",
    [
        template(),
        context(capabilities={"drop": ["ALL"], "add": ["NET_BIND_SERVICE"]}),
        context(seccompProfile={"type": "Localhost", "localhostProfile": "x"}, procMount="Default", privileged=False),
        pod(sysctls=[{"name": "net.ipv4.tcp_rmem", "value": "1"}], seLinuxOptions={"type": "container_t"}),
        volume(ephemeral={}),
        volume(image={"reference": "x"}),
        volume(),
        template(readinessProbe={"httpGet": {"port": 1, "host": ""}}, ports=[{"containerPort": 1, "hostPort": 0}]),
        template(annotations={"container.apparmor.security.beta.kubernetes.io/db": "localhost/x"}),
    ],
)
def test_restricted_accepts_what_the_standard_accepts(given: Json) -> None:
    assert violations(Level.RESTRICTED, given) == ()


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("spec.containers", template({"containers": {"name": "db"}})),
        ("spec.containers[0]", template({"containers": ["db"]})),
        ("spec.containers[0]", template({"containers": [None]})),
        ("spec.containers[db].securityContext", template(securityContext=["privileged"])),
        ("spec.securityContext", template({"securityContext": "none"})),
        ("spec.volumes[v].secret", volume(secret=["x"])),
        ("spec.volumes[0]", template({"volumes": [[]]})),
        ("metadata.annotations", {"metadata": {"annotations": []}, "spec": {}}),
        ("spec", {"spec": "x"}),
        ("spec.serviceAccountName", template({"serviceAccountName": ["admin"]})),
        ("spec.containers[db].securityContext.capabilities.add", context(capabilities={"add": "SYS_ADMIN"})),
    ],
)
def test_what_has_not_the_shape_of_a_pod_is_refused_at_every_level(path: str, given: Json) -> None:
    for level in Level:
        assert path in [shown(finding.path) for finding in violations(level, given)]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        (template(), ()),
        (template({"serviceAccountName": "default"}), ()),
        (template({"serviceAccountName": ""}), ()),
        (template({"serviceAccountName": "admin"}), (Account("admin", ("spec", "serviceAccountName")),)),
        (template({"serviceAccount": "admin"}), (Account("admin", ("spec", "serviceAccount")),)),
        (
            template({"serviceAccount": "admin", "serviceAccountName": "default"}),
            (Account("admin", ("spec", "serviceAccount")),),
        ),
        (
            template({"automountServiceAccountToken": None}),
            (Account("default", ("spec", "automountServiceAccountToken")),),
        ),
        (
            template({"automountServiceAccountToken": True}),
            (Account("default", ("spec", "automountServiceAccountToken")),),
        ),
        *(
            (
                volume(projected={"sources": [{"configMap": {"name": "x"}}, {kind: {}}]}),
                (Account("default", ("spec", "volumes", "[v]", "projected", "sources", "[1]", kind)),),
            )
            for kind in ("serviceAccountToken", "podCertificate")
        ),
    ],
)
def test_accounts_that_a_user_has_to_allow(given: Json, found: tuple[Account, ...]) -> None:
    assert account(given) == found


ADDRESSES = (
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "glusterfs",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
    "somethingNew",
)
SOURCES: list[tuple[Json, tuple[str, str]]] = [
    (volume(secret={"secretName": "x"}), ("Secret", "x")),
    (volume(projected={"sources": [{"secret": {"name": "x"}}]}), ("Secret", "x")),
    (volume(csi={"driver": "d", "nodePublishSecretRef": {"name": "x"}}), ("Secret", "x")),
    (volume(csi={"driver": "d", "volumeAttributes": {"secretProviderClass": "x"}}), ("SecretProviderClass", "x")),
    (volume(csi={"driver": "d", "volumeAttributes": {"secretName": "x"}}), ("Secret", "x")),
    (volume(csi={"driver": "d", "volumeAttributes": {"csi.example.com/node-secretname": "x"}}), ("Secret", "x")),
    *((volume(**{kind: {}}), ("storage of kind", kind)) for kind in ADDRESSES),
    (volume(persistentVolumeClaim={"claimName": "x"}), ("PersistentVolumeClaim", "x")),
    (
        volume(ephemeral={"volumeClaimTemplate": {"spec": {"dataSource": {"kind": "VolumeSnapshot", "name": "x"}}}}),
        ("VolumeSnapshot", "x"),
    ),
    (
        volume(ephemeral={"volumeClaimTemplate": {"spec": {"dataSourceRef": {"name": "x"}}}}),
        ("PersistentVolumeClaim", "x"),
    ),
    (
        volume(
            ephemeral={"volumeClaimTemplate": {"spec": {"dataSourceRef": {"kind": "K", "apiGroup": "g", "name": "x"}}}}
        ),
        ("K.g", "x"),
    ),
    (
        volume(ephemeral={"volumeClaimTemplate": {"spec": {"dataSourceRef": {"name": "x", "namespace": "n"}}}}),
        ("PersistentVolumeClaim of namespace n", "x"),
    ),
    (volume(ephemeral={"volumeClaimTemplate": {"spec": {"volumeName": "x"}}}), ("PersistentVolume", "x")),
    (template({"imagePullSecrets": [{"name": "x"}]}), ("Secret", "x")),
    (template({"resourceClaims": [{"name": "gpu", "resourceClaimName": "x"}]}), ("ResourceClaim", "x")),
    (template(envFrom=[{"secretRef": {"name": "x"}}]), ("Secret", "x")),
    (template(env=[{"name": "A", "valueFrom": {"secretKeyRef": {"name": "x", "key": "k"}}}]), ("Secret", "x")),
    (
        template({"initContainers": [{"name": "i", "envFrom": [{"secretRef": {"name": "x"}}]}]}),
        ("Secret", "x"),
    ),
    (
        template({"ephemeralContainers": [{"name": "i", "envFrom": [{"secretRef": {"name": "x"}}]}]}),
        ("Secret", "x"),
    ),
]


@pytest.mark.parametrize(("given", "named"), SOURCES)
def test_whatever_shows_a_secret_or_a_volume_to_a_pod_is_a_reference(given: Json, named: tuple[str, str]) -> None:
    assert [(reference.kind, reference.name) for reference in references(given)] == [named]


def test_an_object_that_is_named_twice_is_one_reference_where_it_is_named_first() -> None:
    given = template(envFrom=[{"secretRef": {"name": "x"}}, {"secretRef": {"name": "x"}}])
    path = ("spec", "containers", "[db]", "envFrom", "[0]", "secretRef", "name")
    assert references(given) == (Reference("Secret", "x", path),)


def test_config_maps_and_files_of_the_node_are_no_references() -> None:
    """The first are no secrets, and the second what the level is about."""
    volumes = [{"name": "v", "configMap": {"name": "x"}}, {"name": "h", "hostPath": {"path": "/"}}]
    assert references(template({"volumes": volumes})) == ()
