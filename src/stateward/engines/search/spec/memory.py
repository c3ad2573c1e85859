"""The memory of a member, and its heap."""

from typing import Any, cast

from stateward.api.values.base import Json
from stateward.api.values.quantity import QuantityError, parse_bytes

DEFAULT_RESOURCES: Json = {"requests": {"memory": "2Gi"}, "limits": {"memory": "2Gi"}}
"""Twice the database's default heap; enough for samples only, larger data needs explicit resources."""
LARGEST_HEAP = 31 << 30
"""Bytes. Above 32 GiB pointers are no longer compressed, so more heap holds less."""
DEFAULT_HEAP = 1 << 30
"""Bytes, if there is neither a limit nor a request."""


def heap(resources: Json) -> int:
    """Return the heap in bytes: half of the memory; the other half is the page cache of the index."""
    memory = _memory(resources.get("limits")) or _memory(resources.get("requests"))
    return min(memory // 2, LARGEST_HEAP) if memory else DEFAULT_HEAP


def heap_options(resources: Json) -> str:
    """Return the Java options for this heap, with its full size from the start."""
    mebibytes = heap(resources) >> 20
    return f"-Xms{mebibytes}m -Xmx{mebibytes}m"


def _memory(amounts: Any) -> int:
    amount = cast("Json", amounts).get("memory") if isinstance(amounts, dict) else None
    try:
        return parse_bytes(str(amount)) if amount is not None else 0
    except QuantityError:
        return 0
