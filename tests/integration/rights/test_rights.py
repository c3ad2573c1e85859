"""Each right of the operator's account is needed: scenarios that use it, on a real API server.

The operator works here with the token of its account and the shipped roles. Every request is written down. A right that
no scenario uses is not needed, and a missing right shows as a refused request.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pytest

from sandbox.kubernetes.kubeapi import KubeApi
from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.values.names import claim
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
    network_control,
    remotes_control,
    restart_control,
)
from stateward.operator.databases.engine import ElasticsearchFamily, Family, OpenSearchFamily
from stateward.operator.databases.foundationdb import FoundationDBFamily
from stateward.operator.databases.foundationdb_shell import ExecShell
from stateward.operator.declared.views import (
    FINALIZER,
    SEARCH_OBJECTS,
    SEARCH_RESTORES,
    SEARCH_SNAPSHOT_SCHEDULES,
    SEARCH_SNAPSHOTS,
    SEARCH_USERS,
)
from stateward.operator.exporters.health import Report
from stateward.operator.installations.execution.background import WorkerPool
from stateward.operator.installations.objects.views import INSTALLATIONS
from stateward.operator.objects.caches import CLUSTERS
from stateward.operator.objects.kinds import CLUSTER_KINDS, ELASTICSEARCH, FOUNDATIONDB
from stateward.operator.restarts.views import SOURCES
from stateward.operator.runtime.options import OperatorOptions
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from tests.integration.api_server import DEFINITIONS, PATIENCE, at_work, define, finish_jobs, run_pods
from tests.integration.packaged import Place, is_ready
from tests.integration.packages.test_restart_guards import CLASSES, put_class
from tests.integration.packages.test_restart_guards import Place as Workloads
from tests.integration.rights.edges import EDGES, INGRESSES
from tests.integration.rights.rights import SYSTEM, Right, Uses, as_account, granted, installed, manifest
from tests.integration.rights.tenants import package
from tests.integration.rights.unplayed import explained
from tests.integration.shipped import bind, subject
from tests.support.fakes import FakeDatabase, FakeKubelet

pytestmark = pytest.mark.integration

ACCOUNT = "stateward"
ROLES = ("manifests/operator-role", "manifests/leases-role")
FILES = ("manifests/namespace", "manifests/service-account", *ROLES, "manifests/packages-role")
SECRETS = SOURCES["Secret"]
POOLS: list[dict[str, Any]] = [
    {"name": "managers", "replicas": 3, "roles": ["cluster_manager"], "storage": {"size": "1Gi"}},
    {"name": "hot", "replicas": 3, "roles": ["data"], "storage": {"size": "1Gi"}},
]
FOUNDATION_POOLS = [
    {"name": "storage", "replicas": 3, "processClass": "storage", "storage": {"size": "1Gi"}},
    {"name": "log", "replicas": 3, "processClass": "log", "storage": {"size": "1Gi"}},
    {"name": "stateless", "replicas": 3, "processClass": "stateless"},
]
SPEC: dict[str, Any] = {
    "version": "2.19.5",
    "pools": POOLS,
    "security": {"enabled": True},
    "replacement": {"enabled": True},
    "update": {"inPlace": "Never"},
    # The scheduler would call pods unschedulable here, at moments of its own, when they are Ready already.
    "podTemplate": {"spec": {"schedulerName": "fake"}},
}


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


DECLARED = (SEARCH_OBJECTS, SEARCH_USERS, SEARCH_SNAPSHOTS, SEARCH_SNAPSHOT_SCHEDULES, SEARCH_RESTORES)
"""What is inside of databases."""


def has_status(body: dict[str, Any] | None) -> bool:
    """Return whether the operator has set a status."""
    return "conditions" in (body or {}).get("status", {})


def is_held(body: dict[str, Any] | None) -> bool:
    """Return whether the operator has set its finalizer and a status."""
    found = body or {}
    return FINALIZER in found.get("metadata", {}).get("finalizers", []) and "conditions" in found.get("status", {})


async def clusters(setup: RestrictedOperator) -> None:
    """A cluster from its first day to its last, and one of each other kind."""
    pools = [{"name": "all", "replicas": 1}]
    await setup.make(
        ELASTICSEARCH.resource, "search", spec={"version": "8.19.0", "update": {"paused": True}, "pools": pools}
    )
    await setup.make(
        FOUNDATIONDB.resource, "base", spec={"version": "7.3.59", "update": {"paused": True}, "pools": FOUNDATION_POOLS}
    )
    for kind, name in ((ELASTICSEARCH, "search"), (FOUNDATIONDB, "base")):
        await setup.until(kind.resource, name, lambda body: body and body.get("status", {}).get("conditions"))
    await setup.make(CLUSTERS, "logs", spec=SPEC)
    await setup.settled()
    of = {"kind": "OpenSearchCluster", "name": "logs"}
    await setup.make(SEARCH_OBJECTS, "template", spec={"cluster": of, "object": "indexTemplate/logs", "body": {}})
    await setup.make(SEARCH_USERS, "shop", spec={"cluster": of, "roles": ["reader"]})
    stored = {"cluster": of, "repository": "files"}
    await setup.make(SEARCH_SNAPSHOTS, "by-hand", spec=stored)
    await setup.make(SEARCH_SNAPSHOT_SCHEDULES, "nightly", spec={**stored, "schedule": "0 3 * * *"})
    await setup.make(SEARCH_RESTORES, "back", spec={**stored, "snapshot": "nightly-*"})
    for kind, name in ((SEARCH_SNAPSHOT_SCHEDULES, "nightly"), (SEARCH_RESTORES, "back")):
        await setup.until(kind, name, has_status)
    for kind, name in ((SEARCH_OBJECTS, "template"), (SEARCH_USERS, "shop"), (SEARCH_SNAPSHOTS, "by-hand")):
        # The fake database has no objects: the operator holds the resource, and says that it cannot be asked.
        await setup.until(kind, name, is_held)
    await setup.change(config={"action.auto_create_index": False}, volumes={"whenDeleted": "Delete"})
    await setup.settled()
    await setup.change(volumes={"whenScaled": "Delete"}, pools=[POOLS[0], POOLS[1] | {"replicas": 2}])
    await setup.settled()
    await setup.until(kinds.CLAIMS, claim("logs-hot-2"), lambda body: body is None)
    await setup.delete(CLUSTERS, "logs")
    await setup.until(SECRETS, "logs-ca", lambda body: body is None)
    beginning = {"fromSnapshot": {"repository": "files", "snapshot": "nightly-*"}}
    await setup.make(CLUSTERS, "again", spec={**SPEC, "bootstrap": beginning})
    await setup.until(SEARCH_RESTORES, "again-bootstrap", has_status)
    await setup.delete(CLUSTERS, "again")
    await setup.until(SEARCH_RESTORES, "again-bootstrap", lambda body: body is None)


async def guarded(setup: RestrictedOperator) -> None:
    """A cluster with a service account that is not allowed for pods."""
    spec = {"version": "8.19.0", "pools": [{"name": "all", "replicas": 1}]}
    named = {"podTemplate": {"spec": {"serviceAccountName": "default", "automountServiceAccountToken": True}}}
    await setup.make(ELASTICSEARCH.resource, "curious", spec=spec | named)

    def refused(body: dict[str, Any] | None) -> bool:
        return "ServiceAccount default must have the label" in str((body or {}).get("status"))

    await setup.until(ELASTICSEARCH.resource, "curious", refused)


async def restarts(setup: RestrictedOperator) -> None:
    """Workloads of all kinds that restart as data changes that they use, of a Secret store's class too."""
    place = Workloads(setup.admin, setup.packages.namespace)
    name = CLASSES["metadata"]["name"]
    await setup.admin.apply(DEFINITIONS, Key("", name), CLASSES, ApplyOptions("test", force=True))
    await put_class(place, "first")
    await place.put("ConfigMap", "used", mode="slow")
    source = {"driver": "secrets-store.csi.k8s.io", "volumeAttributes": {"secretProviderClass": "vault"}}
    for kind in ("Deployment", "DaemonSet", "StatefulSet"):
        used = [{"configMapRef": {"name": "used"}}]
        await place.workload(kind, "app", volumes=[{"name": "v", "csi": source}], envFrom=used)
        await place.recorded(kind, "app", "ConfigMap/used", "SecretProviderClass/vault")
    before = {kind: await place.digest(kind, "app") for kind in ("Deployment", "DaemonSet", "StatefulSet")}
    await place.put("ConfigMap", "used", mode="fast")
    for kind, digest in before.items():
        await place.restarted(kind, "app", digest)


