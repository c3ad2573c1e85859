"""`python -m bench.packages.packaged KUBECONFIG`: what the operator runs for packages as a process, with a count.

These are the shipped controllers of installations and of restarts, without those of clusters and without a lease.
`/report` tells the counts; the port is said first.
"""

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import msgspec
from aiohttp import web

from stateward.kube.access.config import connect
from stateward.kube.client.client import ApplyOptions, Body, DeleteOptions, ListOptions, Page, PatchKind, RawRequest
from stateward.kube.client.http_client import HttpApi
from stateward.kube.events.events import EventRecorder
from stateward.kube.objects.metadata import Key, T
from stateward.kube.objects.resource import Resource, Selection
from stateward.kube.timing.clock import SystemClock
from stateward.operator.installations.controller import InstallationControl
from stateward.operator.installations.controller import Setting as InstallationSetting
from stateward.operator.restarts.control import RestartControl
from stateward.operator.restarts.control import Setting as RestartSetting
from stateward.operator.runtime import logs
from stateward.operator.runtime.listener import serve

NAMESPACE = "packages"


class CountingApi(HttpApi):
    """The client for a real server, with a count of every call by its verb and kind; watches are no calls."""

    calls: Counter[str]

    def _count(self, verb: str, resource: Resource[Any]) -> None:
        self.calls[f"{verb} {resource.plural}"] += 1

    async def get(self, resource: Resource[T], key: Key) -> T:
        """Count and get."""
        self._count("get", resource)
        return await super().get(resource, key)

    async def list(self, resource: Resource[T], selection: Selection, options: ListOptions | None = None) -> Page[T]:
        """Count and list."""
        self._count("list", resource)
        return await super().list(resource, selection, options)

    async def create(self, resource: Resource[T], body: Body, *, namespace: str = "") -> T:
        """Count and create."""
        self._count("create", resource)
        return await super().create(resource, body, namespace=namespace)

    async def apply(self, resource: Resource[T], key: Key, body: Body, options: ApplyOptions) -> T:
        """Count and apply."""
        self._count("apply", resource)
        return await super().apply(resource, key, body, options)

    async def patch(
        self, resource: Resource[T], key: Key, body: Body | Sequence[Any], *, kind: PatchKind, subresource: str = ""
    ) -> T:
        """Count and patch."""
        self._count(f"patch {subresource} of" if subresource else "patch", resource)
        return await super().patch(resource, key, body, kind=kind, subresource=subresource)

    async def delete(self, resource: Resource[T], key: Key, options: DeleteOptions) -> T | None:
        """Count and delete."""
        self._count("delete", resource)
        return await super().delete(resource, key, options)

    async def request(self, request: RawRequest) -> bytes:
        """Count and ask."""
        self.calls["ask kinds"] += 1
        return await super().request(request)


async def operate(kubeconfig: str) -> None:
    """Run both controllers until a signal asks to stop."""
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with AsyncExitStack() as stack:
        api = await stack.enter_async_context(CountingApi(connect(kubeconfig=kubeconfig)))
        api.calls = Counter()
        clock, spaces = SystemClock(), (NAMESPACE,)
        recorder = EventRecorder(api, "stateward.dev/bench", "bench", clock=clock)
        installations = InstallationSetting(api, recorder, clock, NAMESPACE, spaces)
        restarts = RestartSetting(api, recorder, clock, NAMESPACE, spaces)

        async def told(_: web.Request) -> web.Response:
            return web.Response(body=msgspec.json.encode(api.calls), content_type="application/json")

        port = await stack.enter_async_context(serve("127.0.0.1", 0, [web.get("/report", told)]))
        print("answers on port", port, flush=True)
        workers = (recorder.run(), InstallationControl(installations).run(), RestartControl(restarts).run())
        tasks = [asyncio.create_task(worker) for worker in workers]
        stopping = asyncio.create_task(stop.wait())
        await asyncio.wait({stopping, *tasks}, return_when=asyncio.FIRST_COMPLETED)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    logs.configure("info")
    asyncio.run(operate(sys.argv[1]))
