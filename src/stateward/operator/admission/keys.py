"""The webhook's certificate: created by the first operator that needs it, and shared by all in a Secret.

The key of its CA is not kept: the CA signs only this certificate, and a key that does not exist cannot be stolen. A new
pair is created when a third of the lifetime is left; the old CA stays trusted beside the new one, because the other
operators read the new pair a little later.
"""

from base64 import b64decode, b64encode
from typing import Any

from msgspec import Struct

from stateward.kube.client.client import Api, PatchKind
from stateward.kube.objects.errors import AlreadyExists, Conflict, NotFound
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resources import SECRETS
from stateward.pki import Pair, due, fits, issue, new_authority, sound, split

SERVICE = "stateward-webhook"
"""Name of the Service that the API server calls, and of the Secret with its certificate."""
YEARS = 2.0
_WHOLE = SECRETS.raw()


class Keys(Struct, frozen=True):
    """Certificates to trust, and the pair to show; in PEM."""

    trusted: str
    shown: Pair


async def keys(api: Api, namespace: str, now: float) -> Keys:
    """Return the webhook's keys at time `now` (seconds since the epoch), created or renewed if necessary.

    Raises ApiError.
    """
    key = Key(namespace, SERVICE)
    try:
        secret = await api.get(_WHOLE, key)
    except NotFound:
        try:
            return _read(await api.create(_WHOLE, _manifest(key, made(namespace, now)), namespace=namespace))
        except AlreadyExists:
            secret = await api.get(_WHOLE, key)
    found = readable(secret)
    if found is not None and not due(found.shown.certificate, now):
        return found
    body = _manifest(key, made(namespace, now, found.trusted if found else ""))
    body["metadata"]["resourceVersion"] = secret["metadata"]["resourceVersion"]
    try:
        return _read(await api.patch(_WHOLE, key, body, kind=PatchKind.MERGE))
    except Conflict:
        # Another operator has just renewed it.
        return _read(await api.get(_WHOLE, key))


def made(namespace: str, now: float, trusted: str = "") -> Keys:
    """Return a new pair; of what was trusted before, the newest certificate stays trusted."""
    names = _names(namespace)
    authority = new_authority("stateward webhook", now, YEARS).signs
    end = "-----END CERTIFICATE-----\n"
    before, found, _ = trusted.partition(end)
    return Keys(authority.certificate + before + found, issue(authority, names[0], names, now, YEARS * 365))


def readable(secret: dict[str, Any]) -> Keys | None:
    """Return the keys in a Secret; None if their content was replaced with something invalid.

    The disaster this prevents: with a key that does not match the certificate, or a certificate of another CA, the API
    server could no longer call the webhook, without a message.
    """
    try:
        found = _read(secret)
        names = _names(secret["metadata"]["namespace"])
    except (KeyError, TypeError, ValueError):
        return None
    whole = fits(found.shown, Pair(found.trusted, ""), names) and sound(found.trusted) == split(found.trusted)
    return found if whole else None


def _names(namespace: str) -> list[str]:
    return [f"{SERVICE}.{namespace}.svc", f"{SERVICE}.{namespace}.svc.cluster.local"]


def _read(secret: dict[str, Any]) -> Keys:
    trusted, certificate, key = (b64decode(secret["data"][name]).decode() for name in ("ca.crt", "tls.crt", "tls.key"))
    return Keys(trusted, Pair(certificate, key))


def _manifest(key: Key, wanted: Keys) -> dict[str, Any]:
    data = {"ca.crt": wanted.trusted, "tls.crt": wanted.shown.certificate, "tls.key": wanted.shown.key}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "kubernetes.io/tls",
        "metadata": {"name": key.name, "namespace": key.namespace, "labels": {"app.kubernetes.io/name": "stateward"}},
        "data": {name: b64encode(text.encode()).decode() for name, text in data.items()},
    }
