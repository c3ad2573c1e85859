"""How a declared body compares with what the database has stored.

A database adds defaults, writes numbers and flags as text, nests or flattens settings, and shortens durations. So a
stored object agrees if it contains all that is declared, in any of these forms. Where the database stores another form
altogether, the digest of what it stored after the last write decides; see `decision`.
"""

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from itertools import pairwise
from typing import Any, cast

import msgspec

from stateward.api.values.base import Json
from stateward.api.values.settings import flatten
from stateward.engines.search.declared.identity import Declared, settings_of
from stateward.engines.search.declared.kinds import Write
from stateward.engines.search.declared.pointers import (
    GONE,
    Place,
    found,
    placed,
    places,
    replaced,
    replaced_beside,
    without,
    written,
)

_INDEX = "index."
_QUANTITY = re.compile(r"(\d{1,30})(\.\d{1,30})?(ms|s|m|h|d|b|kb|mb|gb|tb|pb)", re.IGNORECASE)
_NEXT = {"ms": (1000, "s"), "s": (60, "m"), "m": (60, "h"), "h": (24, "d")} | {
    small: (1024, large) for small, large in pairwise(("b", "kb", "mb", "gb", "tb", "pb"))
}
"""By unit, how many of it are one of the next larger unit."""
_SMALLER = {large: (factor, small) for small, (factor, large) in _NEXT.items()}
_NAMES = {"aggs": "aggregations", "indexes": "indices"}
"""Keys that a request may have, and that the database answers by another name."""
DEEPEST = 100
"""Levels of a text of JSON that is compared as what it says: the comparison goes into each of them."""


def stored_body(what: Declared, answer: object, body: Json) -> object | None:
    """Return what the answer to a GET says of the object, as a PUT would have it; None if it has no such part."""
    if what.kind.answer == "*":
        return _containing(answer, body)
    inner = next(found(answer, what.filled(what.kind.answer)), None)
    if what.kind.only and isinstance(inner, Mapping):
        fields = cast("Json", inner)
        return {key: fields[key] for key in what.kind.only if key in fields} or None
    return inner


def _containing(answer: object, body: Json) -> object:
    """Return the object in an answer that has most keys of a body, the outermost of several; the answer if none has."""
    best, most = answer, 0
    level: list[object] = [answer]
    while level:
        for each in level:
            keys = len(body.keys() & cast("Json", each).keys()) if isinstance(each, Mapping) else 0
            if keys > most:
                best, most = cast("object", each), keys
        level = [inner for each in level for inner in _inner(each)]
    return best


def _inner(document: object) -> list[object]:
    if isinstance(document, Mapping):
        return list(cast("Mapping[str, object]", document).values())
    return cast("list[object]", document) if isinstance(document, list) else []


def normal(what: Declared, body: object) -> object:
    """Return a body in one form: settings flat and with their prefix, without what the database writes by itself."""
    if what.kind.write is Write.SETTINGS:
        return settings_of(cast("Json", body))
    if what.kind.write is Write.ALIAS:
        body = _with_both_routings(cast("Json", body))
    body = in_place(what, body)
    for pointer in what.kind.volatile:
        body = without(body, pointer)
    for pointer, form in {**what.kind.forms, **dict.fromkeys(what.kind.texts, _read)}.items():
        body = replaced(body, pointer, form)
    for pointer in what.kind.settings:
        settings = next(found(body, pointer), None)
        if isinstance(settings, Mapping):
            prefix = _INDEX if pointer.startswith("/template") else ""
            body = placed(cast("Json", body), pointer, _flat(cast("Json", settings), prefix))
    if what.kind.write in (Write.UPDATE, Write.CREATE):
        body = in_one_form(body)
    for key in what.kind.sets:
        body = replaced(body, f"/{key}", _with_sets)
    return _with_sets(body) if what.kind.exact else body


def in_place(what: Declared, body: object) -> object:
    """Return a body with each value where the database keeps or changes it."""
    for arrange in what.kind.arranged:
        body = arrange(body)
    return body


def _with_both_routings(alias: Json) -> Json:
    """Return an alias as the database has it: with routing for search and for indexing."""
    both = {key: alias["routing"] for key in ("index_routing", "search_routing") if "routing" in alias}
    return {**both, **{key: value for key, value in alias.items() if key != "routing"}}


def _read(value: object) -> object:
    """Return what a text of JSON says, if it is an object; any other value, and a deeply nested one, as it is."""
    if not isinstance(value, str):
        return value
    try:
        read: object = msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value
    return cast("object", read) if isinstance(read, dict) and not _is_deep(cast("object", read)) else value


def _is_deep(document: object) -> bool:
    level = [document]
    for _ in range(DEEPEST):
        level = [inner for each in level for inner in _inner(each)]
    return bool(level)


def _with_sets(body: object) -> object:
    """Return a body with its lists of texts in order: permissions and users have none, and databases change it."""
    if isinstance(body, Mapping):
        return {key: _with_sets(inner) for key, inner in cast("Json", body).items()}
    if not isinstance(body, list):
        return body
    items = cast("list[object]", body)
    return sorted(map(str, items)) if all(isinstance(item, str) for item in items) else [_with_sets(i) for i in items]


