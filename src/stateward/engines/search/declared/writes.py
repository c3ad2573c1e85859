"""The requests that create, change and remove an object. Each has the same effect if it is sent again. Pure.

Some objects are not written again as a whole: the database changes only some of their fields, or none.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import cast

from stateward.api.kinds.search_object import Claim
from stateward.api.values.base import Json
from stateward.engines.search.declared.comparison import canonical, contains, in_place, key_in_one_form, merged
from stateward.engines.search.declared.desired import Desired, Observed, comparable, stored
from stateward.engines.search.declared.identity import settings_of
from stateward.engines.search.declared.kinds import Write
from stateward.engines.search.declared.pointers import NoPlaceError, placed, steps, without


@dataclass(frozen=True)
class Request:
    """One request to the database."""

    method: str
    path: str
    params: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Json | None = None


def write(desired: Desired, observed: Observed) -> Request:
    """Return the request that makes the object as it is declared."""
    what, kind = desired.what, desired.what.kind
    match kind.write:
        case Write.ALIAS:
            action = {**desired.sent, "index": what.names["index"], "alias": what.name}
            return Request("POST", "/_aliases", body={"actions": [{"add": action}]})
        case Write.SETTINGS:
            left = dict.fromkeys(key for key in resettable(desired, observed) if key not in desired.settings)
            return Request("PUT", kind.path, body={"persistent": {**left, **settings_of(desired.sent)}})
        case _ if stored(desired, observed) is None:
            method = "POST" if kind.write is Write.POST_NUMBERED else "PUT"
            return Request(method, what.filled(kind.path), {**kind.creates, **kind.always}, _sent(desired))
        case Write.UPDATE:
            return Request(
                "POST", f"{what.filled(kind.path)}/_update", kind.always, _update(_sent(desired), desired, observed)
            )
        case _:
            numbered = kind.write in (Write.NUMBERED, Write.POST_NUMBERED)
            params = {**kind.always, **(observed.number if numbered else {})}
            return Request("PUT", what.filled(kind.path), params, _changed(desired, observed))


def removal(desired: Desired, observed: Observed) -> Request:
    """Return the request that removes the object, or gives the claimed settings their defaults."""
    what = desired.what
    match what.kind.write:
        case Write.ALIAS:
            action = {"index": what.names["index"], "alias": what.name, "must_exist": False}
            return Request("POST", "/_aliases", body={"actions": [{"remove": action}]})
        case Write.SETTINGS:
            return reset(desired, resettable(desired, observed))
        case _:
            return Request("DELETE", what.filled(what.kind.path))


def reset(desired: Desired, settings: list[str]) -> Request:
    """Return the request that gives cluster settings their defaults."""
    return Request("PUT", desired.what.kind.path, body={"persistent": dict.fromkeys(settings)})


def resettable(desired: Desired, observed: Observed) -> list[str]:
    """Return the claimed cluster settings that can get their defaults back.

    One that may not be written and that the database does not have may have been refused as unknown. A request that
    resets such a setting is refused too, with all others in it.
    """
    there = cast("Json", stored(desired, observed) or {}).keys()
    return sorted(desired.memory.settings - (desired.memory.doubtful - there))


def _sent(desired: Desired) -> Json:
    """Return the body with the note about the owner, where it has a place and the object is the resource's alone."""
    if not desired.note or desired.memory.claim == Claim.MERGED:
        return desired.sent
    try:
        return placed(desired.sent, desired.note, desired.owner)
    except NoPlaceError:  # The body has a text or null there: what that means is for the database to say.
        return desired.sent


def _changed(desired: Desired, observed: Observed) -> Json:
    if desired.memory.claim != Claim.MERGED:
        return _sent(desired)
    base = stored(desired, observed)
    for pointer in desired.what.kind.volatile:
        base = without(base, pointer)
    return cast("Json", merged(base, desired.sent))


def fixed(desired: Desired, body: object) -> list[str]:
    """Return the fields that would have to change and that the database cannot change; empty if a write can do it."""
    if not _limited(desired):
        return []
    keys = _differing(desired, body)
    if desired.memory.applied not in ("", desired.digest):  # A value of a Secret may be another one now.
        keys |= _hidden(desired)
    return sorted(keys - desired.what.kind.changes)


def settled(desired: Desired, body: object) -> bool:
    """Return whether there is no field to write into a stored object; other kinds are written as a whole."""
    return _limited(desired) and not _keys(desired, body)


def _update(sent: Json, desired: Desired, observed: Observed) -> Json:
    """Return the fields of a body that change, and no others: some can be changed only while a job is closed."""
    body, kind = stored(desired, observed), desired.what.kind
    keys, made = _keys(desired, body), Json()
    if desired.note:
        keys.add(steps(desired.note)[0])
    for key, value in cast("Json", in_place(desired.what, sent)).items():
        if key in kind.added and key in keys:
            before, after = (
                {canonical(item): item for item in _items(items)} for items in (cast("Json", body).get(key), value)
            )
            made[f"add_{key}"] = [item for name, item in after.items() if name not in before]
            made[f"remove_{key}"] = [item for name, item in before.items() if name not in after]
        elif key_in_one_form(key) in keys:
            made[key] = value
    return made


def _limited(desired: Desired) -> bool:
    return desired.what.kind.write in (Write.UPDATE, Write.CREATE)


def _keys(desired: Desired, body: object) -> set[str]:
    return (_differing(desired, body) | _hidden(desired)) & desired.what.kind.changes


def _differing(desired: Desired, body: object) -> set[str]:
    """Return the declared fields that are stored otherwise, by the names that the database gives them."""
    mine, theirs = cast("Json", comparable(desired, desired.body)), comparable(desired, body)
    return {key for key, value in mine.items() if contains(theirs, {key: value}) is not None}


def _hidden(desired: Desired) -> set[str]:
    return {key_in_one_form(steps(pointer)[0]) for pointer in desired.hidden}


def _items(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []
