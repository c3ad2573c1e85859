"""The key that digests are made with: made once, kept in a Secret in the operator's own namespace.

An operator that runs writes it again when its Secret is gone. Should it be lost while none runs, another one is made.
Nothing restarts and no work is done again for that: records say which key they were made with, and those of another key
are made anew without being compared. So a key that is restored from a backup is as good as a new one, and as harmless.
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
from stateward.packages.restarts.digests import Key

NAME = "stateward-digest-key"
FIELD = "key"
BYTES = 32
LOOK_SECONDS = 300.0
"""How often to look whether the Secret is still there."""
_log = structlog.get_logger(__name__)


async def digest_key(api: Api, namespace: str) -> Key:
    """Return the key of this installation of Stateward, made if there is none; raises ApiError, ValueError."""
    where = ObjectKey(namespace, NAME)
    try:
        body = await api.get(SECRETS.raw(), where)
    except NotFound:
        body = await _made(api, where, secrets.token_bytes(BYTES))
    secret = _secret_in(body)
    if len(secret) < BYTES:
        raise ValueError(
            f"the Secret {where} has no key of {BYTES} bytes in {FIELD!r}; delete it, and the operator creates one"
        )
    return Key(secret)


async def keep_key(api: Api, namespace: str, key: Key, clock: Clock) -> None:
    """Write the key again when its Secret is gone, until cancelled; raises LostLease."""
    where, told = ObjectKey(namespace, NAME), False
    while True:
        await clock.sleep(LOOK_SECONDS)
        try:
            told = await _look(api, where, key, told=told)
        except ApiError as error:
            _log.warning("cannot maintain the key of digests", secret=str(where), error=str(error))


async def _look(api: Api, where: ObjectKey, key: Key, *, told: bool) -> bool:
    """Look once; return whether it is known, and was told, that somebody has put another key there."""
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
