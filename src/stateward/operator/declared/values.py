"""Reads the values of a body that come from Secrets.

The right to write a declared object is no right to read Secrets: its body could carry a Secret into the database. So a
Secret needs a label that only those can set who may write the Secret itself.
"""

import base64
import binascii

from stateward.api.kinds.search_object import SearchObject, SecretValue
from stateward.api.values.base import Json
from stateward.api.values.names import LABEL_ALLOWED
from stateward.engines.search.declared.pointers import placed
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import SECRETS


class NoValueError(Exception):
    """A value that cannot be used; `reason` is for programs."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


async def with_values(api: Api, found: SearchObject) -> tuple[Json, tuple[str, ...]]:
    """Return the body with its values, and the values; raises NoValueError, ApiError."""
    body, texts = found.spec.body, list[str]()
    for i, value in enumerate(found.spec.values or ()):
        place = f"spec.values[{i}]"
        text = await text_of(api, found.metadata.namespace, found.spec.cluster.name, value, place)
        body = placed(body, value.path, text)
        texts.append(text)
    return body, tuple(texts)


async def text_of(api: Api, namespace: str, cluster: str, value: SecretValue, path: str) -> str:
    """Return the text of one key of a Secret that is allowed for a cluster; raises NoValueError, ApiError."""
    try:
        secret = await api.get(SECRETS.raw(), Key(namespace, value.secret_name))
    except NotFound:
        raise NoValueError("SecretMissing", f"{path}: there is no Secret {value.secret_name}") from None
    labels: dict[str, str] = secret["metadata"].get("labels") or {}
    data: dict[str, str] = secret.get("data") or {}
    allowed = labels.get(LABEL_ALLOWED)
    if allowed not in ("true", cluster):
        message = (
            f"{path}: the Secret {value.secret_name} is not allowed for this cluster; its owner sets the label"
            f" {LABEL_ALLOWED}={cluster}"
        )
        raise NoValueError("SecretNotAllowed", message)
    encoded = data.get(value.key)
    if encoded is None:
        raise NoValueError("SecretMissing", f"{path}: the Secret {value.secret_name} has no key {value.key}")
    try:
        return base64.b64decode(encoded, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise NoValueError(
            "SecretNotText", f"{path}: the key {value.key} of the Secret {value.secret_name} is not text"
        ) from None


def without_values(text: str, values: tuple[str, ...]) -> str:
    """Return a message of the database without the values of Secrets, which it may repeat."""
    for value in values:
        if value:
            text = text.replace(value, "***")
    return text
