"""Strategic merge of pod templates, as Kubernetes merges a patch into an object: lists by key, `null` deletes.

`merge` applies a patch to an object. `compose` combines two patches into one with the same result as applying them in
sequence. So overrides of several levels can be compared without the object that they apply to.

The directives of Kubernetes are supported: `$patch: delete` removes an item of a list; `$patch: replace` replaces a
whole object or (as an item with nothing else in it) a whole list. Lists without a known key are atomic and replaced.
Only the fields of a pod template are known: the tables follow `patchMergeKey` in the Kubernetes API, v1.34. Existing
items keep their position, new ones follow in the order of the patch.
"""

from collections.abc import Sequence
from typing import Any, cast

from stateward.api.values.base import Json

DIRECTIVE = "$patch"
DELETE = "delete"
REPLACE = "replace"

KEYS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "volumeMounts": ("mountPath",),
    "volumeDevices": ("devicePath",),
    "ports": ("containerPort", "protocol"),
    "imagePullSecrets": ("name",),
    "hostAliases": ("ip",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "resourceClaims": ("name",),
    "schedulingGates": ("name",),
    "readinessGates": ("conditionType",),
    "ownerReferences": ("uid",),
}
"""Merge keys by field name, with two fields where Kubernetes identifies items by two (its list map keys)."""

_DEFAULTS = {"protocol": "TCP"}
"""Default values of key fields."""


def merge(base: Json, patch: Json) -> Json:
    """Return `base` with `patch` applied; both stay unchanged."""
    return _merge_objects(base, patch, composing=False)


def compose(first: Json, second: Json) -> Json:
    """Return one patch with the effect of `first` and then `second`."""
    return _merge_objects(first, second, composing=True)


def _merge_objects(base: Json, patch: Json, *, composing: bool) -> Json:
    directive = patch.get(DIRECTIVE)
    if directive == DELETE:
        return dict(patch) if composing else {}
    if directive == REPLACE:
        return dict(patch) if composing else _plain(patch)
    if composing and base.get(DIRECTIVE) == DELETE:
        base = {DIRECTIVE: REPLACE}
    result = dict(base)
    for name, value in patch.items():
        if value is None and not composing:
            result.pop(name, None)
        else:
            result[name] = _merge_value(name, base, value, composing=composing)
    return _settled(result)


def _settled(composed: Json) -> Json:
    """Drop deletions from a patch that replaces a whole object: nothing is left for them to delete."""
    if composed.get(DIRECTIVE) != REPLACE:
        return composed
    return {DIRECTIVE: REPLACE, **_plain(composed)}


def _merge_value(name: str, base: Json, value: object, *, composing: bool) -> object:
    if isinstance(value, dict):
        return _merge_under(name, base, cast("Json", value), composing=composing)
    if name in KEYS and isinstance(value, list):
        items = cast("list[Any]", value)
        if all(isinstance(item, dict) for item in items):
            return _merge_list_under(name, base, items, composing=composing)
    return cast("object", value)


def _merge_under(name: str, base: Json, patch: Json, *, composing: bool) -> Json:
    old = base.get(name)
    if isinstance(old, dict):
        return _merge_objects(cast("Json", old), patch, composing=composing)
    if not composing:
        return _merge_objects({}, patch, composing=False)
    # The first patch removed or replaced the object, so the second one applies to nothing of the base.
    return {DIRECTIVE: REPLACE, **_plain(patch)} if name in base else patch


def _merge_list_under(name: str, base: Json, patch: list[Json], *, composing: bool) -> list[Json]:
    old, keys = base.get(name), KEYS[name]
    # Items that are not objects have no key. The API server refuses them; here they must not fail the round.
    if isinstance(old, list) and all(isinstance(item, dict) for item in cast("list[Any]", old)):
        return _merge_lists(keys, cast("list[Json]", old), patch, composing=composing)
    if not composing:
        return _merge_lists(keys, [], patch, composing=False)
    return [{DIRECTIVE: REPLACE}, *_plain_items(keys, patch)] if name in base else patch


def _merge_lists(keys: Sequence[str], base: list[Json], patch: list[Json], *, composing: bool) -> list[Json]:
    if _replaces_list(patch):
        return patch if composing else _plain_items(keys, patch)
    replaced = composing and _replaces_list(base)
    result = {_identity(keys, item): item for item in base if not _is_list_directive(item)}
    for item in patch:
        identity = _identity(keys, item)
        if item.get(DIRECTIVE) == DELETE and (replaced or not composing):
            result.pop(identity, None)
        else:
            result[identity] = _merge_item(result.get(identity), item, composing=composing)
    return [{DIRECTIVE: REPLACE}, *result.values()] if replaced else list(result.values())


def _merge_item(old: Json | None, item: Json, *, composing: bool) -> Json:
    if item.get(DIRECTIVE) == REPLACE and not composing:
        return _plain(item)
    if old is None:
        return item if composing else _merge_objects({}, item, composing=False)
    return _merge_objects(old, item, composing=composing)


def _plain(patch: Json) -> Json:
    """Return the result of a patch that is applied to an empty object."""
    return _merge_objects({}, {k: v for k, v in patch.items() if k != DIRECTIVE}, composing=False)


def _plain_items(keys: Sequence[str], patch: list[Json]) -> list[Json]:
    return _merge_lists(keys, [], [item for item in patch if not _is_list_directive(item)], composing=False)


def _replaces_list(items: list[Json]) -> bool:
    return any(_is_list_directive(item) for item in items)


def _is_list_directive(item: Json) -> bool:
    return item == {DIRECTIVE: REPLACE}


def _identity(keys: Sequence[str], item: Json) -> tuple[Any, ...]:
    values = (item.get(key, _DEFAULTS.get(key)) for key in keys)
    # A value that is neither text nor number is no key. The API server refuses it; here it must not fail the round.
    return tuple(repr(cast("object", value)) if isinstance(value, dict | list) else value for value in values)
