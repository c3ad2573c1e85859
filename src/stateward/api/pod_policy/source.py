"""The place in a cluster's spec of a field of its finished pods: the template of the pool, or that of all pools."""

from collections.abc import Mapping
from typing import Any, cast

from stateward.api.pod_policy.finding import Path
from stateward.api.values.base import Json


def source(path: Path, pool: tuple[str, Json], cluster: tuple[str, Json]) -> str:
    """Return the path of a field in the spec; `pool` and `cluster` are the paths of their templates, and these.

    The template with the longer part of the path wins, the pool's if they are equal. If neither has any of it, as with
    Stateward's own fields, the result is the cluster's template.
    """
    mine, common = _depth(path, pool[1]), _depth(path, cluster[1])
    holder = pool[0] if mine and mine >= common else cluster[0]
    return holder + "".join(part if part.startswith("[") else f".{part}" for part in path)


def _depth(path: Path, template: Json) -> int:
    """Return how many parts of a path are there; a list has an item by its name, or by its place."""
    found: Any = template
    for depth, part in enumerate(path):
        found = _step(found, part)
        if found is None:
            return depth
    return len(path)


def _step(value: Any, part: str) -> Any:
    name = part[1:-1] if part.startswith("[") else part
    if isinstance(value, Mapping):
        return cast("Json", value).get(name)
    if not isinstance(value, list):
        return None
    items = cast("list[Any]", value)
    called = [cast("Json", item).get("name") if isinstance(item, Mapping) else None for item in items]
    place = called.index(name) if name in called else int(name) if name.isdigit() else len(items)
    return items[place] if place < len(items) else None
