"""The delay of a changed Secret in a running pod: by the kubelet's own interval, and with an annotation of the pod.

One node whose kubelet looks at its pods as often as Kubernetes does by default, and one pod that says what is mounted.
Why this matters: `stateward.operator.act.sync_now`.
"""

import asyncio
import time

from bench.clusters.scale import percentile, say
from bench.table import Row
from demo.install import fresh_namespace
from sandbox import Sandbox
from stateward.api.values import names
from stateward.kube.access.config import connect
from stateward.kube.client.client import Api, ApplyOptions, PatchKind, RawRequest
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import Key

SANDBOX, NAMESPACE, NAME = "stateward-bench-arrival", "bench-arrival", "reader"
EVERY = 60
"""Seconds between two looks of a kubelet: Kubernetes' default."""
PATIENCE = 300.0
TIMES = 5
PROGRAM = """
import pathlib, time
last = ""
while True:
    said = pathlib.Path("/seen/value").read_text()
    if said != last:
        print("seen", said, flush=True)
        last = said
    time.sleep(0.05)
"""


def measure() -> list[Row]:
    """Bring a sandbox with one node up, change a Secret with and without a word to the pod, and return the figures."""
    sandbox = Sandbox(SANDBOX).up(nodes=1, sync_frequency=EVERY)
    try:
        image = sandbox.load_image("stateward")
        alone, told = asyncio.run(changes(str(sandbox.kubeconfig_path), image))
    finally:
        sandbox.down()
    return rows(alone, told)


def rows(alone: list[float], told: list[float]) -> list[Row]:
    """Return both ways as rows; times in seconds."""
    what = "a changed Secret is in its pod, p50 / longest"
    return [
        Row(f"{what}, by itself", _said(alone), note=f"{len(alone)} changes; the kubelet looks every {EVERY} s"),
        Row(f"{what}, when the pod is told", _said(told), note=f"{len(told)} changes"),
    ]


def _said(seconds: list[float]) -> str:
    return f"{percentile(seconds, 50):.1f} / {max(seconds):.1f} s"


async def changes(kubeconfig: str, image: str) -> tuple[list[float], list[float]]:
    """Return the seconds that each change took, without a word to the pod and with one."""
    async with HttpApi(connect(kubeconfig=kubeconfig)) as api:
        await fresh_namespace(api, NAMESPACE)
        await write(api, "0")
        await api.create(kinds.PODS, pod(image), namespace=NAMESPACE)
        await seen(api, "0")
        found: tuple[list[float], list[float]] = ([], [])
        for number in range(1, 2 * TIMES + 1):
            told = number % 2 == 0
            await asyncio.sleep(number)  # not always at the same moment after the kubelet's last look
            begin = time.monotonic()
            await write(api, str(number))
            if told:
                patch = {"metadata": {"annotations": {names.ANNOTATION_WRITTEN: str(number)}}}
                await api.patch(kinds.PODS, Key(NAMESPACE, NAME), patch, kind=PatchKind.MERGE)
            await seen(api, str(number))
            found[told].append(time.monotonic() - begin)
            say(f"  {'told' if told else 'by itself'}: {found[told][-1]:.1f} s")
        return found


async def write(api: Api, value: str) -> None:
    """Write the Secret."""
    meta = {"name": NAME, "namespace": NAMESPACE}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "stringData": {"value": value}}
    await api.apply(kinds.SECRETS, Key(NAMESPACE, NAME), body, ApplyOptions("bench", force=True))


async def seen(api: Api, value: str) -> None:
    """Wait until the pod says that it sees a value; raises TimeoutError."""
    log = RawRequest(f"/api/v1/namespaces/{NAMESPACE}/pods/{NAME}/log")
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                if f"seen {value}" in (await api.request(log)).decode().splitlines():
                    return
            except ApiError:
                pass  # it does not run yet
            await asyncio.sleep(0.1)


def pod(image: str) -> dict[str, object]:
    """Return the pod that says what is mounted."""
    container = {
        "name": "reader",
        "image": image,
        "command": ["python3", "-c", PROGRAM],
        "volumeMounts": [{"name": "seen", "mountPath": "/seen"}],
    }
    volume = {"name": "seen", "secret": {"secretName": NAME}}
    spec = {"containers": [container], "volumes": [volume], "terminationGracePeriodSeconds": 0}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": NAME, "namespace": NAMESPACE}, "spec": spec}
