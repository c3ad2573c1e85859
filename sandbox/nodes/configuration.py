"""The configuration files of a node, as text. Paths are as the node sees them."""

import json
from typing import Any

import yaml

from sandbox.network.addressing import CLUSTER_DOMAIN, DNS_SERVICE_ADDRESS, PODS, NodeAddress

DIRECTORY = "/var/lib/sandbox"
CONTAINERD_SOCKET = "/run/containerd/containerd.sock"
PAUSE_IMAGE = "stateward.dev/sandbox-pause:1"

_CNI_PLUGINS = "/usr/lib/cni"


def containerd(runc: str) -> str:
    """Return containerd's configuration; `runc` is the path of the runtime."""
    return f"""\
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = [
  "io.containerd.internal.v1.opt",
  "io.containerd.snapshotter.v1.aufs",
  "io.containerd.snapshotter.v1.btrfs",
  "io.containerd.snapshotter.v1.devmapper",
  "io.containerd.snapshotter.v1.zfs",
]

[grpc]
  address = "{CONTAINERD_SOCKET}"

[plugins."io.containerd.grpc.v1.cri"]
  # Without CAP_SYS_RESOURCE nobody may lower a score; runc would fail with "can't get final child's PID".
  restrict_oom_score_adj = true
  sandbox_image = "{PAUSE_IMAGE}"

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{_CNI_PLUGINS}"
    conf_dir = "{DIRECTORY}/cni"

  [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      SystemdCgroup = false
      BinaryName = "{runc}"
"""


def cni(node: NodeAddress) -> str:
    """Return the network of the node's pods: a cable from each to the node, a subnet, no masquerading.

    Not a bridge: two pods of one bridge would answer each other past the node, and a Service between them
    would never work where the kernel has no br_netfilter.
    """
    cable: dict[str, Any] = {
        "type": "ptp",
        "ipMasq": False,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": str(node.pods)}]],
            "routes": [{"dst": "0.0.0.0/0"}],
        },
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return json.dumps({"cniVersion": "1.0.0", "name": "pods", "plugins": [cable, ports]}, indent=2)


def kubelet(node: NodeAddress, *, cgroup: str, sync_frequency: int) -> str:
    """Return the kubelet's configuration; `sync_frequency` in seconds."""
    return _yaml(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "anonymous": {"enabled": False},
                "webhook": {"enabled": True},
                "x509": {"clientCAFile": f"{DIRECTORY}/ca.crt"},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": f"{DIRECTORY}/kubelet-serving.crt",
            "tlsPrivateKeyFile": f"{DIRECTORY}/kubelet-serving.key",
            "address": node.address,
            "healthzBindAddress": "127.0.0.1",
            "readOnlyPort": 0,
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": f"/{cgroup}",
            "enforceNodeAllocatable": ["pods"],
            "failCgroupV1": False,
            "failSwapOn": False,
            "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
            "imageGCHighThresholdPercent": 100,  # an image removed here cannot be pulled again from anywhere
            "evictionHard": {"memory.available": "100Mi"},
            "syncFrequency": f"{sync_frequency}s",
            "clusterDomain": CLUSTER_DOMAIN,
            "clusterDNS": [DNS_SERVICE_ADDRESS],
            "resolvConf": f"{DIRECTORY}/resolv.conf",
            "serializeImagePulls": False,
        }
    )


def kube_proxy(machine: str, kubeconfig: str) -> str:
    """Return kube-proxy's configuration for the machine of that name."""
    return _yaml(
        {
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "nftables",
            "hostnameOverride": machine,
            "clientConnection": {"kubeconfig": kubeconfig},
            "clusterCIDR": str(PODS),
            "healthzBindAddress": "127.0.0.1:10256",
            "metricsBindAddress": "127.0.0.1:10249",
            # The connection-tracking limits belong to the whole machine: leave them alone.
            "conntrack": {"maxPerCore": 0, "min": 0, "tcpCloseWaitTimeout": "0s", "tcpEstablishedTimeout": "0s"},
        }
    )


def _yaml(content: dict[str, Any]) -> str:
    return yaml.safe_dump(content, sort_keys=False)
