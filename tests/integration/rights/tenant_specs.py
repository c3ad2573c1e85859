"""Specs of a tenant: each tries to obtain a power or an object of another owner, and ordinary ones."""

from typing import Any

from stateward.api.values.base import Json
from stateward.operator.objects.kinds import CLUSTER_KINDS

SECRET, CLAIM, ACCOUNT = "payments-key", "payments-data", "builder"


OPEN, OPEN_ACCOUNT = "ours", "ours"
"""A Secret and an account that an administrator has allowed."""


KINDS = {kind.engine: kind.resource for kind in CLUSTER_KINDS}


POOLS: dict[str, list[Json]] = {
    "opensearch": [{"name": "all", "replicas": 1}],
    "elasticsearch": [{"name": "all", "replicas": 1}],
    "foundationdb": [
        {"name": "storage", "processClass": "storage", "replicas": 3},
        {"name": "log", "processClass": "log", "replicas": 3},
    ],
}


VERSIONS = {"opensearch": "2.19.5", "elasticsearch": "8.19.4", "foundationdb": "7.3.63"}


def pods(**spec: Any) -> Json:
    return {"podTemplate": {"spec": spec}}


def database(**fields: Any) -> Json:
    return pods(containers=[{"name": "opensearch", **fields}])


def rights(**fields: Any) -> Json:
    return database(securityContext=fields)


def side(kind: str, **fields: Any) -> Json:
    return pods(**{kind: [{"name": "side", "image": "busybox", **fields}]})


def volume(**source: Any) -> Json:
    return pods(volumes=[{"name": "x", **source}])


POWER: Json = {"privileged": True, "allowPrivilegeEscalation": True}


TOKEN: Json = {"serviceAccountToken": {"path": "token", "audience": "vault"}}


