"""Asks the operator what a cluster's database reports, if the database cannot be reached with the viewer's own rights.

The way is the API server's proxy to the operator's Service. The viewer shows a token for this endpoint alone, requested
of a ServiceAccount that may only do what is asked for: the API server decides who may request one, and refuses the
token for everything else. The viewer's own token is sent only to those that want it (`--send-token`).
"""

import msgspec

from stateward.api.kinds.cluster import Cluster
from stateward.api.values.base import Json
from stateward.cli.shared.session import Session
from stateward.engines.search.declared.preview import ObjectPreview
from stateward.kube.client.client import RawRequest
from stateward.kube.objects.errors import ApiError, Forbidden, NotFound, Unavailable
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Resource
from stateward.kube.objects.resources import SERVICE_ACCOUNTS, SERVICES
from stateward.operator.database_view.address import (
    ACCOUNT,
    AUDIENCE,
    PATH,
    PORT_NAME,
    PREVIEW_ACCOUNT,
    PREVIEW_PATH,
    SERVICE,
    TOKEN_HEADER,
)
from stateward.operator.database_view.answers import decode
from stateward.operator.objects.kinds import kind_of
from stateward.packages.format.trees import at, text
from stateward.planning.model.database import Database, Unknown

NOT_INSTALLED = (
    "the operator cannot be asked either: it has no endpoint there (--operator-namespace names another place;"
    " `stateward manifests --no-database-view` installs none, and an operator of a wave has none)"
)
SECONDS = 600
"""The life of a requested token: the shortest that the API server grants. It is used for half of it."""


class NoTokenError(Exception):
    """There is no token to show; the message says why, and what helps."""


async def ask_preview(session: Session, plural: str, name: str, document: Json) -> ObjectPreview:
    """Return what the operator says that a resource would change in the database, or why it cannot be asked.

    `name` is what the resource is about, if the operator does not say it.
    """

    def unknown(why: str) -> ObjectPreview:
        return ObjectPreview(name, "wait", "OperatorNotAsked", why)

    try:
        token = await shown_token(session, PREVIEW_ACCOUNT)
    except NoTokenError as error:
        return unknown(str(error))
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
        token = await shown_token(session, ACCOUNT)
    except NoTokenError as error:
        return Unknown(str(error))
    request = RawRequest(path_of(cluster, session.operator_namespace), headers={TOKEN_HEADER: token})
    answer = await _answered(session, request)
    return Unknown(answer) if isinstance(answer, str) else decode(answer)


async def shown_token(session: Session, account: str) -> str:
    """Return the token to show: one of an account for this endpoint, or the viewer's own where that is allowed.

    Raise NoTokenError.
    """
    known, until = session.view_tokens.get(account, ("", 0.0))
    now = session.clock.monotonic()
    if known and now < until:
        return known
    try:
        token = await requested_token(session, account)
    except NotFound:
        raise NoTokenError(NOT_INSTALLED) from None
    except Forbidden as error:
        return await own_token(session, account, error.message)
    except ApiError as error:
        raise NoTokenError(f"the operator cannot be asked: no token of {account}: {error.message}") from error
    if not token:
        raise NoTokenError(f"the operator cannot be asked: the API server gives no token of ServiceAccount {account}")
    session.view_tokens[account] = (token, now + SECONDS / 2)
    return token


async def own_token(session: Session, account: str, refusal: str) -> str:
    """Return the viewer's own token, if the viewer wants it to be sent; raise NoTokenError."""
    where = f"ServiceAccount {account} in {session.operator_namespace}"
    needs = f"you may not request a token of {where} ({refusal}): ask for the right to create its serviceaccounts/token"
    if not session.send_token:
        raise NoTokenError(f"the operator cannot be asked: {needs}, or add --send-token, which sends it your own token")
    if own := await session.token():
        return own
    raise NoTokenError(f"the operator cannot be asked: {needs}. Your credentials have no token to send")


async def requested_token(session: Session, account: str) -> str:
    """Return a token of an account for this endpoint; empty if the API server's answer has none.

    Raise ApiError if the viewer may not request one.
    """
    path = SERVICE_ACCOUNTS.path_of(Key(session.operator_namespace, account), "token")
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": {"audiences": [AUDIENCE], "expirationSeconds": SECONDS},
    }
    answer = await session.api.request(RawRequest(path, "POST", body=body))
    try:
        return text(at(msgspec.json.decode(answer), "status", "token"))
    except msgspec.DecodeError:
        return ""


async def _answered(session: Session, request: RawRequest) -> bytes | str:
    """Return the operator's answer, or why there is none."""
    try:
        try:
            return await session.api.request(request)
        except Unavailable:
            # Every process answers. While a pod is replaced, the one that the Service has chosen may just be gone.
            return await session.api.request(request)
    except NotFound:
        return NOT_INSTALLED
    except ApiError as error:
        return f"the operator cannot be asked: {error.message}"


def path_of(cluster: Cluster, namespace: str) -> str:
    """Return the path of the endpoint through the API server."""
    resource: Resource[Cluster] = kind_of(cluster).resource
    meta = cluster.metadata
    return proxied(PATH.format(namespace=meta.namespace, plural=resource.plural, name=meta.name), namespace)


def proxied(path: str, namespace: str) -> str:
    """Return a path of the endpoint as it is reached through the API server."""
    return SERVICES.path(namespace, f"https:{SERVICE}:{PORT_NAME}", "proxy") + path