def _flat(settings: Json, prefix: str) -> Json:
    return {key if key.startswith(prefix) else f"{prefix}{key}": value for key, value in flatten(settings)}


def key_in_one_form(key: str) -> str:
    """Return the name by which the database answers a key."""
    return _NAMES.get(key, key)


def pointer_in_one_form(pointer: str) -> str:
    """Return a JSON pointer with keys by that name."""
    return "/".join(map(key_in_one_form, pointer.split("/")))


def in_one_form(body: object) -> object:
    """Return a body with keys by one name, and durations and sizes in their largest unit: `24h` is `1d`."""
    if isinstance(body, Mapping):
        return {key_in_one_form(key): in_one_form(inner) for key, inner in cast("Json", body).items()}
    if isinstance(body, list):
        return [in_one_form(item) for item in cast("list[object]", body)]
    return _quantity(body) if isinstance(body, str) else body


def _quantity(text: str) -> str:
    if (found := _QUANTITY.fullmatch(text)) is None:
        return text
    number, unit = Fraction(found[1] + (found[2] or "")), found[3].lower()
    while number.denominator > 1 and unit in _SMALLER:
        number, unit = number * _SMALLER[unit][0], _SMALLER[unit][1]
    while number and unit in _NEXT and number % _NEXT[unit][0] == 0:
        number, unit = number / _NEXT[unit][0], _NEXT[unit][1]
    return text if number.denominator > 1 else f"{number}{unit}"


def deviation(what: Declared, stored: object, wanted: object, *, shared: bool = False) -> str | None:
    """Return where two bodies in normal form differ, as a JSON pointer; None if the stored one agrees.

    More than is declared agrees, except in kinds that are compared exactly, and at the places of a kind that have to be
    complete. In an object that is `shared` with other clients, it always does.
    """
    stored, wanted = without_defaults(what, stored, wanted), without_defaults(what, wanted, stored)
    place = contains(stored, wanted)
    if place is not None or shared:
        return place
    return contains(wanted, stored) if what.kind.exact else _undeclared(what, stored, wanted)


def without_defaults(what: Declared, body: object, other: object) -> object:
    """Return a body without the defaults of the database, where another body has nothing: there they count."""
    for pointer, default in what.kind.defaults.items():
        # All places at once: a copy for each of them would be as many copies as the body has items.
        body = replaced_beside(body, other, pointer, _dropping(default))
    return body


def _dropping(default: object) -> Callable[[object, object], object]:
    """Return what drops a default of the database where another body has nothing."""
    return lambda value, there: GONE if there is GONE and contains(default, value) is None else value


def _undeclared(what: Declared, stored: object, wanted: object) -> str | None:
    for pointer, default in what.kind.complete.items():
        declared_there = {place for place, _ in places(wanted, pointer)}
        for place, value in places(stored, pointer):
            if place not in declared_there and not empty(value) and _text(value) != _text(default):
                return place
    return None


def contains(stored: object, wanted: object) -> str | None:
    """Return the place of the first deviation, as a JSON pointer; None if `stored` has all that is wanted."""
    return _missing(stored, wanted, None)


def _missing(stored: object, wanted: object, at: Place) -> str | None:
    if isinstance(wanted, Mapping):
        if not isinstance(stored, Mapping):
            return _named(at)
        fields = cast("Json", stored)
        for key, value in cast("Json", wanted).items():
            if key not in fields and not empty(value):
                return _named((at, key))
            if key in fields and (place := _missing(fields[key], value, (at, key))) is not None:
                return place
        return None
    if isinstance(wanted, list) or isinstance(stored, list):
        return _lists(_listed(cast("object", stored)), _listed(cast("object", wanted)), at)
    return None if _text(stored) == _text(wanted) else _named(at)


def _lists(stored: list[object], wanted: list[object], at: Place) -> str | None:
    if len(stored) != len(wanted):
        return _named(at)
    for i, (mine, theirs) in enumerate(zip(stored, wanted, strict=True)):
        if (place := _missing(mine, theirs, (at, str(i)))) is not None:
            return place
    return None


def _named(place: Place) -> str:
    return written(place) or "/"


def _listed(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else [value]


def empty(value: object) -> bool:
    """Return whether a database may leave a value out: null, an empty list or object."""
    return value is None or value in ([], {})


def _text(value: object) -> str:
    """Return a scalar as settings have it: flags and numbers are text there."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def merged(stored: object, wanted: Any) -> object:
    """Return the stored object with the declared fields written into it; lists are replaced."""
    if not isinstance(stored, Mapping) or not isinstance(wanted, Mapping):
        return wanted
    fields = dict(cast("Json", stored))
    for key, value in cast("Json", wanted).items():
        fields[key] = merged(fields.get(key), value)
    return fields


def canonical(body: object) -> bytes:
    """Return a body as bytes, the same for equal bodies, for a digest."""
    return msgspec.json.encode(body, order="sorted")
