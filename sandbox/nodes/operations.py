"""Operations on a running node: stop and start, cut and join, cordon and drain."""

import time
from collections.abc import Callable
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.host.records import Records
from sandbox.images.loading import load
from sandbox.images.pause import pause_image
from sandbox.kubernetes.kubeapi import ApiError, KubeApi, Object, wait_for
from sandbox.layout import SWITCH
from sandbox.network import links
from sandbox.network.addressing import NodeAddress
from sandbox.network.machines import Machine
from sandbox.nodes.node import Node

_MIRROR = "kubernetes.io/config.mirror"


def is_ready(node: Object) -> bool:
    """Return whether a Node object says that the node is Ready."""
    conditions = node.get("status", {}).get("conditions", [])
    return any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)


def await_readiness(api: KubeApi, name: str, *, ready: bool, seconds: float) -> None:
    """Wait until Kubernetes says that the node is Ready, or is not."""

    def reached() -> bool:
        found = api.find(f"/api/v1/nodes/{name}")
        return (found is not None and is_ready(found)) is ready

    wait_for(f"node {name} to be {'Ready' if ready else 'NotReady'}", reached, seconds=seconds)


def start(node: Node, native: Path, all_nodes: tuple[NodeAddress, ...]) -> None:
    """Switch on whatever of the node is off."""
    node.boot(native / "pause", all_nodes)
    load(node, pause_image(native))
    node.start_kubelet()


def stop(node: Node, *, with_containers: bool) -> None:
    """End the kubelet, or the whole node as in a power cut."""
    if with_containers:
        node.halt()
    else:
        node.stop_kubelet()


def stop_containerd(node: Node) -> None:
    """End containerd: containers continue, and none can be started, stopped or looked into."""
    Records(node.control_plane.layout.records).end(f"{node.name}.containerd")


def cut(node: Node) -> None:
    """Take the node's link down: it is isolated, and its containers continue."""
    links.cut(Machine(node.control_plane.layout, SWITCH), node.machine)


def mute(node: Node) -> None:
    """Drop what the node sends; it still hears the others."""
    links.mute(node.machine)


def join(node: Node) -> None:
    """Take the node's link up again, in both directions."""
    links.join(Machine(node.control_plane.layout, SWITCH), node.machine)
    links.unmute(node.machine)


def cordon(api: KubeApi, name: str, *, on: bool) -> None:
    """Keep new pods away from the node, or let them come again."""
    api.patch(f"/api/v1/nodes/{name}", {"spec": {"unschedulable": on}})


def drain(api: KubeApi, name: str, *, seconds: float, say: Callable[[str], None]) -> None:
    """Cordon the node and evict its pods, as far as their disruption budgets allow, within `seconds`."""
    cordon(api, name, on=True)
    deadline = time.monotonic() + seconds
    while pods := _evictable(api, name):
        refusals = [refusal for pod in pods if (refusal := _evict(api, pod)) is not None]
        if time.monotonic() > deadline:
            names = ", ".join(f"{each['metadata']['namespace']}/{each['metadata']['name']}" for each in pods)
            raise SandboxError(f"node {name} is not empty after {seconds:.0f} s: {names} {' '.join(refusals)}".strip())
        if refusals:
            say(refusals[0])
        time.sleep(1)  # what kubectl drain waits between its looks, too


def _evictable(api: KubeApi, node: str) -> list[Object]:
    pods = api.items(f"/api/v1/pods?fieldSelector=spec.nodeName%3D{node}")
    return [each for each in pods if not _stays(each)]


def _stays(pod: Object) -> bool:
    owners = pod["metadata"].get("ownerReferences", [])
    return _MIRROR in pod["metadata"].get("annotations", {}) or any(each["kind"] == "DaemonSet" for each in owners)


def _evict(api: KubeApi, pod: Object) -> str | None:
    """Ask for the pod's eviction; return the reason if a disruption budget refuses it."""
    metadata = pod["metadata"]
    if metadata.get("deletionTimestamp"):
        return None
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": metadata["name"]}}
    try:
        api.post(f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}/eviction", body)
    except ApiError as error:
        if error.status == 429:
            return f"{metadata['namespace']}/{metadata['name']}: {error}"
        if error.status != 404:
            raise
    return None
