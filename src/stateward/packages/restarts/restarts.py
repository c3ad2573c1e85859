"""Decides when the pods of a workload restart because of data that they use.

The digest in the pod template is not computed from the current data: then a ConfigMap that is deleted and created again
would restart everything twice. It changes only if a used key has *other data* than the record on the workload. The
record is in the workload's own metadata, written together with the digest, so no other memory is needed and a restarted
operator knows which data the pods have.

So these restart no pod: an object that appears, disappears, or comes back unchanged; a workload that comes under
control; a record with another key, or by another version.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from stateward.api.values.base import GROUP, Json
from stateward.api.values.digests import differs
from stateward.packages.format.trees import at, obj, text
from stateward.packages.restarts.dependencies import Dependency, template_path
from stateward.packages.restarts.digests import Digests, Key, label

ANNOTATION_RECORD = f"{GROUP}/restart-record"
"""On a workload: the digests that its pods were started with, and the name of their key."""
ANNOTATION_DIGEST = f"{GROUP}/restart-digest"
"""In a pod template: changes when pods have to restart."""
ANNOTATION_BECAUSE = f"{GROUP}/restart-reason"
"""On a workload: which keys of which objects the last restart is owed to."""
FORMAT = "1"


@dataclass(frozen=True, slots=True)
class Record:
    """The digests that the pods of a workload have seen."""

    key: str
    digests: Digests

    def text(self) -> str:
        """Return it as an annotation, the same for the same record."""
        body = {"format": FORMAT, "key": self.key, "digests": dict(sorted(self.digests.items()))}
        return msgspec.json.encode(body).decode()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The desired metadata and template of a workload, and the keys that changed the digest (none: no restart)."""

    record: str
    digest: str
    because: tuple[str, ...] = ()

    @property
    def restarts(self) -> bool:
        """Whether pods restart."""
        return bool(self.because)


def read_record(body: Json) -> Record | None:
    """Return the record of a workload; None if there is none that can be compared."""
    said = text(at(body, "metadata", "annotations", ANNOTATION_RECORD))
    try:
        loaded: Any = msgspec.json.decode(said) if said else None
    except (msgspec.DecodeError, RecursionError):
        return None
    if obj(loaded).get("format") != FORMAT:
        return None
    digests = obj(obj(loaded).get("digests"))
    return Record(text(obj(loaded).get("key")), {name: text(value) for name, value in digests.items()})


def digest_in(body: Json) -> str:
    """Return the digest in a workload's pod template; empty without one."""
    path = template_path(body)
    return "" if path is None else text(at(body, *path, "metadata", "annotations", ANNOTATION_DIGEST))


def judge(live: Json | None, used: frozenset[Dependency], found: Digests, key: Key) -> Verdict:
    """Return the desired record of a workload, from what its pods use and its current data.

    `live` is the live workload, None if it does not exist yet.
    """
    before = None if live is None else read_record(live)
    if live is None or before is None or before.key != key.name:
        # A new workload's digest restarts no pod. An existing one keeps its digest: no change is known.
        digest = _digest(found, key) if live is None and used else digest_in(live or {})
        return Verdict(Record(key.name, found).text(), digest)
    names = before.digests.keys() | found.keys()
    because = tuple(sorted(name for name in names if differs(name, before.digests, found)))
    now = _kept(used, before.digests, found) | dict(found)
    digest = _other_digest(now, key, digest_in(live)) if because else digest_in(live)
    return Verdict(Record(key.name, now).text(), digest, because)


def _other_digest(digests: Digests, key: Key, before: str) -> str:
    """Return a digest that differs from the last one, which may have been made of the same data.

    The record may have changed since without a restart: for a template with other uses, for data that was out of
    account. The disaster this prevents: a restart is recorded and told, and the template stays as it is.
    """
    digest = _digest(digests, key)
    return digest if digest != before else key.digest(digest.encode())


def _kept(used: frozenset[Dependency], before: Digests, found: Digests) -> dict[str, str]:
    """Return the recorded digests of absent objects: they are compared when the objects come back."""
    exact = {label(dependency) for dependency in used if dependency.key}
    gone = {label(dependency) for dependency in used if not dependency.key} - found.keys()
    homes = {name: f"{name.partition(':')[0]}:" for name in before.keys() - found.keys()}
    return {name: before[name] for name, home in homes.items() if name in exact or home in gone}


def _digest(digests: Digests, key: Key) -> str:
    return key.digest(*(part.encode() for name in sorted(digests) for part in (name, digests[name])))


def annotated(body: Json, verdict: Verdict) -> Json:
    """Return a workload's manifest with the record on it and the digest in its pod template."""
    path = template_path(body)
    if path is None:
        return body
    notes = {ANNOTATION_RECORD: verdict.record}
    if verdict.because:
        notes[ANNOTATION_BECAUSE] = ", ".join(verdict.because)
    made = _with(body, ("metadata", "annotations"), notes)
    return with_digest(made, verdict.digest)


def with_digest(body: Json, digest: str) -> Json:
    """Return a workload with a digest in its pod template; unchanged without a digest, or without a template."""
    path = template_path(body)
    if path is None or not digest:
        return body
    return _with(body, (*path, "metadata", "annotations"), {ANNOTATION_DIGEST: digest})


def _with(body: Json, path: tuple[str, ...], values: Mapping[str, str]) -> Json:
    if not path:
        return {**body, **values}
    return {**body, path[0]: _with(obj(body.get(path[0])), path[1:], values)}