WAYS: dict[str, Json] = {
    "privileged": rights(**POWER),
    "sidecar": side("containers", securityContext=POWER),
    "init": side("initContainers", securityContext=POWER),
    "ephemeral": side("ephemeralContainers", securityContext=POWER),
    "agent": pods(initContainers=[{"name": "stateward-agent", "image": "busybox", "securityContext": POWER}]),
    "one-pool": {"pools": [{"name": "all", "replicas": 1, **rights(**POWER)}]},
    "capability": rights(capabilities={"add": ["SYS_ADMIN"]}),
    "raw-network": side("containers", securityContext={"capabilities": {"add": ["NET_RAW"]}}),
    "host-process": pods(securityContext={"windowsOptions": {"hostProcess": True}}),
    "host-network": pods(hostNetwork=True),
    "host-pid": pods(hostPID=True),
    "host-ipc": pods(hostIPC=True),
    "host-port": database(ports=[{"containerPort": 9200, "protocol": "TCP", "hostPort": 9200}]),
    "host-path": volume(hostPath={"path": "/"}),
    "host-path-in-place": pods(volumes=[{"name": "run", "emptyDir": None, "hostPath": {"path": "/"}}]),
    "host-path-replaced": pods(volumes=[{"name": "run", "$patch": "replace", "hostPath": {"path": "/"}}]),
    "probe": side("containers", livenessProbe={"httpGet": {"port": 80, "host": "169.254.169.254"}}),
    "hook": side("containers", lifecycle={"postStart": {"httpGet": {"port": 80, "host": "169.254.169.254"}}}),
    "apparmor": rights(appArmorProfile={"type": "Unconfined"}),
    "apparmor-annotation": {
        "podTemplate": {
            "metadata": {
                "annotations": {"container.apparmor.security.beta.kubernetes.io/opensearch": "unconfined"},
            }
        }
    },
    "selinux": rights(seLinuxOptions={"type": "spc_t"}),
    "selinux-user": pods(securityContext={"seLinuxOptions": {"user": "system_u"}}),
    "proc": {
        **pods(hostUsers=False, containers=[{"name": "opensearch", "securityContext": {"procMount": "Unmasked"}}])
    },
    "seccomp": pods(securityContext={"seccompProfile": {"type": "Unconfined"}}),
    "sysctl": pods(securityContext={"sysctls": [{"name": "vm.max_map_count", "value": "262144"}]}),
    "account": pods(serviceAccountName=ACCOUNT),
    "account-by-its-old-name": pods(serviceAccount=ACCOUNT),
    "default-token": pods(automountServiceAccountToken=True),
    "default-token-left-out": pods(automountServiceAccountToken=None),
    "token-for-vault": volume(projected={"sources": [TOKEN]}),
    "secret": volume(secret={"secretName": SECRET}),
    "secret-optional": volume(secret={"secretName": "made-later", "optional": True}),
    "secret-in-place": pods(volumes=[{"name": "config", "secret": {"secretName": SECRET}}]),
    "secret-projected": volume(projected={"sources": [{"secret": {"name": SECRET}}]}),
    "secret-variables": database(envFrom=[{"secretRef": {"name": SECRET}}]),
    "secret-variable": database(env=[{"name": "K", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "key"}}}]),
    "secret-init": side("initContainers", envFrom=[{"secretRef": {"name": SECRET}}]),
    "secret-csi": volume(csi={"driver": "d", "nodePublishSecretRef": {"name": SECRET}}),
    "secret-keystore": {"secureSettings": [{"secretName": SECRET}]},
    "secret-as-certificate": {"security": {"enabled": True, "http": {"secretName": SECRET}}},
    "secret-as-authority": {"security": {"enabled": True, "caSecretName": SECRET}},
    "secret-as-administrator": {"security": {"enabled": True, "adminSecretName": SECRET}},
    "secret-of-a-registry": pods(imagePullSecrets=[{"name": SECRET}]),
    "secret-of-a-driver": volume(csi={"driver": "d", "volumeAttributes": {"secretName": SECRET}}),
    "secret-as-its-own": {
        "pools": [{"name": "all", "replicas": 2}],
        "members": {"replace": ["secret-as-its-own-all-0"]},
        **volume(secret={"secretName": "secret-as-its-own-all-0"}),
    },
    "network-storage": volume(nfs={"server": "10.0.0.1", "path": "/payments-export"}),
    "disk": volume(gcePersistentDisk={"pdName": "payments-disk"}),
    "device": pods(resourceClaims=[{"name": "d", "resourceClaimName": "payments-device"}]),
    "clients-of-another": {"podTemplate": {"metadata": {"labels": {"app": "payments-app"}}}},
    "claim": volume(persistentVolumeClaim={"claimName": CLAIM}),
    "claim-in-place": pods(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": CLAIM}}]),
    "claim-copied": volume(
        ephemeral={
            "volumeClaimTemplate": {
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                    "dataSource": {"kind": "PersistentVolumeClaim", "name": CLAIM},
                }
            }
        }
    ),
}


OTHER_ENGINES: dict[str, tuple[str, Json]] = {
    "of-elasticsearch": ("elasticsearch", pods(hostPID=True)),
    "secret-of-elasticsearch": ("elasticsearch", volume(secret={"secretName": SECRET})),
    "of-foundationdb": ("foundationdb", pods(hostPID=True)),
    "secret-of-foundationdb": ("foundationdb", volume(secret={"secretName": SECRET})),
}


EVERY = {**{name: ("opensearch", spec) for name, spec in WAYS.items()}, **OTHER_ENGINES}


OWN = "secret-as-its-own-all-0"
"""A Secret of another owner, with the name of a cluster's member."""


PAYMENTS = "payments"
"""The name of a cluster whose certificate Secret has the name of another owner's Secret."""


ORDINARY: dict[str, Json] = {
    "plain": {},
    "kept-to-nodes": pods(nodeSelector={"disk": "fast"}, tolerations=[{"operator": "Exists"}]),
    "with-a-sidecar": side("containers", securityContext={"capabilities": {"drop": ["ALL"]}}),
    "with-what-is-allowed": {
        "podTemplate": {
            "spec": {
                "serviceAccountName": OPEN_ACCOUNT,
                "automountServiceAccountToken": True,
                "volumes": [{"name": "x", "secret": {"secretName": OPEN}}],
            }
        },
        "secureSettings": [{"secretName": OPEN}],
    },
}


def off(engine: str) -> Json:
    return {} if engine == "foundationdb" else {"security": {"enabled": False}}
