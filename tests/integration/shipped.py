"""What administrators apply on a real API server: the accounts and roles of the manifests, and their bindings."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from stateward.kube.access.config import connect
from stateward.kube.access.credentials import Credential, StaticCredentials
from stateward.kube.client.client import Api, ApplyOptions, RawRequest
from stateward.kube.client.http_client import HttpApi
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.resources import NAMESPACES, SERVICE_ACCOUNTS
from tests.integration.api_server import ROOT

SYSTEM = "stateward-system"
RBAC = "rbac.authorization.k8s.io"
ROLE_BINDINGS: Resource[Any] = Resource(RBAC, "v1", "rolebindings", "RoleBinding", dict[str, Any])
ROLES: Resource[Any] = Resource(RBAC, "v1", "roles", "Role", dict[str, Any])
CLUSTER_ROLES: Resource[Any] = Resource(RBAC, "v1", "clusterroles", "ClusterRole", dict[str, Any], namespaced=False)
CLUSTER_ROLE_BINDINGS: Resource[Any] = Resource(
    RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", dict[str, Any], namespaced=False
)
SHIPPED = (NAMESPACES.raw(), SERVICE_ACCOUNTS.raw(), ROLES, ROLE_BINDINGS, CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS)
_APPLY = ApplyOptions("test", force=True)


async def ship(api: Api) -> None:
    """Apply all accounts and roles of the manifests."""
    kinds = {kind.kind: kind for kind in SHIPPED}
    for path in sorted((ROOT / "charts/stateward/manifests").glob("*.yaml"), key=lambda path: path.stem != "namespace"):
        for body in yaml.safe_load_all(path.read_text()):
            if (kind := kinds.get(body["kind"])) is not None:
                key = Key(body["metadata"].get("namespace", ""), body["metadata"]["name"])
                await api.apply(kind, key, body, _APPLY)


async def bind(api: Api, namespace: str, role: str, subject: dict[str, Any], name: str = "") -> Key:
    """Give the rights of a cluster role in one namespace to a subject; return where the binding is."""
    key = Key(namespace, name or f"{subject['name']}-{role}")
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
    body = {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": {"name": key.name}, "roleRef": reference}
    await api.apply(ROLE_BINDINGS, key, body | {"subjects": [subject]}, _APPLY)
    return key


async def grant(api: Api, namespace: str, account: str, *rules: dict[str, Any], everywhere: bool = False) -> None:
    """Give exactly these rights to a service account, in its namespace or everywhere."""
    kinds = (CLUSTER_ROLES, CLUSTER_ROLE_BINDINGS) if everywhere else (ROLES, ROLE_BINDINGS)
    key = Key("" if everywhere else namespace, f"{namespace}-{account}")
    reference = {"apiGroup": RBAC, "kind": kinds[0].kind, "name": key.name}
    for kind, more in zip(
        kinds, ({"rules": list(rules)}, {"roleRef": reference, "subjects": [subject(namespace, account)]}), strict=True
    ):
        head = {"apiVersion": f"{RBAC}/v1", "kind": kind.kind, "metadata": {"name": key.name}}
        await api.apply(kind, key, {**head, **more}, _APPLY)


def subject(namespace: str, account: str) -> dict[str, Any]:
    """Return a service account as bindings name it."""
    return {"kind": "ServiceAccount", "name": account, "namespace": namespace}


def person(name: str) -> dict[str, Any]:
    """Return a user as bindings name them."""
    return {"apiGroup": RBAC, "kind": "User", "name": name}


@asynccontextmanager
async def logged_in(kubeconfig: Path, admin: Api, account: str) -> AsyncGenerator[HttpApi]:
    """Open a connection with the token of one of the operator's accounts."""
    path = SERVICE_ACCOUNTS.path_of(Key(SYSTEM, account), "token")
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    token = json.loads(await admin.request(RawRequest(path, "POST", body=asked)))["status"]["token"]
    connection = replace(connect(kubeconfig=str(kubeconfig)), credentials=StaticCredentials(Credential(token=token)))
    async with HttpApi(connection) as api:
        yield api


async def may(api: Api, user: str, verb: str, kind: Resource[Any], namespace: str = "") -> bool:
    """Return whether a user has a right."""
    asked = {"verb": verb, "group": kind.group, "resource": kind.plural, "namespace": namespace}
    groups = [
        "system:authenticated",
        *(["system:serviceaccounts"] if user.startswith("system:serviceaccount:") else []),
    ]
    spec = {"user": user, "groups": groups, "resourceAttributes": asked}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer = await api.request(RawRequest("/apis/authorization.k8s.io/v1/subjectaccessreviews", "POST", body=review))
    return bool(json.loads(answer)["status"]["allowed"])
