"""Which field of a resource a database's refusal is about. Pure."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import cast

from stateward.api.values.base import Json
from stateward.engines.search.declared.pointers import Place, keys_of

_NAMED = re.compile(r"\b(?:field|setting|property|parameter|option|key)s?:? \[([^\[\],]+)\]")
"""A field in an error of a database; in other brackets there are kinds, values and names of objects."""
_MOST = 5
"""Names of a refusal that are looked for."""
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
    # The body is searched once for each name, and a database may repeat any number of them.
    for name in list(dict.fromkeys(reversed(_NAMED.findall(message))))[:_MOST]:
        found = list(islice(_places(body, name.removeprefix("index."), None), 2))
        if found:
            return _written(found[0]) if len(found) == 1 else ""
    return ""


def _written(place: Place) -> str:
    return "".join(f".{key}" if _WORD.fullmatch(key) else f"[{key}]" for key in keys_of(place))


def _places(value: object, name: str, at: Place) -> Iterator[Place]:
    """Yield the places of a key, which may be nested or dotted."""
    if isinstance(value, list):
        for i, item in enumerate(cast("list[object]", value)):
            yield from _places(item, name, (at, str(i)))
    if not isinstance(value, Mapping):
        return
    for key, inner in cast("Mapping[str, object]", value).items():
        bare, place = key.removeprefix("index."), (at, key)
        if bare == name:
            yield place
        elif name.startswith(f"{bare}."):
            yield from _below(inner, name.removeprefix(f"{bare}."), place)
        yield from _places(inner, name, place)


def _below(value: object, name: str, at: Place) -> Iterator[Place]:
    """Yield the place of a dotted key directly below a value."""
    if not isinstance(value, Mapping):
        return
    for key, inner in cast("Mapping[str, object]", value).items():
        if key == name:
            yield at, key
        elif name.startswith(f"{key}."):
            yield from _below(inner, name.removeprefix(f"{key}."), (at, key))
