"""Which field of a resource a database's refusal is about. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import cast

from stateward.api.values.base import Json

_NAMED = re.compile(r"\b(?:field|setting|property|parameter|option|key)s?:? \[([^\[\],]+)\]")
"""A field in an error of a database; in other brackets there are kinds, values and names of objects."""
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

_ENDPOINT = re.compile(r"no handler found for uri|Incorrect HTTP method for uri")
"""What OpenSearch and Elasticsearch answer at a path of which no plug-in or module knows."""


def lacks_kind(message: str) -> bool:
    """Return whether a database refuses a request because it has no objects of that kind."""
    return _ENDPOINT.search(message) is not None


def field_in(message: str, body: Json) -> str:
    """Return the field that a refusal names, below the body: `.template.settings[index.codec]`; empty if unsure.

    The last name counts, because the cause comes last. A field is told only if the body has it at one place.
    """
    for name in reversed(_NAMED.findall(message)):
        found = set(_places(body, name.removeprefix("index.")))
        if len(found) == 1:
            return found.pop()
        if found:
            return ""
    return ""


def _places(value: object, name: str, at: str = "") -> Iterator[str]:
    """Yield the places of a key, which may be nested or dotted."""
    if isinstance(value, list):
        for i, item in enumerate(cast("list[object]", value)):
            yield from _places(item, name, f"{at}[{i}]")
    if not isinstance(value, Mapping):
        return
    for key, inner in cast("Mapping[str, object]", value).items():
        bare = key.removeprefix("index.")
        place = f"{at}.{key}" if _WORD.fullmatch(key) else f"{at}[{key}]"
        if bare == name:
            yield place
        elif name.startswith(f"{bare}."):
            yield from (found for found in _below(inner, name.removeprefix(f"{bare}."), place))
        yield from _places(inner, name, place)


def _below(value: object, name: str, at: str) -> Iterator[str]:
    """Yield the place of a dotted key directly below a value."""
    if not isinstance(value, Mapping):
        return
    for key, inner in cast("Mapping[str, object]", value).items():
        place = f"{at}.{key}" if _WORD.fullmatch(key) else f"{at}[{key}]"
        if key == name:
            yield place
        elif name.startswith(f"{key}."):
            yield from _below(inner, name.removeprefix(f"{key}."), place)
