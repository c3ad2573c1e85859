"""Server-side apply: merge a manager's configuration into an object, and prune the fields that it no longer sets."""

from collections.abc import Mapping
from typing import Any, cast

from stateward.simulation.apiserver.documents import Doc
from stateward.simulation.apiserver.kinds import ATOMIC, list_keys
from stateward.simulation.apiserver.store import Fields, Manager, Path
from stateward.simulation.apiserver.writing.ownership import MISSING, Element, Item, find, item_of, leaves


class Applied:
    """The result of an apply: the document, the fields of each manager, and the fields in conflict."""

    def __init__(self, doc: Doc, managers: dict[Manager, Fields], conflicts: list[tuple[Manager, Path]]) -> None:
        self.doc = doc
        self.managers = managers
        self.conflicts = conflicts


def apply(kind: str, live: Doc, managers: Mapping[Manager, Fields], config: Doc, manager: Manager) -> Applied:
    """Return the outcome of applying `config` to `live` as `manager`."""
    wanted = leaves(kind, config)
    fields = frozenset(wanted)
    others = {other: owned for other, owned in managers.items() if other != manager}
    clashing = {
        path for path, value in wanted.items() if value is not None and not _agrees(find(kind, live, path), value)
    }
    conflicts = [(other, path) for other, owned in others.items() for path in sorted(clashing & owned, key=str)]
    dropped = managers.get(manager, frozenset()) - fields - frozenset[Path]().union(*others.values())
    doc = merge(kind, live, config, ())
    # Remove items before their contents: a path into a removed item leads nowhere.
    for path in sorted(dropped, key=lambda path: (len(path), str(path))):
        doc = prune(kind, doc, path, 0)
    kept = {other: owned - clashing for other, owned in others.items()}
    kept[manager] = fields
    return Applied(doc, {who: owned for who, owned in kept.items() if owned}, conflicts)


def _agrees(live: Any, wanted: Any) -> bool:
    """Return whether a live value equals the desired one; an empty object matches any object."""
    return live == wanted or (wanted == {} and isinstance(live, dict))


def merge(kind: str, live: Any, config: Any, path: Path) -> Any:
    """Return live with config merged into it; unchanged parts are shared."""
    if isinstance(config, dict) and (not path or path[-1] not in ATOMIC):
        result = dict(cast("Doc", live)) if isinstance(live, dict) else {}
        for name, value in cast("Doc", config).items():
            result[name] = merge(kind, result.get(name), value, (*path, name))
        return result
    if isinstance(config, list) and path:
        keys = list_keys(kind, path)
        if keys is not None:
            return _merge_list(kind, cast("list[Any]", live or []), cast("list[Any]", config), (path, keys))
    return cast("Any", config)


def _merge_list(
    kind: str, live: list[Any], config: list[Any], where: tuple[Path, tuple[tuple[str, object], ...]]
) -> list[Any]:
    path, keys = where
    if not keys:
        return live + [element for element in config if element not in live]
    result = {item_of(keys, item): item for item in live}
    for item in config:
        place = item_of(keys, item)
        result[place] = merge(kind, result.get(place), item, (*path, place))
    return list(result.values())


def prune(kind: str, doc: Any, path: Path, depth: int) -> Any:
    """Return the document without the value at a path, and without the objects that this leaves empty."""
    part = path[depth]
    last = depth == len(path) - 1
    if isinstance(part, Element):
        return [element for element in doc if element != part.value]
    if isinstance(part, Item):
        keys = list_keys(kind, path[:depth]) or ()
        items = [(item_of(keys, item), item) for item in doc or ()]
        return [i if p != part else prune(kind, i, path, depth + 1) for p, i in items if not (last and p == part)]
    if not isinstance(doc, dict) or part not in doc:
        return cast("Any", doc)
    members = cast("Doc", doc)
    rest = {name: value for name, value in members.items() if name != part}
    if last:
        return rest
    inner = prune(kind, members[part], path, depth + 1)
    # As on the real server, the merge leaves no empty objects.
    return rest if inner in ({}, []) and members[part] not in ({}, []) else {**members, part: inner}


__all__ = ["MISSING", "Applied", "apply", "merge", "prune"]
