"""Limits the work of one rendering of a template.

A list that contains itself twice, nested forty times, is one line of template and would fill any memory. So each call
of a function pays for its arguments and its result, counted in characters and elements. No clock is involved: a
template that works on one machine works on all.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

LARGEST_OUTPUT = 4 << 20
"""Characters that one template may write."""
LARGEST_VALUE = 1 << 20
"""Characters and elements that one value may have."""
TANK = 16 << 20
"""Characters and elements that all calls of one rendering may handle together: about a second of work."""
MOST_PARTS = 4_000_000
"""Parts of a template, such as values, conditions and calls, that one rendering may execute: some seconds of work."""
SORTED = 100
"""Elements of an object that are sorted in the time that one part takes: a loop begins by sorting the keys."""


class Exhausted(Exception):  # noqa: N818 - a limit, named as such
    """A template exceeds its limit; the message says which."""


class Fuel:
    """What is left for one rendering."""

    def __init__(self, tank: int = TANK) -> None:
        self._tank = tank
        self.left = tank
        self.parts = 0
        """Parts that were executed."""
        self._most = MOST_PARTS
        self._widest = 0

    def fill(self, tank: int | None = None, parts: int = MOST_PARTS, widest: int = 0) -> None:
        """Begin a rendering, with a smaller budget if only that is left; `widest` are the elements of its values."""
        self.left = self._tank = self._tank if tank is None else tank
        self.parts, self._most, self._widest = 0, parts, widest

    @property
    def used(self) -> int:
        """What the rendering has taken."""
        return self._tank - self.left

    def execute(self, cost: int, *, ranges: bool) -> None:
        """Pay for a part of the template that is executed; raises Exhausted."""
        self.parts += cost + (self._widest // SORTED if ranges else 0)
        if self.parts > self._most:
            raise Exhausted(f"does too much: more than {self._most} of its parts are executed, each time counted")

    def burn(self, amount: int) -> None:
        """Pay for work; raises Exhausted."""
        self.left -= amount
        if self.left < 0:
            raise Exhausted("does too much: its functions handle too many characters and elements")

    def pay_for(self, function: str, value: Any) -> None:
        """Pay for a function's argument or result; raises Exhausted, also for one that is too large."""
        size = size_of(value)
        if size > LARGEST_VALUE:
            raise Exhausted(f"{function}: a value may have {LARGEST_VALUE} characters and elements, and this has more")
        self.burn(size)

    def made(self, value: Any) -> None:
        """Note a function's result: a loop may go through it."""
        if isinstance(value, dict | list | tuple):
            self._widest = max(self._widest, elements_of(value))


def elements_of(value: Any) -> int:
    """Return how many elements a value has, at every depth, counted up to just over the limit of a value."""
    count, left = 0, [value]
    while left and count <= LARGEST_VALUE:
        found = left.pop()
        if isinstance(found, dict):
            left += cast("dict[Any, Any]", found).values()
        elif isinstance(found, list | tuple):
            left += cast("list[Any]", found)
        count += 1
    return count


def size_of(value: Any) -> int:
    """Return how many characters and elements a value has, counted up to just over the limit."""
    size, left = 0, [value]
    while left and size <= LARGEST_VALUE:
        found = left.pop()
        if isinstance(found, str | bytes):
            size += len(found)
        elif isinstance(found, dict):
            members = cast("dict[Any, Any]", found)
            left += members
            left += members.values()
        elif isinstance(found, list | tuple):
            left += cast("list[Any]", found)
        size += 1
    return size


def ahead(function: str, arguments: tuple[Any, ...]) -> int:
    """Return the size of a call's result for functions that expand their arguments; 0 for other or invalid calls."""
    foresee = _AHEAD.get(function)
    try:
        return foresee(*arguments) if foresee else 0
    except TypeError:
        return 0  # Too many or too few arguments: the function itself says so.


def _whole(value: Any) -> int:
    try:
        return abs(int(value))
    except (TypeError, ValueError):
        return 0  # The function itself says what is wrong with it.


def _repeated(count: Any, text: Any) -> int:
    return _whole(count) * len(str(text))


def _replaced(old: Any, new: Any, text: Any) -> int:
    return len(str(text)) + (str(text).count(str(old)) + 1) * len(str(new))


def _indented(spaces: Any, text: Any) -> int:
    return len(str(text)) + (str(text).count("\n") + 1) * _whole(spaces)


def _joined(separator: Any, items: Any) -> int:
    return len(str(separator)) * (len(cast("list[Any]", items)) if isinstance(items, list | tuple) else 0)


def _stepped(start: Any, stop: Any, step: Any) -> int:
    return (_whole(start) + _whole(stop)) // max(1, _whole(step))


def _sequence(*bounds: Any) -> int:
    return sum(_whole(bound) for bound in bounds) * 8


def _printed(form: Any, *values: Any) -> int:
    """Widths are paid for, and each verb may print each value: `%[1]s%[1]s` prints one twice."""
    text = str(form)
    widths = sum(_whole(number) for number in re.findall("[0-9]+", text))
    starred = sum(_whole(value) for value in values) if "*" in text else 0
    return len(text) + widths + starred + text.count("%") * size_of(list(values))


COMPARISON = 8
"""Cost of comparing two elements, relative to other work: it reads both."""


def _compared(items: Any) -> int:
    """Each element is compared with each other one."""
    return _length(items) * _length(items)


def _sought(_wanted: Any, items: Any) -> int:
    return _length(items) * COMPARISON


def _excluded(items: Any, *excluded: Any) -> int:
    return _length(items) * len(excluded) * COMPARISON


def _sorted(items: Any) -> int:
    return _length(items) * COMPARISON


PARSED = 24
"""Cost of a character of a version or of a constraint on versions, relative to other work."""


def _versions(*texts: Any) -> int:
    return sum(len(str(text)) for text in texts) * PARSED


def _length(items: Any) -> int:
    return len(cast("list[Any]", items)) if isinstance(items, list | tuple) else 0


def _matched(pattern: Any, text: Any, *_more: Any) -> int:
    """Count what an automaton of this size does with the text; repetitions within repetitions multiply its size."""
    states = len(str(pattern))
    for number in re.findall(r"\{(?:[0-9]*,)?([0-9]+)", str(pattern)):
        states *= max(1, int(number))
    return states * (len(str(text)) + 1)


def _rewritten(pattern: Any, text: Any, new: Any) -> int:
    return _matched(pattern, text) + (len(str(text)) + 1) * len(str(new))


_AHEAD: Mapping[str, Callable[..., int]] = {
    "repeat": _repeated,
    "replace": _replaced,
    "indent": _indented,
    "nindent": _indented,
    "join": _joined,
    **dict.fromkeys(("uniq", "mustUniq"), _compared),
    **dict.fromkeys(("without", "mustWithout"), _excluded),
    **dict.fromkeys(("has", "mustHas"), _sought),
    "sortAlpha": _sorted,
    **dict.fromkeys(("semver", "semverCompare"), _versions),
    "until": _whole,
    "untilStep": _stepped,
    "seq": _sequence,
    "printf": _printed,
    **dict.fromkeys(("regexMatch", "regexFind", "regexFindAll", "regexSplit"), _matched),
    **dict.fromkeys(("mustRegexMatch", "mustRegexFind", "mustRegexFindAll", "mustRegexSplit"), _matched),
    **dict.fromkeys(("regexReplaceAll", "regexReplaceAllLiteral"), _rewritten),
    **dict.fromkeys(("mustRegexReplaceAll", "mustRegexReplaceAllLiteral"), _rewritten),
}
