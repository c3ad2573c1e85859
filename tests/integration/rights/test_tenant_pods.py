"""Privileges that a tenant with the right to write clusters in a namespace cannot obtain through a cluster."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import yaml

from sandbox.kubernetes.kubeapi import KubeApi
from stateward.api.values.base import Json
from stateward.engines.foundationdb.database.target import Shell
from stateward.kube.access.config import connect
from stateward.kube.client.client import Api, ApplyOptions
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.errors import ApiError, Forbidden
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.operator.databases.engine import ElasticsearchFamily, OpenSearchFamily
from stateward.operator.databases.foundationdb import FoundationDBFamily
from stateward.operator.objects.kinds import CLUSTER_KINDS
from stateward.operator.process import Operator
from stateward.operator.runtime.options import LABELLED, OperatorOptions
from tests.integration.api_server import PATIENCE, define
from tests.integration.rights.rights import as_account, installed
from tests.integration.rights.tenants import TENANT
from tests.integration.shipped import SYSTEM, bind, person
from tests.support.fakes import FakeDatabase

pytestmark = pytest.mark.integration

SECRET, CLAIM, ACCOUNT = "payments-key", "payments-data", "builder"
OPEN, OPEN_ACCOUNT = "ours", "ours"
"""A Secret and an account that an administrator has allowed."""
KINDS = {kind.engine: kind.resource for kind in CLUSTER_KINDS}
POOLS: dict[str, list[Json]] = {
    "opensearch": [{"name": "all", "replicas": 1}],
    "elasticsearch": [{"name": "all", "replicas": 1}],
    "foundationdb": [
        {"name": "storage", "processClass": "storage", "replicas": 3},
        {"name": "log", "processClass": "log", "replicas": 3},
    ],
}
VERSIONS = {"opensearch": "2.19.5", "elasticsearch": "8.19.4", "foundationdb": "7.3.63"}


def pods(**spec: Any) -> Json:
    return {"podTemplate": {"spec": spec}}


def database(**fields: Any) -> Json:
    return pods(containers=[{"name": "opensearch", **fields}])


def rights(**fields: Any) -> Json:
    return database(securityContext=fields)


def side(kind: str, **fields: Any) -> Json:
    return pods(**{kind: [{"name": "side", "image": "busybox", **fields}]})


def volume(**source: Any) -> Json:
    return pods(volumes=[{"name": "x", **source}])


POWER: Json = {"privileged": True, "allowPrivilegeEscalation": True}
TOKEN: Json = {"serviceAccountToken": {"path": "token", "audience": "vault"}}
WAYS: dict[str, Json] = {
    "privileged": rights(**POWER),
    "sidecar": side("containers", securityContext=POWER),
    "init": side("initContainers", securityContext=POWER),
    "ephemeral": side("ephemeralContainers", securityContext=POWER),
    "agent": pods(initContainers=[{"name": "stateward-agent", "image": "busybox", "securityContext": POWER}]),
    "one-pool": {"pools": [{"name": "all", "replicas": 1, **rights(**POWER)}]},
    "capability": rights(capabilities={"add": ["SYS_ADMIN"]}),
    "raw-network": side("containers", securityContext={"capabilities": {"add": ["NET_RAW"]}}),
    "host-process": pods(securityContext={"windowsOptions": {"hostProcess": True}}),
    "host-network": pods(hostNetwork=True),
    "host-pid": pods(hostPID=True),
    "host-ipc": pods(hostIPC=True),
    "host-port": database(ports=[{"containerPort": 9200, "protocol": "TCP", "hostPort": 9200}]),
    "host-path": volume(hostPath={"path": "/"}),
    "host-path-in-place": pods(volumes=[{"name": "run", "emptyDir": None, "hostPath": {"path": "/"}}]),
    "host-path-replaced": pods(volumes=[{"name": "run", "$patch": "replace", "hostPath": {"path": "/"}}]),
    "probe": side("containers", livenessProbe={"httpGet": {"port": 80, "host": "169.254.169.254"}}),
    "hook": side("containers", lifecycle={"postStart": {"httpGet": {"port": 80, "host": "169.254.169.254"}}}),
    "apparmor": rights(appArmorProfile={"type": "Unconfined"}),
    "apparmor-annotation": {
        "podTemplate": {
            "metadata": {
                "annotations": {"container.apparmor.security.beta.kubernetes.io/opensearch": "unconfined"},
            }
        }
    },
    "selinux": rights(seLinuxOptions={"type": "spc_t"}),
    "selinux-user": pods(securityContext={"seLinuxOptions": {"user": "system_u"}}),
    "proc": {
        **pods(hostUsers=False, containers=[{"name": "opensearch", "securityContext": {"procMount": "Unmasked"}}])
    },
    "seccomp": pods(securityContext={"seccompProfile": {"type": "Unconfined"}}),
    "sysctl": pods(securityContext={"sysctls": [{"name": "vm.max_map_count", "value": "262144"}]}),
    "account": pods(serviceAccountName=ACCOUNT),
    "account-by-its-old-name": pods(serviceAccount=ACCOUNT),
    "default-token": pods(automountServiceAccountToken=True),
    "default-token-left-out": pods(automountServiceAccountToken=None),
    "token-for-vault": volume(projected={"sources": [TOKEN]}),
    "secret": volume(secret={"secretName": SECRET}),
    "secret-optional": volume(secret={"secretName": "made-later", "optional": True}),
    "secret-in-place": pods(volumes=[{"name": "config", "secret": {"secretName": SECRET}}]),
    "secret-projected": volume(projected={"sources": [{"secret": {"name": SECRET}}]}),
    "secret-variables": database(envFrom=[{"secretRef": {"name": SECRET}}]),
    "secret-variable": database(env=[{"name": "K", "valueFrom": {"secretKeyRef": {"name": SECRET, "key": "key"}}}]),
    "secret-init": side("initContainers", envFrom=[{"secretRef": {"name": SECRET}}]),
    "secret-csi": volume(csi={"driver": "d", "nodePublishSecretRef": {"name": SECRET}}),
    "secret-keystore": {"secureSettings": [{"secretName": SECRET}]},
    "secret-as-certificate": {"security": {"enabled": True, "http": {"secretName": SECRET}}},
    "secret-as-authority": {"security": {"enabled": True, "caSecretName": SECRET}},
    "secret-as-administrator": {"security": {"enabled": True, "adminSecretName": SECRET}},
    "secret-of-a-registry": pods(imagePullSecrets=[{"name": SECRET}]),
    "secret-of-a-driver": volume(csi={"driver": "d", "volumeAttributes": {"secretName": SECRET}}),
    "secret-as-its-own": {
        "pools": [{"name": "all", "replicas": 2}],
        "members": {"replace": ["secret-as-its-own-all-0"]},
        **volume(secret={"secretName": "secret-as-its-own-all-0"}),
    },
    "network-storage": volume(nfs={"server": "10.0.0.1", "path": "/payments-export"}),
    "disk": volume(gcePersistentDisk={"pdName": "payments-disk"}),
    "device": pods(resourceClaims=[{"name": "d", "resourceClaimName": "payments-device"}]),
    "clients-of-another": {"podTemplate": {"metadata": {"labels": {"app": "payments-app"}}}},
    "claim": volume(persistentVolumeClaim={"claimName": CLAIM}),
    "claim-in-place": pods(volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": CLAIM}}]),
    "claim-copied": volume(
        ephemeral={
            "volumeClaimTemplate": {
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                    "dataSource": {"kind": "PersistentVolumeClaim", "name": CLAIM},
                }
            }
        }
    ),
}
OTHER_ENGINES: dict[str, tuple[str, Json]] = {
    "of-elasticsearch": ("elasticsearch", pods(hostPID=True)),
    "secret-of-elasticsearch": ("elasticsearch", volume(secret={"secretName": SECRET})),
    "of-foundationdb": ("foundationdb", pods(hostPID=True)),
    "secret-of-foundationdb": ("foundationdb", volume(secret={"secretName": SECRET})),
}
EVERY = {**{name: ("opensearch", spec) for name, spec in WAYS.items()}, **OTHER_ENGINES}
OWN = "secret-as-its-own-all-0"
"""A Secret of another owner, with the name of a cluster's member."""
PAYMENTS = "payments"
"""The name of a cluster whose certificate Secret has the name of another owner's Secret."""
ORDINARY: dict[str, Json] = {
    "plain": {},
    "kept-to-nodes": pods(nodeSelector={"disk": "fast"}, tolerations=[{"operator": "Exists"}]),
    "with-a-sidecar": side("containers", securityContext={"capabilities": {"drop": ["ALL"]}}),
    "with-what-is-allowed": {
        "podTemplate": {
            "spec": {
                "serviceAccountName": OPEN_ACCOUNT,
                "automountServiceAccountToken": True,
                "volumes": [{"name": "x", "secret": {"secretName": OPEN}}],
            }
        },
        "secureSettings": [{"secretName": OPEN}],
    },
}


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


def off(engine: str) -> Json:
    return {} if engine == "foundationdb" else {"security": {"enabled": False}}


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


async def test_the_same_is_made_where_the_operator_is_told_to_allow_it(tenancy: Tenancy) -> None:
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
