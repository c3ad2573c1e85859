"""Putting the operator into a cluster: what `stateward manifests` prints, applied in order and waited for."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from stateward.cli.run.chart import NAMESPACE, objects
from stateward.cli.run.manifests import image_values
from stateward.kube.client.client import Api, ApplyOptions, DeleteOptions, Preconditions
from stateward.kube.objects.errors import NotFound, UnknownResource
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource

MANAGER = "stateward-demo"
"""Field manager of what the demo applies."""
PATIENCE = 180.0
"""Seconds for the operator to be Available: an image pull and a start."""


class NotInstalledError(Exception):
    """The operator did not come up; the message says what it waits for."""


def resource_of(document: dict[str, Any]) -> Resource[dict[str, Any]]:
    """Return the kind of a manifest, read and written as a whole."""
    group, _, version = str(document["apiVersion"]).rpartition("/")
    kind = str(document["kind"])
    namespaced = "namespace" in document["metadata"]
    return Resource(group, version, f"{kind.lower()}s", kind, dict[str, Any], namespaced)


async def put(api: Api, document: dict[str, Any]) -> dict[str, Any]:
    """Apply one manifest."""
    meta = document["metadata"]
    key = Key(meta.get("namespace", ""), meta["name"])
    return await api.apply(resource_of(document), key, document, ApplyOptions(MANAGER, force=True))


async def install(api: Api, image: str) -> None:
    """Install CRDs, rights and the operator with this image, and wait until it is Available.

    New clusters are not secured: the sandbox's images have official names, but most of them not the security plugin.
    """
    for wanted in objects({"image": image_values(image), "replicas": 1, "secureNewClusters": False}):
        if wanted["kind"] == "Deployment":
            # The name of the image stays the same when its content changes: the pod has to be told.
            wanted["spec"]["template"]["metadata"]["annotations"] = {
                "stateward.dev/demo": datetime.now(UTC).isoformat()
            }
        await put(api, wanted)
    await until_available(api)


async def until_available(api: Api) -> None:
    """Wait for the operator's Deployment; raises NotInstalledError with what it waits for."""
    kind = Resource("apps", "v1", "deployments", "Deployment", dict[str, Any])
    last = "its Deployment was not read yet"
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                last = unavailable(await api.get(kind, Key(NAMESPACE, "stateward")))
                if not last:
                    return
                await asyncio.sleep(1)
    except TimeoutError:
        raise NotInstalledError(f"the operator is not up after {PATIENCE:.0f} s: {last}") from None


def unavailable(deployment: dict[str, Any]) -> str:
    """Return what a Deployment still waits for; empty when its newest template runs and is ready."""
    status, wanted = deployment.get("status", {}), deployment["spec"].get("replicas", 1)
    if status.get("observedGeneration", 0) < deployment["metadata"]["generation"]:
        return "its newest change has not been looked at"
    if status.get("updatedReplicas", 0) < wanted or status.get("replicas", 0) > wanted:
        return "an old pod is still there"
    if status.get("availableReplicas", 0) < wanted:
        waiting = [c.get("message", "") for c in status.get("conditions", []) if c.get("status") == "False"]
        return next((text for text in waiting if text), "its pod is not ready")
    return ""


async def until_known(api: Api, kind: Resource[Any], namespace: str) -> None:
    """Wait until the API server serves a kind: right after its CRD was applied it does not yet."""
    async with asyncio.timeout(30):
        while True:
            try:
                await api.get(kind, Key(namespace, "none"))
            except UnknownResource:
                await asyncio.sleep(0.5)
            except NotFound:
                return
            else:
                return


async def fresh_namespace(api: Api, name: str) -> None:
    """Create the namespace of the demo's cluster; delete one of an earlier run first.

    Raises NotInstalledError if it exists and was not created by the demo, or if it is not deleted.
    """
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": {LABEL: MANAGER}}}
    kind = resource_of(body)
    try:
        async with asyncio.timeout(PATIENCE):
            while True:
                found = (await api.get(kind, Key("", name)))["metadata"]
                if found.get("labels", {}).get(LABEL) != MANAGER:
                    raise NotInstalledError(f"the namespace {name} was not made by the demo; delete it first")
                if "deletionTimestamp" not in found:
                    await api.delete(kind, Key("", name), DeleteOptions(Preconditions(found["uid"])))
                await asyncio.sleep(1)
    except NotFound:
        await put(api, body)
    except TimeoutError:
        raise NotInstalledError(f"the namespace {name} of an earlier run is not gone after {PATIENCE:.0f} s") from None


LABEL = "app.kubernetes.io/managed-by"
