"""The root of the keys of digests: created once, kept in a Secret in the operator's own namespace.

A running operator writes it again if its Secret is deleted. If it is lost while no operator runs, another key is
created. This causes no restart: records name their key, and those of another key are recreated without a comparison. So
a key restored from a backup is as good as a new one, and as harmless.
"""

import base64
import secrets
from typing import Any

import structlog

from stateward.api.values.names import FIELD_MANAGER
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import AlreadyExists, ApiError, NotFound
from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.kube.objects.resources import SECRETS
from stateward.kube.timing.clock import Clock
from stateward.packages.restarts.digests import RootKey

NAME = "stateward-digest-key"
FIELD = "key"
BYTES = 32
LOOK_SECONDS = 300.0
"""Seconds between checks that the Secret exists."""
_log = structlog.get_logger(__name__)


async def digest_key(api: Api, namespace: str) -> RootKey:
    """Return the root key of this installation of Stateward, created if there is none; raises ApiError, ValueError."""
    where = ObjectKey(namespace, NAME)
    try:
        body = await api.get(SECRETS.raw(), where)
    except NotFound:
        body = await _made(api, where, secrets.token_bytes(BYTES))
    return _key_in(body, where)


async def known_key(api: Api, namespace: str) -> RootKey:
    """Return the key without creating one: where there is none, one that is only for this call.

    Nothing was written with a key that does not exist, so both tell the same. Raises ApiError, ValueError.
    """
    where = ObjectKey(namespace, NAME)
    try:
        return _key_in(await api.get(SECRETS.raw(), where), where)
    except NotFound:
        return RootKey(secrets.token_bytes(BYTES))


def _key_in(body: dict[str, Any], where: ObjectKey) -> RootKey:
    secret = _secret_in(body)
    if len(secret) < BYTES:
        raise ValueError(
            f"the Secret {where} has no key of {BYTES} bytes in {FIELD!r}; delete it, and the operator creates one"
        )
    return RootKey(secret)


async def keep_key(api: Api, namespace: str, key: RootKey, clock: Clock) -> None:
    """Write the key again when its Secret is gone, until cancelled; raises LostLease."""
    where, told = ObjectKey(namespace, NAME), False
    while True:
        await clock.sleep(LOOK_SECONDS)
        try:
            told = await _look(api, where, key, told=told)
        except ApiError as error:
            _log.warning("cannot maintain the key of digests", secret=str(where), error=str(error))


async def _look(api: Api, where: ObjectKey, key: RootKey, *, told: bool) -> bool:
    """Check once; return whether another key was found in the Secret, and reported."""
    try:
        body = await api.get(SECRETS.raw(), where)
    except NotFound:
        await _made(api, where, key.secret)
        _log.warning("the key of digests was deleted; the operator writes it again", secret=str(where))
        return False
    if _secret_in(body) == key.secret:
        return False
    if not told:
        _log.warning(
            "the key of digests has changed: the operator uses the new one after its next start", secret=str(where)
        )
    return True


def _secret_in(body: dict[str, Any]) -> bytes:
    return base64.b64decode(body.get("data", {}).get(FIELD, ""))


async def _made(api: Api, where: ObjectKey, secret: bytes) -> dict[str, Any]:
    value = base64.b64encode(secret).decode()
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": where.name, "labels": {"app.kubernetes.io/managed-by": FIELD_MANAGER}},
        "data": {FIELD: value},
    }
    try:
        return await api.create(SECRETS.raw(), body, namespace=where.namespace)
    except AlreadyExists:
        return await api.get(SECRETS.raw(), where)
