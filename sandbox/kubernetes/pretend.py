"""Pretend nodes: kept Ready by kwok, which also lets their pods run. For benchmarks of many pods."""

from pathlib import Path

from sandbox.host.records import Records
from sandbox.kubernetes.controlplane import ControlPlane
from sandbox.kubernetes.kubeapi import ApiError, KubeApi, Object
from sandbox.layout import CONTROL_PLANE

MARK = "kwok.x-k8s.io/node"

_PODS = "10.245.0.0/16"
_KEY = "kwok"


def start_kwok(control_plane: ControlPlane, program: Path, api: KubeApi, *, nodes: int, tainted: bool) -> None:
    """Start kwok and create its nodes; `tainted` keeps ordinary pods away from them."""
    records = Records(control_plane.layout.records)
    if records.running(f"{CONTROL_PLANE}.{_KEY}") is None:
        control_plane.machine.start(
            _KEY,
            [
                str(program),
                f"--kubeconfig={control_plane.layout.kubeconfig_inside}",
                "--manage-all-nodes=false",
                f"--manage-nodes-with-annotation-selector={MARK}=fake",
                f"--cidr={_PODS}",
                "--node-ip=127.0.0.1",
                "--node-port=10247",
                "--server-address=127.0.0.1:10247",
                "--node-lease-duration-seconds=40",
            ],
        )
    for index in range(nodes):
        try:
            api.post("/api/v1/nodes", pretend_node(f"pretend-{index}", tainted=tainted))
        except ApiError as error:
            if error.status != 409:  # it is there already
                raise


def pretend_node(name: str, *, tainted: bool) -> Object:
    """Return the Node object of a node that does not exist."""
    room = {"cpu": "64", "memory": "256Gi", "pods": "2000"}
    taints = [{"key": MARK, "value": "fake", "effect": "NoSchedule"}] if tainted else []
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": {MARK: "fake", "node.alpha.kubernetes.io/ttl": "0"},
            "labels": {"type": "kwok", "kubernetes.io/hostname": name, "kubernetes.io/os": "linux"},
        },
        "spec": {"taints": taints},
        "status": {"allocatable": room, "capacity": room},
    }
