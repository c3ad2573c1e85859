"""What makes a bare Kubernetes comfortable: names (CoreDNS), Services in the control plane's machine, volumes."""

import sys
from pathlib import Path

from sandbox.host.files import write_if_changed
from sandbox.host.records import Records
from sandbox.kubernetes.controlplane import ControlPlane
from sandbox.kubernetes.kubeapi import KubeApi, Object
from sandbox.layout import CONTROL_PLANE, sources
from sandbox.network.addressing import CLUSTER_DOMAIN, CONTROL_PLANE_ADDRESS, DNS_SERVICE_ADDRESS
from sandbox.nodes import configuration
from sandbox.volumes.names import LIMITED_CLASS, LIMITED_PROVISIONER, PROVISIONER, STORAGE_CLASS


def start_addons(control_plane: ControlPlane, api: KubeApi) -> None:
    """Start the helpers that do not run, and apply the objects they need."""
    for path, body in objects().items():
        api.apply(path, body)
    pki = control_plane.layout.pki
    corefile, proxy = pki / "Corefile", pki / "kube-proxy.yaml"
    write_if_changed(corefile, corefile_text(pki / "coredns.kubeconfig"))
    write_if_changed(proxy, configuration.kube_proxy("n1", str(pki / "kube-proxy.kubeconfig")))
    commands = {
        "coredns": [str(control_plane.binaries / "coredns"), "-conf", str(corefile)],
        # Tools that are started inside by `exec` reach Services as pods do.
        "kube-proxy": [str(control_plane.binaries / "kube-proxy"), f"--config={proxy}"],
        "local-volumes": _provisioner(control_plane),
    }
    records = Records(control_plane.layout.records)
    for component, argv in commands.items():
        if records.running(f"{CONTROL_PLANE}.{component}") is None:
            control_plane.machine.start(component, argv, {"PYTHONPATH": str(sources().parent)})


def corefile_text(kubeconfig: Path) -> str:
    """Return CoreDNS's configuration: the cluster's names and nothing else, for there is nothing else to reach."""
    return f"""\
.:53 {{
    bind {CONTROL_PLANE_ADDRESS}
    errors
    health {CONTROL_PLANE_ADDRESS}:8080
    ready {CONTROL_PLANE_ADDRESS}:8181
    kubernetes {CLUSTER_DOMAIN} in-addr.arpa ip6.arpa {{
        kubeconfig {kubeconfig}
        pods insecure
        ttl 5
    }}
    cache 5
}}
"""


def objects() -> dict[str, Object]:
    """Return the objects of the helpers, by path."""
    return {
        "/api/v1/namespaces/kube-system/services/kube-dns": _dns_service(),
        "/apis/discovery.k8s.io/v1/namespaces/kube-system/endpointslices/kube-dns": _dns_endpoints(),
        f"/apis/storage.k8s.io/v1/storageclasses/{STORAGE_CLASS}": _storage_class(
            STORAGE_CLASS, PROVISIONER, default="true"
        ),
        **_role("coredns", "system:coredns", _DNS_RULES),
        **_role("local-volumes", "system:local-volumes", _VOLUME_RULES),
        **_role("policies", "system:policies", _POLICY_RULES),
    }


def _provisioner(control_plane: ControlPlane) -> list[str]:
    layout = control_plane.layout
    kubeconfig = layout.pki / "local-volumes.kubeconfig"
    return [sys.executable, "-m", "sandbox.volumes", str(kubeconfig), str(layout.root / "nodes")]


def _dns_service() -> Object:
    ports = [
        {"name": name, "port": 53, "protocol": protocol} for name, protocol in (("dns", "UDP"), ("dns-tcp", "TCP"))
    ]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kube-dns",
            "namespace": "kube-system",
            "labels": {"k8s-app": "kube-dns", "kubernetes.io/name": "CoreDNS"},
        },
        # No selector: CoreDNS is a process of the control plane's machine, not a pod.
        "spec": {"clusterIP": DNS_SERVICE_ADDRESS, "ports": ports},
    }


def _dns_endpoints() -> Object:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kube-dns",
            "namespace": "kube-system",
            "labels": {"kubernetes.io/service-name": "kube-dns", "endpointslice.kubernetes.io/managed-by": "sandbox"},
        },
        "addressType": "IPv4",
        "endpoints": [{"addresses": [CONTROL_PLANE_ADDRESS], "conditions": {"ready": True}}],
        "ports": [
            {"name": "dns", "port": 53, "protocol": "UDP"},
            {"name": "dns-tcp", "port": 53, "protocol": "TCP"},
        ],
    }


def limited_class() -> dict[str, Object]:
    """Return the class of volumes that have a size, by path."""
    body = _storage_class(LIMITED_CLASS, LIMITED_PROVISIONER, default="false")
    return {f"/apis/storage.k8s.io/v1/storageclasses/{LIMITED_CLASS}": body}


def _storage_class(name: str, provisioner: str, *, default: str) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {
            "name": name,
            "annotations": {"storageclass.kubernetes.io/is-default-class": default},
        },
        "provisioner": provisioner,
        "reclaimPolicy": "Delete",
        "volumeBindingMode": "WaitForFirstConsumer",
        "allowVolumeExpansion": True,
    }


_READ = ["get", "list", "watch"]
_DNS_RULES: list[Object] = [
    {"apiGroups": [""], "resources": ["endpoints", "services", "pods", "namespaces"], "verbs": _READ},
    {"apiGroups": ["discovery.k8s.io"], "resources": ["endpointslices"], "verbs": _READ},
]
_POLICY_RULES: list[Object] = [
    {"apiGroups": [""], "resources": ["pods", "namespaces"], "verbs": _READ},
    {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": _READ},
]
_VOLUME_RULES: list[Object] = [
    {"apiGroups": [""], "resources": ["persistentvolumes"], "verbs": [*_READ, "create", "delete", "patch"]},
    {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": _READ},
    {"apiGroups": [""], "resources": ["persistentvolumeclaims/status"], "verbs": ["patch"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create"]},
    {"apiGroups": ["storage.k8s.io"], "resources": ["storageclasses"], "verbs": _READ},
]


def _role(name: str, user: str, rules: list[Object]) -> dict[str, Object]:
    group = "rbac.authorization.k8s.io"
    full = f"sandbox:{name}"
    return {
        f"/apis/{group}/v1/clusterroles/{full}": {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRole",
            "metadata": {"name": full},
            "rules": rules,
        },
        f"/apis/{group}/v1/clusterrolebindings/{full}": {
            "apiVersion": f"{group}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": full},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": full},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user}],
        },
    }
