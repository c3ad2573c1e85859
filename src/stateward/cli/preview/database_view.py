"""Asks the operator what a cluster's database reports, if the database cannot be reached with the viewer's own rights.

The way is the API server's proxy to the operator's Service, with the viewer's token: the operator has the API server
check whose it is and whether this user may get the cluster. A user with a client certificate has no token, and requests
one of a ServiceAccount that may only get clusters: the API server decides who may.
"""

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.base import Json
from stateward.cli.shared.session import Session
from stateward.engines.search.declared.preview import ObjectPreview
from stateward.kube.client.client import RawRequest
from stateward.kube.objects.errors import ApiError, NotFound, Unavailable
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.resources import SERVICE_ACCOUNTS, SERVICES
from stateward.operator.database_view.address import ACCOUNT, PATH, PORT_NAME, PREVIEW_PATH, SERVICE, TOKEN_HEADER
from stateward.operator.database_view.answers import decode
from stateward.operator.objects.kinds import kind_of
from stateward.packages.format.trees import at, text
from stateward.planning.model.database import Database, Unknown

ATTEMPTS = 2
"""Every process of the operator answers; while a pod is replaced, the first one that is chosen may be gone."""
NOT_INSTALLED = "the operator cannot be asked either: it has no endpoint there (`stateward manifests --database-view`)"
NO_TOKEN = "the operator cannot be asked: your credentials have no token, only a client certificate"  # noqa: S105
SECONDS = 600
"""The life of a requested token: the shortest that the API server grants."""


async def ask_preview(session: Session, plural: str, name: str, document: Json) -> ObjectPreview:
    """Return what the operator says that a resource would change in the database, or why it cannot be asked.

    `name` is what the resource is about, if the operator does not say it.
    """

    def unknown(why: str) -> ObjectPreview:
        return ObjectPreview(name, "wait", "OperatorNotAsked", why)

    token = await session.token()
    if not token:
        return unknown(NO_TOKEN)
    namespace = str(document["metadata"].get("namespace") or session.namespace)
    path = proxied(PREVIEW_PATH.format(namespace=namespace, plural=plural), session.operator_namespace)
    answer = await _answered(session, RawRequest(path, "POST", body=document, headers={TOKEN_HEADER: token}))
    if isinstance(answer, str):
        return unknown(answer)
    try:
        return msgspec.json.decode(answer, type=ObjectPreview)
    except msgspec.DecodeError as error:
        return unknown(f"the operator's answer cannot be read, it is of another version: {error}")


async def ask_operator(session: Session, cluster: Cluster) -> Database | Unknown:
    """Return what the operator says about the cluster's database, or why it cannot be asked."""
    try:
        token = await session.token() or await requested_token(session)
    except NotFound:
        return Unknown(NOT_INSTALLED)
    except ApiError as error:
        return Unknown(f"{NO_TOKEN}, and you may not request one of ServiceAccount {ACCOUNT}: {error.message}")
    if not token:
        return Unknown(f"{NO_TOKEN}, and the API server gives none of ServiceAccount {ACCOUNT}")
    request = RawRequest(path_of(cluster, session.operator_namespace), headers={TOKEN_HEADER: token})
    answer = await _answered(session, request)
    return Unknown(answer) if isinstance(answer, str) else decode(answer)


async def requested_token(session: Session) -> str:
    """Return a token of the account that may only get clusters; empty if the API server's answer has none.

    Raise ApiError if the viewer may not request one.
    """
    path = SERVICE_ACCOUNTS.path_of(Key(session.operator_namespace, ACCOUNT), "token")
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"expirationSeconds": SECONDS},
    }
    answer = await session.api.request(RawRequest(path, "POST", body=body))
    try:
        return text(at(msgspec.json.decode(answer), "status", "token"))
    except msgspec.DecodeError:
        return ""


async def _answered(session: Session, request: RawRequest) -> bytes | str:
    """Return the operator's answer, or why there is none."""
    for left in reversed(range(ATTEMPTS)):
        try:
            return await session.api.request(request)
        except NotFound:
            return NOT_INSTALLED
        except ApiError as error:
            if not (left and isinstance(error, Unavailable)):
                return f"the operator cannot be asked: {error.message}"
    return NOT_INSTALLED


def path_of(cluster: Cluster, namespace: str) -> str:
    """Return the path of the endpoint through the API server."""
    resource: Resource[Cluster] = kind_of(cluster).resource
    meta = cluster.metadata
    return proxied(PATH.format(namespace=meta.namespace, plural=resource.plural, name=meta.name), namespace)


def proxied(path: str, namespace: str) -> str:
    """Return a path of the endpoint as it is reached through the API server."""
    return SERVICES.path(namespace, f"https:{SERVICE}:{PORT_NAME}", "proxy") + path
