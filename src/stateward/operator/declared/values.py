"""Reads the values of a body that come from Secrets.

The right to write a declared object is no right to read Secrets: its body could carry a Secret into the database. So a
Secret needs a label that only those can set who may write the Secret itself.
"""

from collections.abc import Iterable

from stateward.api.kinds.search_object import SearchObject
from stateward.api.values.base import Json
from stateward.api.values.names import LABEL_ALLOWED
from stateward.api.values.secret_forms import forms_of
from stateward.engines.search.database.session import CUT
from stateward.engines.search.declared.pointers import placed
from stateward.engines.search.declared.preview import NOT_SHOWN
from stateward.kube.client.client import Api
from stateward.kube.objects.errors import NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import SECRETS
from stateward.kube.objects.secret_content import text_content
from stateward.operator.objects.permission import allowed


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
        source = Key(found.metadata.namespace, value.secret_name)
        text = await text_of(api, source, value.key, found.spec.cluster.name, place)
        body = placed(body, value.path, text)
        texts.append(text)
    return body, tuple(texts)


async def text_of(api: Api, source: Key, key: str, cluster: str, path: str) -> str:
    """Return the text of one key of a Secret that is allowed for a cluster; raises NoValueError, ApiError.

    `path` is the field of the resource that names the Secret.
    """
    try:
        secret = await api.get(SECRETS.raw(), source)
    except NotFound:
        raise NoValueError("SecretMissing", f"{path}: there is no Secret {source.name}") from None
    if not allowed(secret["metadata"].get("labels") or {}, cluster):
        message = (
            f"{path}: the Secret {source.name} is not allowed for this cluster; its owner sets the label"
            f" {LABEL_ALLOWED}={cluster}"
        )
        raise NoValueError("SecretNotAllowed", message)
    if key not in (secret.get("data") or {}):
        raise NoValueError("SecretMissing", f"{path}: the Secret {source.name} has no key {key}")
    if (text := text_content(secret).get(key)) is None:
        raise NoValueError("SecretNotText", f"{path}: the key {key} of the Secret {source.name} is not text")
    return text


def without_values(text: str, values: tuple[str, ...]) -> str:
    """Return a message of the database without the values of Secrets, which it may repeat.

    The last one may be cut off.
    """
    forms = {form for value in values for form in forms_of(value)}
    for form in sorted(forms, key=len, reverse=True):  # One value may be a part of another.
        text = text.replace(form, NOT_SHOWN)
    rest = text.removesuffix(CUT)
    return text if rest == text else f"{_without_begin(rest, forms)}{CUT}"


def _without_begin(text: str, forms: Iterable[str]) -> str:
    """Return a text without the begin of a value at its end."""
    # No further than the text: a Secret may have a megabyte, and each begin of it is a copy.
    begins = (n for form in forms for n in range(1, min(len(form), len(text) + 1)) if text.endswith(form[:n]))
    longest = max(begins, default=0)
    return f"{text[:-longest]}{NOT_SHOWN}" if longest else text
