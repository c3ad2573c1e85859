"""The user that an operator is to the API server: a ServiceAccount of its own, as it has in a cluster."""

from pathlib import Path
from typing import Any

import msgspec
import yaml

from bench.children import LOGS
from stateward.kube.client.client import Api, ApplyOptions, RawRequest
from stateward.kube.objects.metadata import Key, PartialObject
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.resources import SERVICE_ACCOUNTS

ACCOUNT = Key("kube-system", "bench")
USER = f"system:serviceaccount:{ACCOUNT.namespace}:{ACCOUNT.name}"
BINDINGS = Resource(
    "rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", PartialObject, namespaced=False
)
_APPLY = ApplyOptions("bench", force=True)
_DAY = 86_400


async def account_token(api: Api) -> str:
    """Make the account and return a token of it, good for a day."""
    meta = {"name": ACCOUNT.name, "namespace": ACCOUNT.namespace}
    await api.apply(SERVICE_ACCOUNTS, ACCOUNT, {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": meta}, _APPLY)
    await api.apply(BINDINGS, Key("", ACCOUNT.name), _binding(), _APPLY)
    wish = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": _DAY}}
    path = SERVICE_ACCOUNTS.path_of(ACCOUNT, "token")
    answer: dict[str, Any] = msgspec.json.decode(await api.request(RawRequest(path, "POST", body=wish)))
    return answer["status"]["token"]


def kubeconfig_for(token: str, admin: Path) -> Path:
    """Return the file of a kubeconfig for the account: the administrator's, with another user."""
    file = LOGS.absolute() / "operator.kubeconfig"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(yaml.safe_dump(with_token(yaml.safe_load(admin.read_text()), token)))
    return file


def with_token(kubeconfig: dict[str, Any], token: str) -> dict[str, Any]:
    """Return a kubeconfig whose users are all the one of this token."""
    users = [{"name": user["name"], "user": {"token": token}} for user in kubeconfig["users"]]
    return {**kubeconfig, "users": users}


def _binding() -> dict[str, Any]:
    return {
        "apiVersion": BINDINGS.api_version,
        "kind": BINDINGS.kind,
        "metadata": {"name": ACCOUNT.name},
        "roleRef": {"apiGroup": BINDINGS.group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT.name, "namespace": ACCOUNT.namespace}],
    }
