"""A tenant's namespace on a real API server, and an operator with exactly the shipped rights."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from sandbox.kubernetes.kubeapi import KubeApi
from stateward.api.values.base import Json
from stateward.engines.foundationdb.database.target import Shell
from stateward.kube.client.client import Api, ApplyOptions
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.metadata import Key
from stateward.operator.assembly import Operator
from stateward.operator.databases.engine import ElasticsearchFamily, OpenSearchFamily
from stateward.operator.databases.foundationdb import FoundationDBFamily
from stateward.operator.runtime.options import OperatorOptions
from tests.integration.api_server import PATIENCE
from tests.integration.rights.tenant_specs import (
    KINDS,
    POOLS,
    VERSIONS,
    off,
)
from tests.integration.shipped import SYSTEM
from tests.support.fakes import FakeDatabase


class NoShell:
    """A database's command line that is out of reach."""

    async def run(self, *_: object) -> Any:
        raise AssertionError("there are no pods to run it in")


@dataclass(frozen=True)
class Tenancy:
    """A namespace with a tenant, with things that are not the tenant's, and the administrator's way in."""

    admin: KubeApi
    namespace: str
    tenant: Api
    operator: HttpApi

    async def apply(self, name: str, engine: str, spec: Json) -> None:
        kind = KINDS[engine]
        whole = {"version": VERSIONS[engine], "pools": POOLS[engine], **off(engine), **spec}
        meta = {"name": name, "namespace": self.namespace}
        body = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": meta, "spec": whole}
        await self.tenant.apply(kind, Key(self.namespace, name), body, ApplyOptions("tenant", force=True))

    def items(self, path: str) -> list[Json]:
        return self.admin.items(path.format(self.namespace))

    def sets(self) -> list[Json]:
        return self.items("/apis/apps/v1/namespaces/{}/statefulsets")

    def reasons(self, name: str, engine: str) -> set[str]:
        path = f"/apis/stateward.dev/v1alpha1/namespaces/{self.namespace}/{KINDS[engine].plural}/{name}"
        status = self.admin.get(path).get("status") or {}
        return {wait["reason"] for wait in status.get("waiting") or ()}

    async def until(self, holds: Callable[[], bool], what: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not await asyncio.to_thread(holds):
            assert time.monotonic() < deadline, what()
            await asyncio.sleep(0.5)

    @asynccontextmanager
    async def at_work(self, **more: Any) -> AsyncGenerator[None]:
        """Have an operator at work with exactly the rights of the manifests."""
        options = OperatorOptions(
            namespaces=(self.namespace,),
            leader_elect=False,
            identity="test",
            lease_namespace=SYSTEM,
            **more,
        )
        shell: Any = NoShell()
        silent: Shell = shell
        families = (
            OpenSearchFamily(FakeDatabase()),
            ElasticsearchFamily(FakeDatabase()),
            FoundationDBFamily(silent),
        )
        operator = Operator(self.operator, families, options)
        running = asyncio.create_task(operator.run())
        try:
            yield
        finally:
            await operator.stop()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
