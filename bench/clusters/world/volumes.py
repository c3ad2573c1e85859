"""Pretends a provisioner: every claim gets a volume of its own size at once, and is bound to it.

Kubernetes would bind the two by itself, one after the other: of thousands of claims that takes longer than all else.
"""

import asyncio
from contextlib import suppress
from typing import Any

from bench.clusters import fleet
from stateward.kube.cache.deltas import Change, Delta
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api, ApplyOptions, PatchKind
from stateward.kube.objects.errors import AlreadyExists
from stateward.kube.objects.metadata import Key, key_of
from stateward.kube.objects.resources import CLAIMS, STORAGE_CLASSES, VOLUMES
from stateward.kube.objects.storage import PersistentVolumeClaim

MODES = ["ReadWriteOnce"]


async def create_class(api: Api) -> None:
    """Make the storage class of the claims."""
    body = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": fleet.STORAGE_CLASS},
        "provisioner": "stateward.dev/bench",
        "volumeBindingMode": "Immediate",
    }
    await api.apply(STORAGE_CLASSES, Key("", fleet.STORAGE_CLASS), body, ApplyOptions("bench", force=True))


class Volumes:
    """Makes the volume of each new claim; Kubernetes binds the two."""

    def __init__(self, api: Api, claims: Store[PersistentVolumeClaim]) -> None:
        self._api = api
        self._tasks: set[asyncio.Task[None]] = set()
        claims.subscribe(self._changed)

    def _changed(self, delta: Delta[PersistentVolumeClaim]) -> None:
        if delta.change is Change.ADDED and delta.new is not None and not delta.new.spec.volume_name:
            task = asyncio.get_running_loop().create_task(self._provide(delta.new))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _provide(self, claim: PersistentVolumeClaim) -> None:
        made, key = volume(claim), key_of(claim)
        name = made["metadata"]["name"]
        with suppress(AlreadyExists):
            await self._api.create(VOLUMES, made)
        bound: dict[str, dict[str, Any]] = {"status": {"phase": "Bound"}}
        await self._api.patch(VOLUMES, Key("", name), bound, kind=PatchKind.MERGE, subresource="status")
        await self._api.patch(CLAIMS, key, binding(name), kind=PatchKind.MERGE)
        bound["status"] |= {"capacity": {"storage": claim.requested}, "accessModes": MODES}
        await self._api.patch(CLAIMS, key, bound, kind=PatchKind.MERGE, subresource="status")


def binding(volume_name: str) -> dict[str, Any]:
    """Return what ties a claim to a volume, with the mark that says that nothing is left to be done."""
    annotations = {"pv.kubernetes.io/bind-completed": "yes"}
    return {"metadata": {"annotations": annotations}, "spec": {"volumeName": volume_name}}


def volume(claim: PersistentVolumeClaim) -> dict[str, Any]:
    """Return the volume of a claim."""
    meta = claim.metadata
    reference = {"kind": "PersistentVolumeClaim", "name": meta.name, "namespace": meta.namespace, "uid": meta.uid}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pv-{meta.uid}"},
        "spec": {
            "capacity": {"storage": claim.requested},
            "accessModes": MODES,
            "storageClassName": fleet.STORAGE_CLASS,
            "persistentVolumeReclaimPolicy": "Delete",
            "claimRef": {"apiVersion": "v1", **reference},
            "hostPath": {"path": f"/nowhere/{meta.uid}"},
        },
    }
