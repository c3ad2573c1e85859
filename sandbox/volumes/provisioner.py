"""Carries the decisions out: makes, grows and removes directories and their volumes."""

import shutil
import sys
from pathlib import Path

from sandbox.kubernetes.kubeapi import ApiError, KubeApi
from sandbox.layout import NodeLayout
from sandbox.volumes import decisions
from sandbox.volumes.decisions import Object

CLAIMS = "/api/v1/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"

# A database runs as a user of its own and may not change the owner of a directory it does not own.
_OPEN_TO_ALL = 0o777


class Provisioner:
    """One round at a time: reads all objects, makes the necessary changes, and keeps no state."""

    def __init__(self, api: KubeApi, nodes: Path) -> None:
        self._api, self._nodes = api, nodes

    def look(self) -> None:
        """Look at all claims and volumes once, and do what they need."""
        classes = {each["metadata"]["name"]: each for each in self._api.items(CLASSES)}
        claims = self._api.items(CLAIMS)
        volumes = {each["metadata"]["name"]: each for each in self._api.items(VOLUMES)}
        for claim in claims:
            self._serve(claim, classes, volumes)
        for volume in volumes.values():
            if decisions.to_be_deleted(volume):
                self._remove(volume)

    def _serve(self, claim: Object, classes: dict[str, Object], volumes: dict[str, Object]) -> None:
        node = decisions.wants_volume(claim, classes)
        bound = volumes.get(claim["spec"].get("volumeName") or "")
        if node is not None and decisions.volume_name(claim) not in volumes:
            self._create(claim, node, classes[claim["spec"]["storageClassName"]])
        elif bound is not None and (capacity := decisions.growth(claim, bound)) is not None:
            self._grow(claim, bound, capacity)

    def _create(self, claim: Object, node: str, storage_class: Object) -> None:
        directory = self._directory(node, decisions.volume_name(claim))
        directory.mkdir(parents=True, exist_ok=True)
        directory.chmod(_OPEN_TO_ALL)
        try:
            self._api.post(VOLUMES, decisions.new_volume(claim, node, storage_class))
        except ApiError as error:
            if error.status != 409:
                raise
        _say(f"made {directory.name} on {node} for {_named(claim)}")

    def _grow(self, claim: Object, volume: Object, capacity: str) -> None:
        # A directory has no size of its own: growing is a matter of saying so, in the order a driver would.
        name, metadata = volume["metadata"]["name"], claim["metadata"]
        self._api.patch(f"{VOLUMES}/{name}", {"spec": {"capacity": {"storage": capacity}}})
        path = f"/api/v1/namespaces/{metadata['namespace']}/persistentvolumeclaims/{metadata['name']}/status"
        self._api.patch(path, {"status": {"capacity": {"storage": capacity}, "conditions": []}})
        _say(f"grew {name} to {capacity} for {_named(claim)}")

    def _remove(self, volume: Object) -> None:
        name, node = volume["metadata"]["name"], decisions.node_of(volume)
        directory = self._directory(node, name)
        if directory.exists():
            shutil.rmtree(directory)
        self._api.delete(f"{VOLUMES}/{name}")
        _say(f"removed {name} from {node}")

    def _directory(self, node: str, volume: str) -> Path:
        return NodeLayout(self._nodes / node).volumes / volume


def _named(claim: Object) -> str:
    return f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"


def _say(message: str) -> None:
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()
