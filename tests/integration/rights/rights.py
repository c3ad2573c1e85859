"""Which rights an account uses: every request that it sends is written down as what the API server asks about it."""

from collections.abc import AsyncGenerator, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import yaml
from msgspec import Struct

from sandbox.kubernetes.kubeapi import KubeApi
from stateward.api.values.base import Json
from stateward.kube.access.config import connect
from stateward.kube.access.connection import Connection
from stateward.kube.access.credentials import Credential, StaticCredentials
from stateward.kube.client.http_client import HttpApi
from stateward.kube.client.transport import Call, Limits, Transport
from stateward.kube.objects.errors import Forbidden
from stateward.kube.timing.clock import SystemClock

CHART = Path(__file__).parents[3] / "charts/stateward"
SYSTEM = "stateward-system"
PATHS = {
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "Namespace": "/api/v1/namespaces",
    "ServiceAccount": f"/api/v1/namespaces/{SYSTEM}/serviceaccounts",
    "Role": f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SYSTEM}/roles",
    "RoleBinding": f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SYSTEM}/rolebindings",
    "ClusterRole": "/apis/rbac.authorization.k8s.io/v1/clusterroles",
    "ClusterRoleBinding": "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
}
VERBS = {"POST": "create", "PATCH": "patch", "PUT": "update", "DELETE": "delete"}


class Right(Struct, frozen=True, order=True):
    """One thing that one may do with one kind; `resource` names the subresource after a slash."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        return f"{self.verb} {self.resource}{f'.{self.group}' if self.group else ''}"


def rights_of(call: Call) -> frozenset[Right]:
    """Return what one needs for a request; nothing for one that is about no object, such as `/version` and `/apis`."""
    parts = call.path.strip("/").split("/")
    if parts[0] not in {"api", "apis"} or len(parts) == 1:
        return frozenset()
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1], parts[3:])
    if rest[:1] == ["namespaces"] and len(rest) > 2:
        rest = rest[2:]
    if not rest:
        return frozenset()
    resource = "/".join([rest[0], *rest[2:3]])
    verb = VERBS.get(call.method) or ("watch" if "watch" in call.query else "get" if len(rest) > 1 else "list")
    # What applies may make: the server asks for both where the object is not there.
    verbs = {verb, "create"} if call.content_type.startswith("application/apply") else {verb}
    return frozenset(Right(group, resource, each) for each in verbs)


def granted(documents: Iterable[Json]) -> set[Right]:
    """Return the rights that roles give."""
    rules = [rule for body in documents if body["kind"] in {"ClusterRole", "Role"} for rule in body["rules"]]
    return {
        Right(group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def manifest(*names: str) -> list[Json]:
    """Return what is in files of the chart, such as `manifests/namespace` or `files/crds/stateward.dev_swpackages`."""
    return [body for name in names for body in yaml.safe_load_all((CHART / f"{name}.yaml").read_text())]


IMPERSONATE = Right("", "serviceaccounts", "impersonate")


class Uses:
    """The rights that were used, those that were used as another account, and what was refused."""

    def __init__(self) -> None:
        self.used: set[Right] = set()
        self.acting: set[Right] = set()
        self.refused: list[str] = []


class NotedTransport(Transport):
    """A way to the API server that writes down what is asked."""

    def __init__(self, connection: Connection, uses: Uses) -> None:
        super().__init__(connection, clock=SystemClock(), limits=Limits(), user_agent="stateward")
        self._uses = uses

    async def send(self, call: Call) -> bytes:
        """Return the body of a successful answer; raises ApiError."""
        with self._noted(call):
            return await super().send(call)

    async def lines(self, call: Call, *, torn: bool = False) -> AsyncGenerator[bytes, None]:
        """Yield the lines of an endless answer."""
        with self._noted(call):
            async for line in super().lines(call, torn=torn):
                yield line

    @contextmanager
    def _noted(self, call: Call) -> Generator[None]:
        if self._user:
            self._uses.used.add(IMPERSONATE)
            self._uses.acting |= rights_of(call)
        else:
            self._uses.used |= rights_of(call)
        try:
            yield
        except Forbidden as error:
            self._uses.refused.append(str(error))
            raise


class NotedApi(HttpApi):
    """The API server as one account may use it, and a list of what it uses."""

    def __init__(self, connection: Connection, uses: Uses) -> None:
        super().__init__(connection)
        self._transport = NotedTransport(connection, uses)


def installed(server: KubeApi, *names: str) -> None:
    """Have what is in files of the chart on the server, but for the Deployment: nothing runs there."""
    for body in manifest(*names):
        if body["kind"] in PATHS:
            server.apply(f"{PATHS[body['kind']]}/{body['metadata']['name']}", body)


@asynccontextmanager
async def as_account(kubeconfig: Path, account: str, uses: Uses | None = None) -> AsyncGenerator[HttpApi]:
    """Open a connection that may do what an account of the manifests may, and no more."""
    path = f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/{account}/token"
    request = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    token = KubeApi(kubeconfig).post(path, request)["status"]["token"]
    connection = replace(connect(kubeconfig=str(kubeconfig)), credentials=StaticCredentials(Credential(token=token)))
    async with NotedApi(connection, uses or Uses()) as api:
        yield api