async def installations(setup: RestrictedOperator) -> None:
    """An installation from its first day to its last."""
    place = setup.packages
    await place.package("shop-1.2.0")
    await place.install("shop-1.2.0")
    await place.ready()
    await place.annotate(ANNOTATION_TRIGGER, "backup/1")
    await place.until(INSTALLATIONS, "web", lambda body: body and body["status"].get("lastRequest") == "backup/1")
    await place.ready()
    body = await place.there(INSTALLATIONS, "web")
    await place.api.delete(INSTALLATIONS, place.key("web"), DeleteOptions(Preconditions(body["metadata"]["uid"])))
    await place.until(INSTALLATIONS, "web", lambda body: body is None)


async def edges(setup: RestrictedOperator) -> None:
    """An installation of what a package has beside its workloads."""
    place = setup.packages
    await place.package("edge-1", package(*EDGES))
    await place.install("edge-1", name="edge")
    await place.until(INGRESSES, "edge", lambda body: body)


async def judged(setup: RestrictedOperator) -> None:
    """The webhook's lookups before it accepts a cluster."""
    template = {"spec": {"priorityClassName": "high", "imagePullSecrets": [{"name": "pull"}]}}
    head = {"apiVersion": CLUSTERS.api_version, "kind": "OpenSearchCluster"}
    body = head | {
        "metadata": {"name": "new", "namespace": setup.namespace},
        "spec": SPEC | {"podTemplate": template},
    }
    verdict = await setup.operator.judge(msgspec.convert(body, OpenSearchCluster, strict=False), None)
    assert "high" in str(verdict.warnings)


