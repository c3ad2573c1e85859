"""The scalars of YAML as Go's tools resolve them, and the values that they become.

kubectl and the format's first engine read YAML with go-yaml 2: YAML 1.1 without its base 60 and without dates. So `y`,
`no` and `on` are flags, `0755` and `0x1F` are numbers, `1_000` and `1e3` too, and `2020-01-01` and `1:30` are text. An
explicit tag (`!!float`) takes only what would be such a value without it. Two differences are on purpose, because they
lose nothing: keys stay as written (Go makes `true` of the key `on`), and whole numbers stay whole (Go prints 1000000 in
a list as `1e+06`).
"""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any

from yaml.constructor import ConstructorError
from yaml.nodes import Node, ScalarNode

TAG = "tag:yaml.org,2002:"
Resolve = Callable[[str], str]
"""Returns the tag that a text has without quotes and without a tag."""

_TRUE = ("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON")
_FALSE = ("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF")
_FLAGS: Mapping[str, bool] = {**dict.fromkeys(_TRUE, True), **dict.fromkeys(_FALSE, False)}
_WHOLE = re.compile(r"[-+]?(0[bB][01]+|0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0|[1-9][0-9]*)")
_NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NO_JSON = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_DATE = re.compile(
    r"([0-9]{4})-([0-9]{1,2})-([0-9]{1,2})"
    r"([Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(\.[0-9]+)?(Z|[-+][0-9]{2}:[0-9]{2})?)?"
)


class _Numbers:
    """Finds numbers with underscores left out, as Go does; a text that begins with a point has none to leave out."""

    def __init__(self, *patterns: re.Pattern[str]) -> None:
        self._patterns = patterns

    def match(self, text: str) -> bool:
        """Return whether a text is such a number."""
        plain = text if text.startswith(".") else text.replace("_", "")
        return any(pattern.fullmatch(plain) for pattern in self._patterns)


RESOLVERS: tuple[tuple[str, Any, list[str]], ...] = (
    (f"{TAG}null", re.compile(r"^(~|null|Null|NULL|)$"), ["~", "n", "N", ""]),
    (f"{TAG}bool", re.compile(f"^({'|'.join(_FLAGS)})$"), list("yYnNtTfFoO")),
    (f"{TAG}int", _Numbers(_WHOLE), list("-+0123456789")),
    (f"{TAG}float", _Numbers(_NUMBER, _NO_JSON), list("-+0123456789.")),
    (f"{TAG}merge", re.compile("^<<$"), ["<"]),
)
"""A tag, what resolves to it, and the characters that it begins with; the first that fits counts."""


def null(node: ScalarNode, resolve: Resolve) -> None:
    """Return nothing; raises ConstructorError for a tagged text that is something."""
    _fits(node, resolve, "null")


def flag(node: ScalarNode, resolve: Resolve) -> bool:
    """Return a flag; raises ConstructorError."""
    _fits(node, resolve, "bool")
    return _FLAGS[node.value]


def whole(node: ScalarNode, resolve: Resolve) -> int | float:
    """Return a whole number, as a float where 64 bits cannot hold it; raises ConstructorError."""
    _fits(node, resolve, "int")
    text = node.value.replace("_", "")
    digits = text.lstrip("+-")
    found = int(digits, 8) if re.fullmatch("0[0-7]+", digits) else int(digits, 0)
    found = -found if text.startswith("-") else found
    if -(1 << 63) <= found < 1 << 64:
        return found
    try:
        return float(found)  # As kubectl does with what no integer of 64 bits can hold.
    except OverflowError:
        raise ConstructorError(None, None, "JSON has no such number", node.start_mark) from None


def number(node: ScalarNode, resolve: Resolve) -> float:
    """Return a number; raises ConstructorError."""
    if _fits(node, resolve, "float", "int") == f"{TAG}int":
        return float(whole(ScalarNode(f"{TAG}int", node.value, node.start_mark), resolve))
    if _NO_JSON.fullmatch(node.value):
        raise ConstructorError(None, None, "JSON has no such number", node.start_mark)
    return float(node.value.replace("_", ""))


def moment(node: ScalarNode) -> str:
    """Return a date or a time as written, because JSON has neither; raises ConstructorError."""
    found = _DATE.fullmatch(node.value)
    try:
        if found:
            date(int(found[1]), int(found[2]), int(found[3]))
            return node.value
    except ValueError:
        pass
    raise _unfit(node, "timestamp", "a date like 2026-11-21 or 2026-11-21T10:00:00Z")


def binary(node: ScalarNode) -> str:
    """Return the text that base64 holds; raises ConstructorError."""
    try:
        return base64.b64decode("".join(node.value.split()), validate=True).decode()
    except (binascii.Error, ValueError):
        raise _unfit(node, "binary", "base64 of text in UTF-8") from None


def _fits(node: ScalarNode, resolve: Resolve, *kinds: str) -> str:
    found = resolve(node.value)
    if found.removeprefix(TAG) not in kinds:
        raise _unfit(node, kinds[0], _ACCEPTED[kinds[0]])
    return found


def _unfit(node: Node, kind: str, accepted: str) -> ConstructorError:
    return ConstructorError(None, None, f"{node.value!r} is no !!{kind}; it must be {accepted}", node.start_mark)


_ACCEPTED = {
    "null": "~, null or nothing",
    "bool": "true or false",
    "int": "a whole number",
    "float": "a number",
}
