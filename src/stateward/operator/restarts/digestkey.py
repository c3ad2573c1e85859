"""The key that digests are made with: made once, kept in a Secret in the operator's own namespace.

Should it be lost, another one is made. Nothing restarts for that: records say which key they were made with, and those
of another key are made anew without being compared.
"""

import base64
import secrets

from stateward.api.names import FIELD_MANAGER
from stateward.kube.client import Api
from stateward.kube.errors import AlreadyExists, NotFound
from stateward.kube.metadata import Key as ObjectKey
from stateward.kube.resources import SECRETS
from stateward.packages.digests import Key

NAME = "stateward-digest-key"
FIELD = "key"
BYTES = 32


async def digest_key(api: Api, namespace: str) -> Key:
    """Return the key of this installation of Stateward, made if there is none; raises ApiError, ValueError."""
    where = ObjectKey(namespace, NAME)
    try:
        body = await api.get(SECRETS.raw(), where)
    except NotFound:
        body = await _made(api, where)
    secret = base64.b64decode(body.get("data", {}).get(FIELD, ""))
    if len(secret) < BYTES:
        raise ValueError(f"the Secret {where} has no key of {BYTES} bytes in {FIELD!r}; delete it, and one is made")
    return Key(secret)


async def _made(api: Api, where: ObjectKey) -> dict[str, dict[str, str]]:
    value = base64.b64encode(secrets.token_bytes(BYTES)).decode()
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
