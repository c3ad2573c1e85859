"""Keyed digests of data: they reveal a change, but do not allow the data to be guessed.

A plain digest of a password with eight letters reveals the password. Each namespace has its own key, derived from that
of the installation of Stateward; a reader of the digests on workloads can read neither. So no digest can be compared
with one of another namespace, whose data the reader may choose, nor with one of another object.
"""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec

from stateward.api.values.base import GROUP, Json
from stateward.api.values.digests import OUT, THERE
from stateward.packages.format.trees import at, obj, text
from stateward.packages.restarts.dependencies import PROVIDER_CLASS, SECRET, Dependency

ANNOTATION_SKIP = f"{GROUP}/skip-restart"
"""On a ConfigMap or Secret: `true` takes it out, a list of keys (`a, b`) takes those out."""
ALL = "*"
"""Stands for all keys of an object with too many keys to record."""
MOST_KEYS = 64
"""Keys of one object that are recorded separately; the record has to fit into an annotation."""

Digests = Mapping[str, str]
"""Digests by `Kind/name:key`."""


@dataclass(frozen=True, slots=True)
class Key:
    """A secret key and its name; digests of different keys cannot be compared, and the name shows that."""

    secret: bytes

    @property
    def name(self) -> str:
        """The name of the key in records: it reveals nothing of the key itself."""
        return self.digest(b"name of the key")[:8]

    def digest(self, *parts: bytes) -> str:
        """Return the digest of parts; the boundaries between them count."""
        mac = hmac.new(self.secret, digestmod=hashlib.sha256)
        for part in parts:
            mac.update(len(part).to_bytes(8, "big"))
            mac.update(part)
        return mac.hexdigest()[:20]


@dataclass(frozen=True, slots=True)
class RootKey:
    """The secret key of an installation of Stateward, from which those of the namespaces are derived."""

    secret: bytes

    def of(self, namespace: str) -> Key:
        """Return the key of a namespace."""
        # No digest of `Key` is made of this: it would begin with a length.
        return Key(hmac.digest(self.secret, f"namespace {namespace}".encode(), "sha256"))

    @property
    def earlier(self) -> Key:
        """The key of all namespaces in earlier versions: what is recorded under it is recognized, never made."""
        return Key(self.secret)


def label(dependency: Dependency, key: str = "") -> str:
    """Return how a key of an object is called in records and in sentences."""
    return f"{dependency.kind}/{dependency.name}:{key or dependency.key}"


def data_of(body: Json) -> dict[str, bytes]:
    """Return what pods can see of an object, by key: without labels, annotations and notation.

    A Secret from a manifest may have `stringData`; the result is what the API server would make of it.
    """
    kind = text(body.get("kind"))
    if kind == PROVIDER_CLASS:
        return {"spec": msgspec.json.encode(body.get("spec"), order="deterministic")}
    found: dict[str, bytes] = {}
    for key, value in obj(body.get("data")).items():
        found[key] = _decoded(value) if kind == SECRET else _scalar(value)
    for key, value in obj(body.get("binaryData")).items():
        found[key] = _decoded(value)
    if kind == SECRET:
        found |= {key: _scalar(value) for key, value in obj(body.get("stringData")).items()}
    return found


def _scalar(value: object) -> bytes:
    return value.encode() if isinstance(value, str) else msgspec.json.encode(value)


def _decoded(value: object) -> bytes:
    try:
        return base64.b64decode(text(value), validate=True)
    except (binascii.Error, ValueError):
        return _scalar(value)  # The API server will refuse it; until then it is what it is.


def skipped(body: Json) -> frozenset[str] | None:
    """Return the keys that an object excludes from restart control; None if it excludes itself."""
    said = text(at(body, "metadata", "annotations", ANNOTATION_SKIP)).strip()
    if said.lower() == "true":
        return None
    if said.lower() in {"", "false"}:
        return frozenset()
    return frozenset(name.strip() for name in said.split(",") if name.strip())


def digests_of(used: Iterable[Dependency], objects: Mapping[tuple[str, str], Json], key: Key) -> dict[str, str]:
    """Return the digests of what is used and there; `objects` are those that exist, by kind and name.

    What does not exist is not in the result.
    """
    found: dict[str, str] = {}
    for dependency in used:
        body = objects.get((dependency.kind, dependency.name))
        if body is not None:
            found |= _one(dependency, body, key)
    return found


def _one(dependency: Dependency, body: Json, key: Key) -> dict[str, str]:
    out, data = skipped(body), data_of(body)
    if out is None:
        return {label(dependency): OUT}
    if dependency.key:
        data = {name: value for name, value in data.items() if name == dependency.key}
        out &= {dependency.key}
    found = dict.fromkeys((label(dependency, name) for name in out), OUT)
    counted = {name: value for name, value in sorted(data.items()) if name not in out}
    if not dependency.key:
        found[label(dependency)] = THERE
    if len(data) > MOST_KEYS:
        parts = (part for name, value in counted.items() for part in (name.encode(), value))
        # One digest of all keys except some reveals no change of the exceptions: it is another kind.
        taken = sorted(name.encode() for name in data if name in out)
        kind = f"{key.digest(*taken)[:8]}/" if taken else ""
        return found | {label(dependency, ALL): f"{kind}{key.digest(label(dependency).encode(), *parts)}"}
    return found | {
        at: key.digest(at.encode(), value) for name, value in counted.items() for at in (label(dependency, name),)
    }
