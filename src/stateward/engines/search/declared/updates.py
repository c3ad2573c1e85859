"""Changes of objects of which a database can change only some fields, or none. Pure."""

from typing import cast

from stateward.api.values.base import Json
from stateward.engines.search.declared.comparison import contains
from stateward.engines.search.declared.desired import Desired, Observed, comparable, stored
from stateward.engines.search.declared.forms import key_in_one_form
from stateward.engines.search.declared.kinds import Write
from stateward.engines.search.declared.pointers import steps


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


def update(sent: Json, desired: Desired, observed: Observed) -> Json:
    """Return the fields of a body that change, and no others: some can be changed only while a job is closed."""
    body, kind = stored(desired, observed), desired.what.kind
    keys, made = _keys(desired, body), Json()
    if desired.note:
        keys.add(steps(desired.note)[0])
    for key, value in sent.items():
        if key in kind.added and key in keys:
            before, after = _items(cast("Json", body).get(key)), _items(value)
            made[f"add_{key}"] = [item for item in after if item not in before]
            made[f"remove_{key}"] = [item for item in before if item not in after]
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