async def closed(setup: RestrictedOperator) -> None:
    """Network policies of the clusters, by an operator that makes them and by one that makes none any more."""
    for wanted in (True, False):
        setup.operator.options = replace(setup.operator.options, network_policies=wanted)
        await network_control(setup.operator).sweep()
        found = await Place(setup.admin, setup.namespace).get(kinds.NETWORK_POLICIES, "search-members")
        assert (found is not None) is wanted


async def beside(setup: RestrictedOperator) -> None:
    """Dashboards and an exporter from first to last; the Deployment controller does not run here."""
    open_to_all = {**SPEC, "security": {"enabled": False}}
    await setup.make(CLUSTERS, "logs", spec={**open_to_all, "dashboards": {"replicas": 2}})
    await setup.until(kinds.DEPLOYMENTS, "logs-dashboards", lambda body: body)
    await setup.until(kinds.BUDGETS, "logs-dashboards", lambda body: body)
    await setup.change(dashboards={"replicas": 1})
    await setup.until(kinds.BUDGETS, "logs-dashboards", lambda body: body is None)
    await setup.change(metrics={"rotateCredentialsAfter": "30d"})
    await setup.until(kinds.DEPLOYMENTS, "logs-metrics", lambda body: body)
    await setup.until(kinds.SERVICES, "logs-metrics", lambda body: body)
    await setup.change(metrics=None)
    await setup.until(kinds.DEPLOYMENTS, "logs-metrics", lambda body: body is None)
    await setup.until(kinds.SERVICES, "logs-metrics", lambda body: body is None)
    await setup.until(CLUSTERS, "logs", lambda body: "metrics" not in (body or {}).get("status", {}))
    await setup.change(remoteAccess={"from": [{"name": "other"}]})
    await setup.until(kinds.SERVICES, "logs-remote", lambda body: body)
    await setup.change(remoteAccess=None, remoteClusters=[{"name": "east", "cluster": {"name": "other"}}])
    await setup.until(kinds.SERVICES, "logs-remote", lambda body: body is None)
    await setup.until(CLUSTERS, "logs", lambda body: "remoteClusters" in (body or {}).get("status", {}))
    await setup.change(remoteClusters=None)
    await setup.until(CLUSTERS, "logs", lambda body: "remoteClusters" not in (body or {}).get("status", {}))
    await setup.change(dashboards=None)
    await setup.until(kinds.DEPLOYMENTS, "logs-dashboards", lambda body: body is None)
    await setup.until(CLUSTERS, "logs", lambda body: "dashboards" not in (body or {}).get("status", {}))
    await setup.delete(CLUSTERS, "logs")
    await beside_foundationdb(setup)


async def beside_foundationdb(setup: RestrictedOperator) -> None:
    """An exporter of FoundationDB from first to last; its database does not answer, and needs not."""
    kind, spec = FOUNDATIONDB.resource, {"version": "7.3.59", "update": {"paused": True}, "pools": FOUNDATION_POOLS}
    await setup.make(kind, "ledger", spec={**spec, "metrics": {}})
    await setup.until(kind, "ledger", lambda body: "MetricsWaitForDatabase" in str(body))
    formed = {"status": {"version": "7.3.59", "bootstrap": {"member": "", "volume": "", "formed": True}}}
    await setup.admin.patch(kind.raw(), setup.key("ledger"), formed, kind=PatchKind.MERGE, subresource="status")
    await setup.until(kinds.DEPLOYMENTS, "ledger-metrics", lambda body: body)
    await setup.admin.patch(kind.raw(), setup.key("ledger"), {"spec": {"metrics": None}}, kind=PatchKind.MERGE)
    await setup.until(kinds.DEPLOYMENTS, "ledger-metrics", lambda body: body is None)
    await setup.until(kind, "ledger", lambda body: "metrics" not in (body or {}).get("status", {}))
    await setup.delete(kind, "ledger")


STORIES = (clusters, beside, guarded, closed, restarts, installations, edges, judged)


async def play(kubeconfig: Path, uses: Uses) -> None:
    async with at(kubeconfig, uses) as setup:
        for story in STORIES:
            await story(setup)


@pytest.fixture(scope="module")
def uses(control_plane: Path) -> Uses:
    """Return what the operator's account uses in all stories."""
    found = Uses()
    asyncio.run(play(control_plane, found))
    return found


GRANTED = sorted(granted(manifest(*ROLES)))


def test_nothing_that_the_operator_asks_for_is_refused(uses: Uses) -> None:
    assert uses.refused == []


@pytest.mark.parametrize("right", GRANTED, ids=str)
def test_a_right_is_used(uses: Uses, right: Right) -> None:
    assert right in uses.used or explained(right), "take it out of the role, or show what needs it"


def test_installations_use_each_verb_of_the_role_for_packages(uses: Uses) -> None:
    """Of the kinds, a package uses those that it is made of."""
    assert {right.verb for right in granted(manifest("manifests/packages-role"))} == {
        right.verb for right in uses.acting
    }


def test_no_right_is_for_everything() -> None:
    assert [right for right in GRANTED if "*" in (right.group, right.resource, right.verb)] == []
