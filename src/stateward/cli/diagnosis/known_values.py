"""Replaces known values in a text; the work depends on the text, and hardly on how many values there are.

A pattern of all values would be tried one by one at each character: a namespace may have thousands of Secrets.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator


class KnownValues:
    """Finds values of at least `shortest` characters; of several that begin at one place the longest."""

    def __init__(self, shortest: int) -> None:
        self._shortest = shortest
        self._values = set[str]()
        self._begins = set[str]()
        """The first `shortest` characters of each value."""
        self._sorted: list[str] | None = []
        self._within: list[int] = []
        """For each sorted value, the place of the longest other one with which it begins; -1 without one."""
        self._longest = 0

    def add(self, values: Iterable[str]) -> None:
        """Remember values; shorter ones are left out."""
        new = {each for each in values if len(each) >= self._shortest} - self._values
        if new:
            self._values |= new
            self._begins |= {each[: self._shortest] for each in new}
            self._sorted = None

    def replaced(self, text: str, by: str) -> tuple[str, int]:
        """Return a text with another one in place of each value, and how many were replaced."""
        parts, done = list[str](), 0
        for begin, end in self._found(text):
            parts += [text[done:begin], by]
            done = end
        return "".join([*parts, text[done:]]), len(parts) // 2

    def _found(self, text: str) -> Iterator[tuple[int, int]]:
        begins, length, at = self._begins, self._shortest, 0
        while begins and at <= len(text) - length:
            if text[at : at + length] in begins and (size := self._size_at(text, at)):
                yield at, at + size
                at += size
            else:
                at += 1

    def _size_at(self, text: str, at: int) -> int:
        """Return the length of the longest value at a place of a text; 0 if there is none.

        A value with which the rest of the text begins is not after it in order. What is between both begins with that
        value, too: so the value is the last one that is not after the rest, or one with which that one begins.
        """
        known = self._in_order()
        place = bisect_right(known, text[at : at + self._longest]) - 1
        while place >= 0 and not text.startswith(known[place], at):
            place = self._within[place]
        return len(known[place]) if place >= 0 else 0

    def _in_order(self) -> list[str]:
        if self._sorted is None:
            self._sorted = sorted(self._values)
            self._longest = max(map(len, self._sorted))
            self._within = list(_within(self._sorted))
        return self._sorted


def _within(known: list[str]) -> Iterator[int]:
    """Yield for each sorted value the place of the longest other one with which it begins; -1 without one."""
    open_ones = list[int]()
    for place, value in enumerate(known):
        while open_ones and not value.startswith(known[open_ones[-1]]):
            open_ones.pop()
        yield open_ones[-1] if open_ones else -1
        open_ones.append(place)
