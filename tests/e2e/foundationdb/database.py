"""Queries of a FoundationDB cluster by its command line in a pod, as the operator runs it."""

import asyncio
import json
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self

from sandbox import Sandbox
from tests.e2e.clusters import Clusters

FILE = "/var/fdb/data/fdb.cluster"
RUN = 'PATH=/stateward/run/programs:$PATH; exec fdbcli "$@"'
"""The program of the version that runs in the pod, which need not be that of its image."""
SMALL = {"limits": {"memory": "256Mi"}, "requests": {"memory": "64Mi", "cpu": "20m"}}


def pool(name: str, replicas: int, **more: Any) -> dict[str, Any]:
    """Return a pool of small members of the class that it is called by."""
    return {
        "name": name,
        "replicas": replicas,
        "processClass": name,
        "resources": SMALL,
        "storage": {"size": "1Gi"},
        **more,
    }


def pools(storage: int = 3, log: int = 3, stateless: int = 2) -> list[dict[str, Any]]:
    return [pool("storage", storage), pool("log", log), pool("stateless", stateless)]


@dataclass
class Fdb:
    """The command line of one namespace's clusters."""

    sandbox: Sandbox
    clusters: Clusters

    def run(self, pod: str, command: str, seconds: int = 15) -> str:
        """Run a command in a member's pod; raises CalledProcessError."""
        words = ["sh", "-c", RUN, "fdbcli", "-C", FILE, "--timeout", str(seconds), "--exec", command]
        where = ["exec", "-n", self.clusters.namespace, pod, "-c", "foundationdb", "--"]
        return self.sandbox.kubectl(*where, *words, timeout=seconds + 30)

    async def status(self, name: str) -> Any:
        """Return the status of a cluster, from the first of its members that answers."""
        for member, pod in sorted((await self.clusters.pods(name)).items()):
            if pod.ready and not pod.metadata.terminating:
                with suppress(subprocess.CalledProcessError, subprocess.TimeoutExpired, ValueError):
                    text = await asyncio.to_thread(self.run, f"{member}-0", "status json")
                    found = json.loads(text)
                    if found["client"]["database_status"]["available"]:
                        return found
        return {"client": {}, "cluster": {}}

    async def processes(self, name: str) -> dict[str, dict[str, Any]]:
        """Return the processes that are reached, by their members."""
        found = (await self.status(name))["cluster"].get("processes", {}).values()
        return {p["locality"]["instance_id"]: p for p in found if p["locality"]}

    async def until_listed(self, name: str, fits: Callable[[set[str]], bool], seconds: float = 120) -> None:
        """Wait until the members that the database lists fit: it takes some seconds to miss a process that has ended.

        Raises TimeoutError.
        """
        async with asyncio.timeout(seconds):
            while not ((members := set(await self.processes(name))) and fits(members)):
                await asyncio.sleep(1)

    async def coordinators(self, name: str) -> set[str]:
        """Return the members that are coordinators."""
        found = (await self.status(name))["client"].get("coordinators", {}).get("coordinators", [])
        return {c["address"].partition(".")[0].removesuffix("-0") for c in found}

    async def excluded(self, name: str) -> list[str]:
        """Return what is excluded."""
        found = (await self.status(name))["cluster"].get("configuration", {}).get("excluded_servers", [])
        return [entry.get("locality") or entry.get("address") for entry in found]


@dataclass
class Watch:
    """Monitors the database during a change: no data is missing, and no member with data leaves."""

    fdb: Fdb
    name: str
    broken: list[str] = field(default_factory=list[str])
    looks: int = 0
    _task: "asyncio.Task[None] | None" = None

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._task is not None
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def _look(self) -> None:
        while True:
            cluster = (await self.fdb.status(self.name))["cluster"]
            state = cluster.get("data", {}).get("state", {}).get("name")
            self.looks += bool(cluster)
            if state == "missing_data":
                self.broken.append("no replica of some data is there")
            if any(log.get("possibly_losing_data") for log in cluster.get("logs", [])):
                self.broken.append("a generation of logs cannot be read")
            await asyncio.sleep(1)
