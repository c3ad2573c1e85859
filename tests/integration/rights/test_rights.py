"""Each right of the operator's account is needed: scenarios that use it, on a real API server.

The operator works here with the token of its account and the shipped roles. Every request is written down. A right that
no scenario uses is not needed, and a missing right shows as a refused request.
"""

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stateward.api.kinds.search import OpenSearchCluster
from stateward.api.values.names import claim
from stateward.kube.client.client import ApplyOptions, DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects import resources as kinds
from stateward.kube.objects.metadata import Key
from stateward.operator.controls import network_control
from stateward.operator.declared.views import (
    FINALIZER,
    SEARCH_OBJECTS,
    SEARCH_RESTORES,
    SEARCH_SNAPSHOT_SCHEDULES,
    SEARCH_SNAPSHOTS,
    SEARCH_USERS,
)
from stateward.operator.installations.objects.views import INSTALLATIONS
from stateward.operator.objects.caches import CLUSTERS
from stateward.operator.objects.kinds import ELASTICSEARCH, FOUNDATIONDB
from stateward.operator.objects.pool_scales import POOL_SCALES
from stateward.operator.restarts.views import SOURCES
from stateward.packages.plans.decision import ANNOTATION_TRIGGER
from tests.integration.api_server import DEFINITIONS
from tests.integration.packaged import Place
from tests.integration.packages.test_restart_guards import CLASSES, put_class
from tests.integration.packages.test_restart_guards import Place as Workloads
from tests.integration.rights.edges import EDGES, INGRESSES
from tests.integration.rights.restricted import ROLES, RestrictedOperator, at
from tests.integration.rights.rights import Right, Uses, granted, manifest
from tests.integration.rights.tenants import package
from tests.integration.rights.unplayed import explained

pytestmark = pytest.mark.integration

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


async def scaled(setup: RestrictedOperator) -> None:
    """A pool that follows the number of a PoolScale."""
    scaled = {"name": "all", "replicas": 1, "scaling": {"min": 1, "max": 3}}
    await setup.make(CLUSTERS, "elastic", spec={"version": "2.19.5", "update": {"paused": True}, "pools": [scaled]})
    named = {"cluster": {"kind": "OpenSearchCluster", "name": "elastic"}, "pool": "all", "replicas": 2}
    await setup.make(POOL_SCALES, "elastic-all", spec=named)
    await setup.until(POOL_SCALES, "elastic-all", has_status)
    await setup.delete(CLUSTERS, "elastic")


STORIES = (clusters, beside, scaled, guarded, closed, restarts, installations, edges, judged)


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
