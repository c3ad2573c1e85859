"""What a member is made from: a name and a digest for each thing that somebody asked for.

Two templates that differ only in what Stateward adds by itself have the same inputs, so a new Stateward restarts
nothing; what was left out has no input, so a new default restarts nothing either. Scaling, labels of the cluster,
Services and the update policy are in no member, and so in no input.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any, cast

from stateward.api.base import Json
from stateward.api.quantity import QuantityError, format_quantity, parse_quantity
from stateward.engines.merge import KEYS
from stateward.engines.search import security
from stateward.engines.search.images import image_pattern
from stateward.engines.search.pools import ResolvedPool
from stateward.planning.observation import Effect, Inputs

DIGITS = 10
"""Hexadecimal digits of a digest: 40 bits, so that one change in 10^12 would go unseen."""

EFFECTS = {
    "version": Effect.RECREATE,
    "image": Effect.RECREATE,
    "config": Effect.RESTART,
    "roles": Effect.RECREATE,
    "resources": Effect.RECREATE,
    "template": Effect.RECREATE,
    "storage": Effect.REPLACE,
    security.TOGETHER: Effect.RESTART,
    "certificates": Effect.RESTART,
}
"""What a change needs, by the first part of an input's name."""
COORDINATED = frozenset({security.TOGETHER})
"""Inputs with and without which members cannot talk to each other, so that all of them change together."""

_NEWEST = "9999.0.0"
_PARTS_BY_NAME = ("containers", "initContainers")


def inputs(pool: ResolvedPool, version: str) -> Inputs:
    """Return the inputs of the pool's members at a version."""
    return {name: digest(name, value) for name, value in _asked(pool, version)}


def digest(name: str, value: Any) -> str:
    """Return the digest of a value under a name; the name is part of it, so equal values don't look alike."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(
        text.encode(), key=hashlib.sha256(name.encode()).digest(), digest_size=DIGITS // 2
    ).hexdigest()


def _asked(pool: ResolvedPool, version: str) -> Iterator[tuple[str, Any]]:
    spec, cluster = pool.spec, pool.cluster.spec
    yield "version", version
    if cluster.image is not None:
        yield "image", image_pattern(pool.flavor, pool.cluster)
    for key, value in pool.settings.items():
        yield f"config/{key}", plain(value)
    if spec.roles is not None:
        yield "roles", pool.flavor.lineage.role_names(spec.roles, _NEWEST)
    if not (pool.data and pool.voting):
        # A node refuses to start where it finds data that its roles don't allow it to hold, so a change of these is
        # a new member. Members with all roles have no such input: naming the default roles changes nothing.
        yield "storage/holds", pool.role_label
    yield from security.inputs(pool, version)
    if spec.resources:
        yield "resources", quantities(spec.resources)
    if spec.storage is not None and spec.storage.ephemeral:
        yield "storage/ephemeral", True
    yield from template_parts(pool.template)


def plain(value: Any) -> Any:
    """Return a setting as the database reads it: every scalar is text, and `true` is the same as `"true"`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return [plain(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in cast("Json", value).items()}
    return str(value)


def quantities(resources: Json) -> Json:
    """Return resources with one way of writing each amount."""
    return {
        kind: {name: _quantity(amount) for name, amount in cast("Json", amounts).items()}
        if isinstance(amounts, dict)
        else amounts
        for kind, amounts in resources.items()
    }


def _quantity(amount: Any) -> str:
    """Return one way of writing an amount: 1024Mi is 1Gi. What is no quantity stays as it is, for the API server."""
    try:
        return format_quantity(parse_quantity(str(amount)))
    except QuantityError:
        return str(amount)


def template_parts(template: Json) -> Iterator[tuple[str, Any]]:
    """Yield the overrides of a pod, each as an input of its own."""
    for section, content in template.items():
        if section in ("metadata", "spec") and isinstance(content, dict):
            for field, value in cast("Json", content).items():
                yield from _part(field, value)
        else:
            yield f"template/{section}", content


def _part(field: str, value: Any) -> Iterator[tuple[str, Any]]:
    if field in _PARTS_BY_NAME and isinstance(value, list):
        items = cast("list[Json]", value)
        if all("name" in item for item in items):
            for item in items:
                yield f"template/{field}/{item['name']}", _ordered(item)
            return
    yield f"template/{field}", _ordered({field: value})


def _ordered(value: Any, name: str = "") -> Any:
    """Sort lists whose items have a key: their order says nothing, except that of the containers that start in turn."""
    if isinstance(value, dict):
        return {key: _ordered(item, key) for key, item in cast("Json", value).items()}
    if not isinstance(value, list):
        return value
    items = [_ordered(item) for item in cast("list[Any]", value)]
    if name in KEYS and name not in _ORDER_MATTERS:
        return sorted(items, key=_text)
    return items


_ORDER_MATTERS = ("initContainers", "env")
"""Init containers run in order, and a variable may use those before it."""


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
