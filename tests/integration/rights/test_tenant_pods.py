"""Privileges that a tenant with the right to write clusters in a namespace cannot obtain through a cluster."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from sandbox.kubernetes.kubeapi import KubeApi
from stateward.api.values.base import Json
from stateward.kube.access.config import connect
from stateward.kube.client.client import ApplyOptions
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.errors import ApiError, Forbidden
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.operator.runtime.options import LABELLED
from tests.integration.api_server import define
from tests.integration.rights.rights import as_account, installed
from tests.integration.rights.tenancy import Tenancy
from tests.integration.rights.tenant_specs import (
    ACCOUNT,
    CLAIM,
    EVERY,
    KINDS,
    OPEN,
    OPEN_ACCOUNT,
    ORDINARY,
    OWN,
    PAYMENTS,
    SECRET,
    WAYS,
)
from tests.integration.rights.tenants import TENANT
from tests.integration.shipped import bind, person

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server(control_plane: Path) -> KubeApi:
    """Return the administrator's way in, with the shipped accounts and roles in place."""
    api = KubeApi(control_plane)
    installed(
        api, *(f"manifests/{n}" for n in ("namespace", "service-account", "operator-role", "leases-role", "user-roles"))
    )
    return api


@pytest.fixture
async def tenancy(control_plane: Path, server: KubeApi) -> AsyncGenerator[Tenancy]:
    namespace = f"tenant-{uuid4().hex[:8]}"
    core = f"/api/v1/namespaces/{namespace}"

    def put(path: str, kind: str, name: str, **body: Any) -> None:
        labels = {"stateward.dev/allowed-for-pods": "true"} if name in {OPEN, OPEN_ACCOUNT} else {}
        server.apply(
            f"{path}/{name}",
            {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "labels": labels}, **body},
        )

    put("/api/v1/namespaces", "Namespace", namespace)
    for account in (ACCOUNT, OPEN_ACCOUNT):
        put(f"{core}/serviceaccounts", "ServiceAccount", account)
    files = {"key": "theirs", "tls.crt": "theirs", "tls.key": "theirs", "username": "root", "password": "theirs"}
    for secret in (SECRET, OPEN, f"{PAYMENTS}-tls", OWN):
        put(f"{core}/secrets", "Secret", secret, stringData=files)
    put(f"{core}/services", "Service", "payments", spec={"selector": {"app": "payments-app"}, "ports": [{"port": 80}]})
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    put(f"{core}/persistentvolumeclaims", "PersistentVolumeClaim", CLAIM, spec=claim)
    async with AsyncExitStack() as stack:
        admin = await stack.enter_async_context(HttpApi(connect(kubeconfig=str(control_plane))))
        await define(admin, *KINDS.values())
        for role in ("stateward-edit", "stateward-view"):
            await bind(admin, namespace, role, person(TENANT))
        operator = await stack.enter_async_context(as_account(control_plane, "stateward"))
        yield Tenancy(server, namespace, admin.acting_as(TENANT), operator)
    server.delete(f"/api/v1/namespaces/{namespace}")


def powers(template: Json) -> set[str]:
    """Return what a template has that a tenant is not to have, by its words and not by the code that is tested."""
    text, spec = yaml.safe_dump(template), template["spec"]
    words = {
        *("privileged: true", "hostPath:", "hostNetwork: true", "hostPID: true", "hostIPC: true", "hostPort: 9200"),
        *("hostProcess: true", "SYS_ADMIN", "NET_RAW", "169.254.169.254", "Unconfined", "unconfined", "spc_t"),
        *(
            "system_u",
            "Unmasked",
            "vm.max_map_count",
            SECRET,
            "made-later",
            CLAIM,
            OWN,
            "payments-export",
            "payments-disk",
            "payments-device",
            "payments-app",
            "serviceAccountToken:",
            f"{PAYMENTS}-tls",
        ),
    }
    found = {word for word in words if word in text}
    account = spec.get("serviceAccountName", spec.get("serviceAccount", "default"))
    if account == OPEN_ACCOUNT:
        found.discard("serviceAccountToken:")  # The API server itself gives it to pods that may have it.
    if account == ACCOUNT:
        found.add(ACCOUNT)
    if account == "default" and spec.get("automountServiceAccountToken") is not False:
        found.add("the default account's token")
    return found


def templates(tenancy: Tenancy) -> dict[str, Json]:
    """Return every template of pods, and every pod, that is there."""
    found = {f"StatefulSet {s['metadata']['name']}": s["spec"]["template"] for s in tenancy.sets()}
    found |= {f"Pod {p['metadata']['name']}": p for p in tenancy.items("/api/v1/namespaces/{}/pods")}
    for kind in ("jobs", "cronjobs"):
        for job in tenancy.items(f"/apis/batch/v1/namespaces/{{}}/{kind}"):
            inner = job["spec"] if kind == "jobs" else job["spec"]["jobTemplate"]["spec"]
            found[f"{kind} {job['metadata']['name']}"] = inner["template"]
    return found


