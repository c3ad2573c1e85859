"""One form for what databases write in several: durations, sizes, and keys with two names. Pure."""

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import cast

from stateward.api.values.base import Json

_QUANTITY = re.compile(r"(\d+)(ms|s|m|h|d|b|kb|mb|gb|tb|pb)", re.IGNORECASE)
_NEXT = {"ms": (1000, "s"), "s": (60, "m"), "m": (60, "h"), "h": (24, "d")} | {
    small: (1024, large) for small, large in pairwise(("b", "kb", "mb", "gb", "tb", "pb"))
}
"""By unit, how many of it are one of the next larger unit."""
_NAMES = {"aggs": "aggregations", "indexes": "indices"}
"""Keys that a request may have, and that the database answers by another name."""


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
    number, unit = int(found[1]), found[2].lower()
    while number and unit in _NEXT and number % _NEXT[unit][0] == 0:
        number, unit = number // _NEXT[unit][0], _NEXT[unit][1]
    return f"{number}{unit}"
