"""By what it is known which rendering an object was made from: a keyed digest, under the name of its key.

Digests of different keys say nothing of each other. Where a key was lost it is not known whether an object would be
rendered differently now, and what is not known is no reason to do work once more, or to change anything.
"""

import msgspec

from stateward.api.values.base import GROUP, Json
from stateward.api.values.digests import comparable
from stateward.packages.format.trees import at, obj, text
from stateward.packages.plans.steps import ANNOTATION_VERSION
from stateward.packages.restarts.digests import Key
from stateward.packages.restarts.restarts import ANNOTATION_RECORD

ANNOTATION_APPLIED = f"{GROUP}/applied"
"""On a made object: the digest of what was rendered for it."""


def digest_of(body: Json, key: Key) -> str:
    """Return the digest of what was rendered for an object."""
    return f"{key.name}/{key.digest(msgspec.json.encode(body, order='deterministic'))}"


def applied_in(body: Json) -> str:
    """Return what an object says that it was made from; empty when it says nothing."""
    return text(at(body, "metadata", "annotations", ANNOTATION_APPLIED))


def rendered_anew(said: str, wanted: str) -> bool:
    """Return whether it is certain that an object was made from another rendering than is wanted."""
    return said != wanted and comparable(said, wanted)


def says_nothing(said: str, wanted: str) -> bool:
    """Return whether a digest cannot be compared with what is wanted: its key is lost, or there is none."""
    return not comparable(said, wanted)


def unmarked(body: Json) -> Json:
    """Return what an object is, without what is only written on it to know it again."""
    meta = obj(body.get("metadata"))
    notes = {name: value for name, value in obj(meta.get("annotations")).items() if name not in _MARKS}
    rest = {name: value for name, value in meta.items() if name not in {"managedFields", "resourceVersion"}}
    return {**body, "metadata": {**rest, "annotations": notes}}


_MARKS = frozenset({ANNOTATION_APPLIED, ANNOTATION_RECORD, ANNOTATION_VERSION})
