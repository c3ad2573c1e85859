"""The record of an object's rendering: a keyed digest, with the name of its key.

Digests with different keys cannot be compared. If a key was lost, it is unknown whether an object would render
differently now, and that is no reason to repeat work, or to change anything.
"""

import msgspec

from stateward.api.values.base import GROUP, Json
from stateward.api.values.digests import comparable
from stateward.packages.format.trees import at, obj, text
from stateward.packages.plans.steps import ANNOTATION_VERSION
from stateward.packages.restarts.digests import Key
from stateward.packages.restarts.restarts import ANNOTATION_RECORD

ANNOTATION_APPLIED = f"{GROUP}/applied"
"""On an applied object: the digest of its rendering."""


def digest_of(body: Json, key: Key) -> str:
    """Return the digest of what was rendered for an object."""
    return f"{key.name}/{key.digest(msgspec.json.encode(body, order='deterministic'))}"


def applied_in(body: Json) -> str:
    """Return the recorded rendering of an object; empty without a record."""
    return text(at(body, "metadata", "annotations", ANNOTATION_APPLIED))


def rendered_anew(said: str, wanted: str) -> bool:
    """Return whether an object certainly has another rendering than the desired one."""
    return said != wanted and comparable(said, wanted)


def says_nothing(said: str, wanted: str) -> bool:
    """Return whether a digest cannot be compared with the desired one: its key is lost, or there is none."""
    return not comparable(said, wanted)


def unmarked(body: Json) -> Json:
    """Return what an object is, without what is only written on it to know it again."""
    meta = obj(body.get("metadata"))
    notes = {name: value for name, value in obj(meta.get("annotations")).items() if name not in _MARKS}
    rest = {name: value for name, value in meta.items() if name not in {"managedFields", "resourceVersion"}}
    return {**body, "metadata": {**rest, "annotations": notes}}


_MARKS = frozenset({ANNOTATION_APPLIED, ANNOTATION_RECORD, ANNOTATION_VERSION})
