"""When the pods of a workload restart because of the data that they use.

The digest in the pod template is not computed from what is there at the moment: then a ConfigMap that is deleted and
made again would restart everything twice. It changes only when a key that is used has *other data* than the record on
the workload says. The record is kept on the workload's own metadata, written together with the digest, so that nothing
is remembered in between and an operator that starts again knows what the pods have seen.

So these restart nothing: an object that appears, disappears, or comes back as it was; a workload that comes under
control; a record made with another key, or by another version.
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
"""On a workload: the digests that its pods were started with, and the name of the key they are made with."""
ANNOTATION_DIGEST = f"{GROUP}/restart-digest"
"""In a pod template: changes when pods have to be started anew."""
ANNOTATION_BECAUSE = f"{GROUP}/restarted-because"
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
    """What a workload's metadata and template should say, and which keys made the digest change (none: no restart)."""

    record: str
    digest: str
    because: tuple[str, ...] = ()

    @property
    def restarts(self) -> bool:
        """Whether pods are started anew."""
        return bool(self.because)


def read_record(body: Json) -> Record | None:
    """Return the record of a workload; None when there is none that can be compared with."""
    said = text(at(body, "metadata", "annotations", ANNOTATION_RECORD))
    try:
        loaded: Any = msgspec.json.decode(said) if said else None
    except msgspec.DecodeError:
        return None
    if obj(loaded).get("format") != FORMAT:
        return None
    digests = obj(obj(loaded).get("digests"))
    return Record(text(obj(loaded).get("key")), {name: text(value) for name, value in digests.items()})


def digest_in(body: Json) -> str:
    """Return the digest in a workload's pod template; empty where there is none."""
    path = template_path(body)
    return "" if path is None else text(at(body, *path, "metadata", "annotations", ANNOTATION_DIGEST))


def judge(live: Json | None, used: frozenset[Dependency], found: Digests, key: Key) -> Verdict:
    """Return what a workload should say, given what its pods use and what that is now.

    `live` is the workload as it is, None when it does not exist yet.
    """
    before = None if live is None else read_record(live)
    if live is None or before is None or before.key != key.name:
        # A new workload's digest restarts nobody. One that exists keeps what it has: nothing is known to have changed.
        digest = _digest(found, key) if live is None and used else digest_in(live or {})
        return Verdict(Record(key.name, found).text(), digest)
    names = before.digests.keys() | found.keys()
    because = tuple(sorted(name for name in names if differs(name, before.digests, found)))
    now = _kept(used, before.digests, found) | dict(found)
    digest = _digest(now, key) if because else digest_in(live)
    return Verdict(Record(key.name, now).text(), digest, because)


def _kept(used: frozenset[Dependency], before: Digests, found: Digests) -> dict[str, str]:
    """Return what is known of what is used and not there now: when it comes back, that is what counts."""
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
    return (
        _with(made, (*path, "metadata", "annotations"), {ANNOTATION_DIGEST: verdict.digest}) if verdict.digest else made
    )


def _with(body: Json, path: tuple[str, ...], values: Mapping[str, str]) -> Json:
    if not path:
        return {**body, **values}
    return {**body, path[0]: _with(obj(body.get(path[0])), path[1:], values)}
