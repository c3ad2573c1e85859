"""The operator at work with an account of its own, whose requests are written down, and its administrator."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from sandbox.kubernetes.kubeapi import KubeApi
from stateward.engines.search.dashboards.decision import Health
from stateward.kube.access.config import connect
from stateward.kube.client.client import ApplyOptions, DeleteOptions, PatchKind, Preconditions
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.operator.assembly import Operator
from stateward.operator.controls import (
    dashboards_control,
    declared_control,
    detection_control,
    exporters_control,
    installation_control,
    remotes_control,
    restart_control,
    scaling_control,
)
from stateward.operator.databases.engine import ElasticsearchFamily, Family, OpenSearchFamily
from stateward.operator.databases.foundationdb import FoundationDBFamily
from stateward.operator.databases.foundationdb_shell import ExecShell
from stateward.operator.declared.views import (
    SEARCH_OBJECTS,
    SEARCH_RESTORES,
    SEARCH_SNAPSHOT_SCHEDULES,
    SEARCH_SNAPSHOTS,
    SEARCH_USERS,
)
from stateward.operator.exporters.health import Report
from stateward.operator.installations.execution.background import WorkerPool
from stateward.operator.objects.caches import CLUSTERS
from stateward.operator.objects.kinds import CLUSTER_KINDS
from stateward.operator.objects.pool_scales import POOL_SCALES
from stateward.operator.runtime.options import OperatorOptions
from tests.integration.api_server import PATIENCE, define, finish_jobs, run_pods
from tests.integration.packaged import Place, is_ready
from tests.integration.rights.rights import SYSTEM, Uses, as_account, installed
from tests.integration.shipped import bind, subject
from tests.support.background import at_work
from tests.support.fakes import FakeDatabase, FakeKubelet

ACCOUNT = "stateward"
ROLES = ("manifests/operator-role", "manifests/leases-role")
FILES = ("manifests/namespace", "manifests/service-account", *ROLES, "manifests/packages-role")
DECLARED = (SEARCH_OBJECTS, SEARCH_USERS, SEARCH_SNAPSHOTS, SEARCH_SNAPSHOT_SCHEDULES, SEARCH_RESTORES, POOL_SCALES)
"""What is inside of databases, and the sizes of their pools."""


async def written(pod: Key, container: str, command: Sequence[str], limit: int) -> bytes:
    """Return the output of a pod that did not run."""
    return f"{container}: {' '.join(command)}"[:limit].encode()


async def unasked(addresses: Sequence[str], path: str, access: object) -> tuple[Health, str]:
    """Return that nothing is known of dashboards, which do not run here."""
    return Health.UNKNOWN, f"nothing was asked at {addresses}{path} with {access}"


async def untold(addresses: Sequence[str]) -> Report:
    """Return that nothing is known of exporters, which do not run here."""
    return Report(None, f"nothing was asked at {addresses}")


def families(database: FakeDatabase) -> tuple[Family, ...]:
    """Return all kinds of clusters with a fake database."""
    search = OpenSearchFamily(database, "stateward:test"), ElasticsearchFamily(database, "stateward:test")
    return *search, FoundationDBFamily(ExecShell(written), "stateward:test")


class RestrictedOperator:
    """The operator at work with its own account in two namespaces, and the administrator beside it.

    Clusters are in `namespace`; workloads and installations are in that of `packages`, where every pod becomes Ready.
    """

    def __init__(self, admin: HttpApi, operator: Operator, namespace: str, other: str) -> None:
        self.admin = admin
        self.operator = operator
        self.namespace = namespace
        self.packages = Place(admin, other)

    def key(self, name: str) -> Key:
        return Key(self.namespace, name)

    async def make(self, kind: Resource[Any], name: str, **body: Any) -> None:
        head = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": {"name": name}}
        await self.admin.apply(kind.raw(), self.key(name), head | body, ApplyOptions("test", force=True))

    async def change(self, **spec: Any) -> None:
        await self.admin.patch(CLUSTERS.raw(), self.key("logs"), {"spec": spec}, kind=PatchKind.MERGE)

    async def delete(self, kind: Resource[Any], name: str) -> None:
        found = await self.admin.get(kind.raw(), self.key(name))
        await self.admin.delete(kind.raw(), self.key(name), DeleteOptions(Preconditions(found["metadata"]["uid"])))

    async def until(self, kind: Resource[Any], name: str, holds: Callable[[dict[str, Any] | None], object]) -> None:
        """Wait until something holds of an object, or of None where there is none."""
        found: dict[str, Any] | None = None
        try:
            async with asyncio.timeout(PATIENCE):
                while True:
                    if holds(found := await Place(self.admin, self.namespace).get(kind, name)):
                        return
                    await asyncio.sleep(0.1)
        except TimeoutError:
            pytest.fail(f"{kind.kind} {name}: {(found or {}).get('status')}")

    async def settled(self) -> None:
        """Wait until the cluster is Ready at its newest generation."""
        await self.until(CLUSTERS, "logs", is_ready)


@asynccontextmanager
async def at(kubeconfig: Path, uses: Uses) -> AsyncGenerator[RestrictedOperator]:
    """Run the whole operator with its own account."""
    installed(KubeApi(kubeconfig), *FILES)
    async with HttpApi(connect(kubeconfig=str(kubeconfig))) as admin, as_account(kubeconfig, ACCOUNT, uses) as api:
        await define(admin, *(kind.resource for kind in CLUSTER_KINDS), *DECLARED)
        names = tuple(f"rights-{uuid4().hex[:8]}" for _ in range(2))
        for name in names:
            await admin.create(kinds.NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        await bind(admin, names[1], "stateward-packages", subject(names[1], "default"))
        database = FakeDatabase()
        options = OperatorOptions(
            namespaces=names,
            identity="test",
            lease_namespace=SYSTEM,
            agent_image="stateward:test",
            detection_service_account="stateward-detection",
        )
        operator = Operator(api, families(database), options)
        restarts = restart_control(operator)
        operator.follow(restarts.sources)
        operator.companions += [
            restarts,
            installation_control(operator, lambda _: written, WorkerPool()),
            detection_control(operator),
            declared_control(operator, restarts.sources),
            dashboards_control(operator, unasked),
            exporters_control(operator, untold),
            remotes_control(operator),
            scaling_control(operator),
        ]
        FakeKubelet(admin, operator.controllers["opensearch"].caches.of(kinds.PODS), database)
        others = run_pods(admin, names[1]), finish_jobs(admin, names[1])
        running = asyncio.create_task(operator.run())
        try:
            async with at_work(*others):
                yield RestrictedOperator(admin, operator, *names)
        finally:
            await operator.stop()
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
