"""Digests of a member's inputs: a name and a digest for each requested value.

Templates that differ only in Stateward's own additions have the same inputs, so a new Stateward version restarts
nothing. An omitted value has no input, so a new default restarts nothing either. Scaling, labels of the cluster,
Services and the update policy are not part of members, and so not of inputs.
"""

import hashlib
import json
from collections.abc import Iterator
from typing import Any, cast

from stateward.api.values.base import Json
from stateward.api.values.quantity import QuantityError, format_quantity, parse_quantity
from stateward.engines.pods.merge import KEYS

DIGITS = 10
"""Hexadecimal digits of a digest: 40 bits, so that one change in 10^12 stays undetected."""

_PARTS_BY_NAME = ("containers", "initContainers")


def digest(name: str, value: Any) -> str:
    """Return the digest of a value under a name; the name is part of it, so equal values have different digests."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"))
    return hashlib.blake2b(
        text.encode(), key=hashlib.sha256(name.encode()).digest(), digest_size=DIGITS // 2
    ).hexdigest()


def quantities(resources: Json) -> Json:
    """Return resources with amounts in canonical form."""
    return {
        kind: {name: _quantity(amount) for name, amount in cast("Json", amounts).items()}
        if isinstance(amounts, dict)
        else amounts
        for kind, amounts in resources.items()
    }


def _quantity(amount: Any) -> str:
    """Return the canonical form of an amount: 1024Mi is 1Gi. Invalid amounts stay, for the API server to refuse."""
    try:
        return format_quantity(parse_quantity(str(amount)))
    except QuantityError:
        return str(amount)


def template_parts(template: Json) -> Iterator[tuple[str, Any]]:
    """Yield the overrides of a pod, each as a separate input."""
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
    """Sort lists of items with a key: their order has no meaning, except in `_ORDER_MATTERS`."""
    if isinstance(value, dict):
        return {key: _ordered(item, key) for key, item in cast("Json", value).items()}
    if not isinstance(value, list):
        return value
    items = [_ordered(item) for item in cast("list[Any]", value)]
    if name in KEYS and name not in _ORDER_MATTERS:
        return sorted(items, key=_text)
    return items


_ORDER_MATTERS = ("initContainers", "env")
"""Init containers run in order, and a variable may use earlier ones."""


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