def readable(tenancy: Tenancy) -> set[str]:
    """Return the Secrets of the operator with content of another owner's Secret."""
    theirs = "dGhlaXJz"  # base64 of what is in them
    given = {SECRET, OPEN, OWN, f"{PAYMENTS}-tls"}
    secrets = {s["metadata"]["name"]: s.get("data") or {} for s in tenancy.items("/api/v1/namespaces/{}/secrets")}
    keystores = (name for name in secrets if name not in given and "with-what-is-allowed" not in name)
    return {name for name in keystores if any(theirs in value for value in secrets[name].values())}


async def test_a_tenant_gets_no_power_by_way_of_a_cluster(tenancy: Tenancy) -> None:
    async with tenancy.at_work(pod_policy="baseline", pod_references=LABELLED):
        for name, (engine, spec) in EVERY.items():
            await tenancy.apply(name, engine, spec)
        await tenancy.apply(PAYMENTS, "opensearch", {})
        for name, spec in ORDINARY.items():
            await tenancy.apply(name, "opensearch", spec)
        asked = {**EVERY, PAYMENTS: ("opensearch", {})}

        def told() -> set[str]:
            refused = {"PodNotAllowed", "SecretNotUsable"}
            return {name for name, (engine, _) in asked.items() if not tenancy.reasons(name, engine) & refused}

        def missing() -> set[str]:
            made = {s["metadata"]["name"] for s in tenancy.sets()}
            return {name for name in ORDINARY if f"{name}-all-0" not in made}

        await tenancy.until(lambda: not told() and not missing(), lambda: (told(), missing()))
        # A withdrawn and repeated request gives no access either.
        for name in ("privileged", "account", "secret"):
            await tenancy.apply(name, "opensearch", {})
        await tenancy.until(lambda: "privileged-all-0" in {s["metadata"]["name"] for s in tenancy.sets()}, tenancy.sets)
        for name in ("privileged", "account", "secret"):
            await tenancy.apply(name, "opensearch", WAYS[name])
        await tenancy.until(lambda: not told(), told)
        await asyncio.sleep(5.0)
        found = {name: has for name, template in templates(tenancy).items() if (has := powers(template))}
    assert found == {}
    assert readable(tenancy) == set()
    assert len(EVERY) > 40


async def test_the_same_is_made_where_the_operator_allows_it(tenancy: Tenancy) -> None:
    """This proves the test above: it finds all these objects, except those that the API server refuses."""
    refused = {"ephemeral", "host-process", "claim-copied", "host-path-in-place", "probe", "hook"}
    ways = {n: s for n, s in WAYS.items() if "account" not in n and "token" not in n and n not in refused}
    async with tenancy.at_work(pod_policy="privileged", pod_references="any"):
        for name, spec in ways.items():
            await tenancy.apply(name, "opensearch", spec)

        def powerless() -> set[str]:
            known = {name: powers(template) for name, template in templates(tenancy).items()}
            held = {name for name in ways if "keystore" in name or "-as-" in name}
            return {name for name in ways.keys() - held if not known.get(f"StatefulSet {name}-all-0")}

        await tenancy.until(lambda: not powerless(), powerless)


async def test_the_tenant_has_no_other_way_to_any_of_it(tenancy: Tenancy) -> None:
    """Else the tests above would show nothing."""

    def kind(plural: str, name: str, group: str = "") -> Resource[Json]:
        return Resource(group, "v1", plural, name, dict[str, Any])

    place = tenancy.namespace
    pod = {"metadata": {"name": "own"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    label = {"metadata": {"labels": {"stateward.dev/allowed-for-pods": "true"}}}
    for plural, name in (("pods", "Pod"), ("secrets", "Secret"), ("serviceaccounts", "ServiceAccount")):
        with pytest.raises(Forbidden):
            await tenancy.tenant.create(kind(plural, name), {"apiVersion": "v1", "kind": name, **pod}, namespace=place)
    for plural, name, key in (
        ("secrets", "Secret", SECRET),
        ("serviceaccounts", "ServiceAccount", ACCOUNT),
        ("persistentvolumeclaims", "PersistentVolumeClaim", CLAIM),
    ):
        body = {"apiVersion": "v1", "kind": name, **label}
        with pytest.raises(ApiError) as refusal:
            await tenancy.tenant.apply(kind(plural, name), Key(place, key), body, ApplyOptions("tenant", force=True))
        assert refusal.value.status == 403
    with pytest.raises(Forbidden):
        await tenancy.tenant.get(kind("secrets", "Secret"), Key(place, SECRET))
