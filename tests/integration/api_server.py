"""Fixtures for tests on a real API server without nodes: a namespace, definitions, and a fake kubelet."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from stateward.kube.access.config import connect
from stateward.kube.client.client import Api, ApplyOptions, DeleteOptions, PatchKind, Preconditions
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.objects.resources import NAMESPACES, PODS

ROOT = Path(__file__).parents[2]
PATIENCE = 180.0
"""Seconds: a busy machine takes its time."""
JOBS: Resource[dict[str, Any]] = Resource("batch", "v1", "jobs", "Job", dict[str, Any])
DEFINITIONS: Resource[dict[str, Any]] = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    dict[str, Any],
    namespaced=False,
)


@asynccontextmanager
async def own_namespace(kubeconfig: Path, prefix: str) -> AsyncGenerator[tuple[HttpApi, str]]:
    """Yield the API server and the name of a namespace of the test's own, which goes afterwards."""
    async with HttpApi(connect(kubeconfig=str(kubeconfig))) as api:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": f"{prefix}-"}}
        namespace = await api.create(NAMESPACES, body)
        try:
            yield api, namespace.metadata.name
        finally:
            await api.delete(NAMESPACES, Key("", namespace.metadata.name), DeleteOptions(Preconditions.of(namespace)))


async def define(api: Api, *kinds: Resource[Any]) -> None:
    """Have the API server know the kinds of Stateward, and wait until it serves these."""
    for path in sorted((ROOT / "charts/stateward/files/crds").glob("*.yaml")):
        body = yaml.safe_load(path.read_text())
        await api.apply(DEFINITIONS, Key("", body["metadata"]["name"]), body, ApplyOptions("test", force=True))
    deadline = time.monotonic() + PATIENCE
    for kind in kinds:
        while True:
            try:
                await api.list(kind.raw(), Selection("default"))
                break
            except ApiError:
                assert time.monotonic() < deadline
                await asyncio.sleep(0.2)


async def run_pods(api: Api, namespace: str) -> None:
    """Make pods Ready, and finish their deletion, because there is no kubelet."""
    while True:
        with suppress(ApiError):
            for pod in (await api.list(PODS.raw(), Selection(namespace))).items:
                await _serve(api, pod)
        await asyncio.sleep(0.2)


async def _serve(api: Api, pod: dict[str, Any]) -> None:
    meta = pod["metadata"]
    key = Key(meta["namespace"], meta["name"])
    if "deletionTimestamp" in meta:
        await api.delete(PODS, key, DeleteOptions(Preconditions(meta["uid"]), grace_seconds=0))
    elif pod["status"].get("phase") == "Pending":
        status = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        await api.patch(PODS, key, {"status": status}, kind=PatchKind.MERGE, subresource="status")


async def finish_jobs(api: Api, namespace: str) -> None:
    """Let the pods of jobs succeed, because there is no kubelet."""
    while True:
        with suppress(ApiError):
            open_jobs = {
                job["metadata"]["uid"]
                for job in (await api.list(JOBS, Selection(namespace))).items
                if not job.get("status", {}).get("succeeded")
            }
            for pod in (await api.list(PODS.raw(), Selection(namespace))).items if open_jobs else ():
                if any(owner["uid"] in open_jobs for owner in pod["metadata"].get("ownerReferences", [])):
                    done = {"status": {"phase": "Succeeded"}}
                    key = Key(namespace, pod["metadata"]["name"])
                    await api.patch(PODS, key, done, kind=PatchKind.MERGE, subresource="status")
        await asyncio.sleep(0.2)
