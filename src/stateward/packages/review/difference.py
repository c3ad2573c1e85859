"""What changes between two sets of objects, and which pods restart because of which key of which object.

Fields are named and never shown: one of them may be a password.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from stateward.api.values.base import Json
from stateward.packages.format.trees import at, items, obj, text
from stateward.packages.rendering.objects import Identity, identity_of
from stateward.packages.restarts.dependencies import dependencies, template_path
from stateward.packages.restarts.digests import Key, digests_of
from stateward.packages.restarts.restarts import annotated, judge

_KEY = Key(b"a comparison needs no secret, because no digest of it leaves this module")


class Fate(StrEnum):
    """What becomes of an object."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of one object; `fields` are the paths that differ."""

    identity: Identity
    fate: Fate
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Restart:
    """A workload whose pods restart, and the reasons: paths in its own template, keys of what it uses."""

    identity: Identity
    template: tuple[str, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """All differences, in the order of the new objects, removed ones last."""

    changes: tuple[Change, ...]
    restarts: tuple[Restart, ...]


def difference(before: Iterable[Json], after: Iterable[Json]) -> Difference:
    """Return what changes from one set of objects to the other."""
    old = {identity_of(body): body for body in before}
    new = {identity_of(body): body for body in after}
    return Difference((*_changes(old, new),), (*_restarts(old, new),))


def _changes(old: dict[Identity, Json], new: dict[Identity, Json]) -> Iterator[Change]:
    for identity, body in new.items():
        if identity not in old:
            yield Change(identity, Fate.ADDED)
        elif paths := tuple(differing(old[identity], body)):
            yield Change(identity, Fate.CHANGED, paths)
    for identity in old:
        if identity not in new:
            yield Change(identity, Fate.REMOVED)


def _restarts(old: dict[Identity, Json], new: dict[Identity, Json]) -> Iterator[Restart]:
    for identity, body in new.items():
        path = template_path(body)
        if path is None or identity not in old or identity.kind in {"Job", "CronJob"}:
            continue
        was = old[identity]
        template = tuple(differing(at(was, *path), at(body, *path), ".".join(path)))
        keys = _keys(was, body, _sources(old, identity), _sources(new, identity))
        if template or keys:
            yield Restart(identity, template, keys)


def _keys(
    was: Json, body: Json, before: dict[tuple[str, str], Json], after: dict[tuple[str, str], Json]
) -> tuple[str, ...]:
    first = judge(None, dependencies(was), digests_of(dependencies(was), before, _KEY), _KEY)
    used = dependencies(body)
    return judge(annotated(was, first), used, digests_of(used, after, _KEY), _KEY).because


def _sources(objects: dict[Identity, Json], workload: Identity) -> dict[tuple[str, str], Json]:
    """Return the objects that a workload may use: those of its namespace, or of none if it names none itself."""
    return {(i.kind, i.name): body for i, body in objects.items() if i.namespace in {workload.namespace, ""}}


def differing(old: Any, new: Any, path: str = "") -> Iterator[str]:
    """Yield the paths at which two documents differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        left, right = obj(old), obj(new)
        for name in dict.fromkeys((*left, *right)):
            yield from _member(left, right, name, f"{path}.{name}" if path else name)
    elif isinstance(old, list) and isinstance(new, list):
        left, right = _named(items(old)), _named(items(new))
        for name in dict.fromkeys((*left, *right)):
            yield from _member(left, right, name, f"{path}[{name}]")
    elif old != new or isinstance(old, bool) is not isinstance(new, bool):
        yield path


def _member(old: Json, new: Json, name: str, path: str) -> Iterator[str]:
    if name in old and name in new:
        yield from differing(old[name], new[name], path)
    else:
        yield path


def _named(found: list[Any]) -> Json:
    """Return the items of a list by their names, or by their numbers without names."""
    names = [text(obj(item).get("name")) for item in found]
    if all(names) and len(set(names)) == len(names):
        return dict(zip(names, found, strict=True))
    return {str(number): item for number, item in enumerate(found)}
