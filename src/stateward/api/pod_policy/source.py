"""The place in a cluster's spec of a field of its finished pods: the template of the pool, or that of all pools."""

from collections.abc import Mapping
from typing import Any, cast

from stateward.api.pod_policy.finding import Path
from stateward.api.values.base import Json

LONGEST_NUMBER = 9
"""Digits of the place of an item in a list."""
Places = dict[int, dict[object, int]]
"""Where the names of a list are, by its identity; kept no longer than the templates that hold the list.

The disaster this prevents: a template has a list of thousands, and each of its items is searched for in it, which takes
minutes, and meanwhile nothing else is done, for any cluster.
"""


def source(path: Path, pool: tuple[str, Json], cluster: tuple[str, Json], places: Places) -> str:
    """Return the path of a field in the spec; `pool` and `cluster` are the paths of their templates, and these.

    The template with the longer part of the path wins, the pool's if they are equal. If neither has any of it, as with
    Stateward's own fields, the result is the cluster's template.
    """
    mine, common = _depth(path, pool[1], places), _depth(path, cluster[1], places)
    holder = pool[0] if mine and mine >= common else cluster[0]
    return holder + "".join(part if part.startswith("[") else f".{part}" for part in path)


def _depth(path: Path, template: Json, places: Places) -> int:
    """Return how many parts of a path are there; a list has an item by its name, or by its place."""
    found: Any = template
    for depth, part in enumerate(path):
        found = _step(found, part, places)
        if found is None:
            return depth
    return len(path)


def _step(value: Any, part: str, places: Places) -> Any:
    name = part[1:-1] if part.startswith("[") else part
    if isinstance(value, Mapping):
        return cast("Json", value).get(name)
    if not isinstance(value, list):
        return None
    items = cast("list[Any]", value)
    called = places.get(id(items))
    if called is None:
        called = places[id(items)] = _called(items)
    number = int(name) if name.isascii() and name.isdecimal() and len(name) <= LONGEST_NUMBER else len(items)
    place = called.get(name, number)
    return items[place] if place < len(items) else None


def _called(items: list[Any]) -> dict[object, int]:
    """Return the first place of each name."""
    found = dict[object, int]()
    for place, item in enumerate(items):
        name = cast("Json", item).get("name") if isinstance(item, Mapping) else None
        if isinstance(name, str):
            found.setdefault(name, place)
    return found
