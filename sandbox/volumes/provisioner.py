"""Carries the decisions out: makes, grows and removes what is behind the volumes, and their objects."""

import sys
from collections.abc import Callable
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.kubernetes.kubeapi import ApiError, KubeApi
from sandbox.volumes import decisions
from sandbox.volumes.backing import Backing
from sandbox.volumes.decisions import Object

CLAIMS = "/api/v1/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"


class Provisioner:
    """One round at a time: reads all objects, makes the necessary changes, and keeps no state.

    It serves the classes that name it, on the nodes for which `directory` returns one.
    """

    def __init__(self, api: KubeApi, name: str, backing: Backing, directory: Callable[[str], Path | None]) -> None:
        self._api, self._name, self._backing, self._directory = api, name, backing, directory

    def look(self) -> None:
        """Look at all claims and volumes once, and do what they need."""
        classes = {each["metadata"]["name"]: each for each in self._api.items(CLASSES)}
        claims = self._api.items(CLAIMS)
        volumes = {each["metadata"]["name"]: each for each in self._api.items(VOLUMES)}
        ours = {name: each for name, each in volumes.items() if self._serves(each)}
        for name, volume in ours.items():
            if decisions.to_be_deleted(volume, self._name):
                self._remove(volume)
            else:
                self._backing.restore(self._path(decisions.node_of(volume), name))
        for claim in claims:
            self._serve(claim, classes, ours)

    def _serves(self, volume: Object) -> bool:
        return decisions.is_ours(volume, self._name) and self._directory(decisions.node_of(volume)) is not None

    def _serve(self, claim: Object, classes: dict[str, Object], volumes: dict[str, Object]) -> None:
        node = decisions.wants_volume(claim, classes, self._name)
        bound = volumes.get(claim["spec"].get("volumeName") or "")
        if node is not None and self._directory(node) is not None and decisions.volume_name(claim) not in volumes:
            self._create(claim, node, classes[claim["spec"]["storageClassName"]])
        elif bound is not None and (capacity := decisions.growth(claim, bound)) is not None:
            self._grow(claim, bound, capacity)

    def _create(self, claim: Object, node: str, storage_class: Object) -> None:
        volume = decisions.new_volume(claim, node, storage_class, self._backing.inside)
        name = volume["metadata"]["name"]
        self._backing.make(self._path(node, name), int(decisions.in_bytes(volume["spec"]["capacity"]["storage"])))
        try:
            self._api.post(VOLUMES, volume)
        except ApiError as error:
            if error.status != 409:
                raise
        _say(f"made {name} on {node} for {_named(claim)}")

    def _grow(self, claim: Object, volume: Object, capacity: str) -> None:
        # In the order a driver would: what is behind it, the volume, the claim.
        name, metadata = volume["metadata"]["name"], claim["metadata"]
        self._backing.grow(self._path(decisions.node_of(volume), name), int(decisions.in_bytes(capacity)))
        self._api.patch(f"{VOLUMES}/{name}", {"spec": {"capacity": {"storage": capacity}}})
        path = f"/api/v1/namespaces/{metadata['namespace']}/persistentvolumeclaims/{metadata['name']}/status"
        self._api.patch(path, {"status": {"capacity": {"storage": capacity}, "conditions": []}})
        _say(f"grew {name} to {capacity} for {_named(claim)}")

    def _remove(self, volume: Object) -> None:
        name, node = volume["metadata"]["name"], decisions.node_of(volume)
        self._backing.remove(self._path(node, name))
        self._api.delete(f"{VOLUMES}/{name}")
        _say(f"removed {name} from {node}")

    def _path(self, node: str, volume: str) -> Path:
        directory = self._directory(node)
        if directory is None:
            raise SandboxError(f"the volumes of {node} are another provisioner's")
        return directory / volume


def _named(claim: Object) -> str:
    return f"{claim['metadata']['namespace']}/{claim['metadata']['name']}"


def _say(message: str) -> None:
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()
