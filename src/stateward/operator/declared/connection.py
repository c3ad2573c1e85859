"""The Secret with which an application connects: host, port, CA, user, password, and all of it as a URI.

It is also where a password that the operator made is kept: there before the database has it.
"""

import secrets as random_secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from stateward.api.kinds.cluster import Cluster
from stateward.api.kinds.search import SearchCluster
from stateward.api.kinds.search_user import SearchUser
from stateward.api.values.names import FIELD_MANAGER
from stateward.engines.search.configuration.security import authority_secret, operator_secret
from stateward.engines.search.spec.flavor import HTTP_PORT
from stateward.kube.client.client import Api, PatchKind
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import SECRETS
from stateward.kube.objects.secret_content import encoded, text_content
from stateward.operator.objects.ownership import NotOwnedError, own_secret
from stateward.operator.objects.permission import allowed, requirement

NEXT_USERNAME, NEXT_PASSWORD = "next-username", "next-password"
"""Keys of a password that the database does not have yet."""
PASSWORD_BYTES = 32
RAW = SECRETS.raw()
Texts = Mapping[str, str]


class TakenError(Exception):
    """A Secret of that name exists and belongs to another owner."""


class NotAllowedError(Exception):
    """A Secret with certificates is not allowed for the cluster."""


class NotThereError(Exception):
    """A Secret with certificates does not exist."""


@dataclass(frozen=True)
class ConnectionSecret:
    """The Secret as it is: its content, and None for `version` if it does not exist."""

    key: Key
    texts: Texts
    version: str | None = None
    moved: bool = False
    """Whether the content is that of the Secret of the earlier name, and this one does not have it yet."""

    def password_of(self, username: str) -> str:
        """Return the password of a user, as far as the Secret has it; empty otherwise."""
        if self.texts.get("username") == username and self.texts.get("password"):
            return self.texts["password"]
        return self.texts.get(NEXT_PASSWORD, "") if self.texts.get(NEXT_USERNAME) == username else ""


def secret_name(user: SearchUser) -> str:
    """Return the name of a user's connection Secret."""
    return user.spec.connection_secret_name or f"{user.metadata.name}-connection"


async def read_secret(api: Api, user: SearchUser) -> ConnectionSecret:
    """Return the connection Secret, read live; raises TakenError, ApiError.

    One of another name than the status has begins with the content of the earlier one, also if it exists: it may be of
    long ago. The disaster this prevents: the user gets another password while applications still log in with that of
    the earlier Secret.
    """
    key, earlier = Key(user.metadata.namespace, secret_name(user)), user.status.connection_secret_name
    found = await _found(api, key)
    if found is not None and not _belongs(found, user):
        raise TakenError(f"the Secret {key.name} exists and does not belong to this user")
    version = None if found is None else str(found["metadata"]["resourceVersion"])
    before = await _found(api, Key(key.namespace, earlier)) if is_renamed(user) else None
    if before is not None and _belongs(before, user):
        return ConnectionSecret(key, text_content(before), version, moved=True)
    return ConnectionSecret(key, {} if found is None else text_content(found), version)


def is_renamed(user: SearchUser) -> bool:
    """Return whether the Secret has another name than the one that the status has."""
    return user.status.connection_secret_name not in ("", secret_name(user))


async def _found(api: Api, key: Key) -> dict[str, Any] | None:
    try:
        return await api.get(RAW, key)
    except NotFound:
        return None


def _belongs(found: dict[str, Any], user: SearchUser) -> bool:
    owners: list[dict[str, Any]] = found["metadata"].get("ownerReferences") or []
    return any(each.get("controller") and each.get("uid") == user.metadata.uid for each in owners)


async def write_secret(api: Api, user: SearchUser, before: ConnectionSecret, texts: Texts) -> ConnectionSecret:
    """Write the content if it is new; raises AlreadyExists or Conflict if another client was faster, ApiError."""
    if before.version is not None and not before.moved and dict(before.texts) == dict(texts):
        return before
    data = encoded(dict(texts))
    if before.version is None:
        made = await api.create(RAW, _document(user, before.key, data), namespace=before.key.namespace)
    else:
        patch = [
            {"op": "test", "path": "/metadata/resourceVersion", "value": before.version},
            {"op": "add", "path": "/data", "value": data},
        ]
        made = await api.patch(RAW, before.key, patch, kind=PatchKind.JSON)
    return ConnectionSecret(before.key, texts, made["metadata"]["resourceVersion"])


def _document(user: SearchUser, key: Key, data: Mapping[str, str]) -> dict[str, Any]:
    owner = {
        "apiVersion": user.api_version,
        "kind": user.kind,
        "name": user.metadata.name,
        "uid": user.metadata.uid,
        "controller": True,
    }
    meta = {"name": key.name, "ownerReferences": [owner], "labels": {"app.kubernetes.io/managed-by": FIELD_MANAGER}}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "Opaque", "data": dict(data)}


def new_password() -> str:
    """Return a random password."""
    return random_secrets.token_urlsafe(PASSWORD_BYTES)


def prepared(before: ConnectionSecret, username: str, password: str) -> Texts:
    """Return the content with a password that the database does not have yet."""
    return {**before.texts, NEXT_USERNAME: username, NEXT_PASSWORD: password}


async def authority(api: Api, cluster: Cluster, *, labelled: bool) -> str:
    """Return the certificates that clients trust; empty if the Secret has none.

    `labelled`: whether a given Secret needs the label that allows it for the cluster. Raises ApiError, NotThereError,
    and NotAllowedError, which says why.

    The disaster this prevents: the author of a cluster names any Secret, and finds its certificates in the Secret of a
    user.
    """
    if not isinstance(cluster, SearchCluster):
        return ""
    asked, namespace = cluster.spec.security, cluster.metadata.namespace
    given = asked.http.secret_name if asked is not None and asked.http is not None else None
    source = Key(namespace, authority_secret(cluster) if given is None else given)
    try:
        found = await _found(api, source) if given is not None else await own_secret(api, source, cluster)
    except NotOwnedError as error:
        raise NotAllowedError(str(error)) from error
    if found is None:
        raise NotThereError(f"there is no Secret {source.name}")
    name = cluster.metadata.name
    if given is not None and labelled and not allowed(found["metadata"].get("labels") or {}, name):
        raise NotAllowedError(f"spec.security.http.secretName of {name}: the Secret {given} {requirement(name)}")
    return await _of_the_operator(api, cluster) or text_content(found).get("ca.crt", "")


async def _of_the_operator(api: Api, cluster: SearchCluster) -> str:
    """Return the certificates by which the operator verifies the members; empty if they are not known.

    The disaster this prevents: the Secret that was given has another CA, members do not show its certificate, because
    it cannot be used or they have not restarted, and applications trust no member any more.
    """
    try:
        found = await own_secret(api, Key(cluster.metadata.namespace, operator_secret(cluster)), cluster)
    except NotOwnedError:
        return ""
    return text_content(found or {}).get("ca.crt", "")


def connection(cluster: Cluster, ca: str, username: str, password: str) -> Texts:
    """Return what an application needs to connect."""
    host = f"{cluster.metadata.name}.{cluster.metadata.namespace}.svc"
    port = str(HTTP_PORT)
    return {
        "host": host,
        "port": port,
        "ca.crt": ca,
        "username": username,
        "password": password,
        "uri": f"https://{quote(username, safe='')}:{quote(password, safe='')}@{host}:{port}",
    }
