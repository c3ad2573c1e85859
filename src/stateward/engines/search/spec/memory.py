"""How much memory a member has, and how much of it is heap."""

from typing import Any, cast

from stateward.api.values.base import Json
from stateward.api.values.quantity import QuantityError, parse_bytes

DEFAULT_RESOURCES: Json = {"requests": {"memory": "2Gi"}, "limits": {"memory": "2Gi"}}
"""Twice the heap that the database takes by itself: a node that holds more than samples needs to be told so."""
LARGEST_HEAP = 31 << 30
"""Bytes. Above 32 GiB pointers are no longer compressed, and more heap holds less."""
DEFAULT_HEAP = 1 << 30
"""Bytes, where there is neither a limit nor a request."""


def heap(resources: Json) -> int:
    """Return the size of the heap in bytes: half of the memory, since the other half is the page cache of the index."""
    memory = _memory(resources.get("limits")) or _memory(resources.get("requests"))
    return min(memory // 2, LARGEST_HEAP) if memory else DEFAULT_HEAP


def heap_options(resources: Json) -> str:
    """Return the options that make the heap so, and of one size from the start."""
    mebibytes = heap(resources) >> 20
    return f"-Xms{mebibytes}m -Xmx{mebibytes}m"


def _memory(amounts: Any) -> int:
    amount = cast("Json", amounts).get("memory") if isinstance(amounts, dict) else None
    try:
        return parse_bytes(str(amount)) if amount is not None else 0
    except QuantityError:
        return 0
