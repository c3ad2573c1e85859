"""The user of a token, and whether this user may get a cluster: two questions to the API server, and its answers.

The operator decides nothing by itself: a TokenReview says which user a token belongs to, and a SubjectAccessReview
whether this user may get this cluster. An answer that is anything but a clear yes is a no.
"""

from typing import Any

import msgspec
from msgspec import Struct

from stateward.api.values.base import GROUP, Json
from stateward.kube.client.client import Api, RawRequest
from stateward.kube.objects.metadata import Key
from stateward.operator.database_view.address import PREVIEW_VERB
from stateward.packages.format.trees import at, items, obj, text

TOKENS = "/apis/authentication.k8s.io/v1/tokenreviews"
ACCESS = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
LONGEST = 8 * 1024
"""Characters of a token: as many as the server reads of a header."""


class User(Struct, frozen=True):
    """A user as the API server knows it."""

    name: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Json = {}


async def user_of(api: Api, token: str, audience: str = "") -> User | None:
    """Return the user of a token for an audience, by default the API server; None if it is not one. Raise ApiError."""
    if not token or len(token) > LONGEST or not token.isascii():
        return None
    return authenticated(await _asked(api, TOKENS, token_review(token, audience)), audience)


async def may_get(api: Api, user: User, plural: str, key: Key) -> bool:
    """Return whether a user may get a cluster, or with an empty name all of a namespace; raise ApiError."""
    return allowed(await _asked(api, ACCESS, access_review(user, plural, key)))


async def may_create(api: Api, user: User, plural: str, namespace: str) -> bool:
    """Return whether a user may create objects of a kind in a namespace; raise ApiError."""
    return allowed(await _asked(api, ACCESS, access_review(user, plural, Key(namespace, ""), "create")))


async def may_preview(api: Api, user: User, plural: str, namespace: str) -> bool:
    """Return whether a user has the right that exists only for previews of a kind in a namespace; raise ApiError."""
    return allowed(await _asked(api, ACCESS, access_review(user, plural, Key(namespace, ""), PREVIEW_VERB)))


async def may_list(api: Api, user: User, plural: str, namespace: str) -> bool:
    """Return whether a user may list the clusters of a namespace, or with an empty one of all; raise ApiError."""
    return allowed(await _asked(api, ACCESS, access_review(user, plural, Key(namespace, ""), "list")))


async def _asked(api: Api, path: str, body: Json) -> Any:
    return msgspec.json.decode(await api.request(RawRequest(path, "POST", body=body)))


def token_review(token: str, audience: str = "") -> Json:
    """Return the question about a token: whether it is one for an audience, by default the API server itself."""
    spec: Json = {"token": token} | ({"audiences": [audience]} if audience else {})
    return {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": spec}


def access_review(user: User, plural: str, key: Key, verb: str = "get") -> Json:
    """Return the question about a right."""
    attributes = {"verb": verb, "group": GROUP, "resource": plural, "namespace": key.namespace, "name": key.name}
    who = {"user": user.name, "uid": user.uid, "groups": list(user.groups), "extra": user.extra}
    spec = {name: value for name, value in who.items() if value} | {"resourceAttributes": attributes}
    return {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}


def authenticated(answer: Any, audience: str = "") -> User | None:
    """Return the user in an answer about a token; None unless it says that the token is valid, and whose it is.

    An answer about an audience must name it: an authenticator that knows no audiences accepts tokens for all others.
    """
    status = obj(at(answer, "status"))
    user = obj(status.get("user"))
    name = text(user.get("username"))
    if status.get("authenticated") is not True or text(status.get("error")) or not name:
        return None
    if audience and audience not in items(status.get("audiences")):
        return None
    groups = tuple(group for group in items(user.get("groups")) if isinstance(group, str))
    return User(name, text(user.get("uid")), groups, obj(user.get("extra")))


def allowed(answer: Any) -> bool:
    """Return whether an answer about a right is a clear yes."""
    status = obj(at(answer, "status"))
    return status.get("allowed") is True and status.get("denied") is not True
