"""Quantities as Kubernetes writes them (`20Gi`, `1.5e3`, `250m`), read exactly and written canonically.

The grammar is that of `k8s.io/apimachinery/pkg/api/resource`. Values are `Fraction`s, so nothing is rounded here; for a
whole number of bytes `parse_bytes` rounds up, as Kubernetes does.
"""

import math
import re
from fractions import Fraction
from functools import lru_cache

BINARY = {suffix: Fraction(1024) ** power for power, suffix in enumerate(("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))}
DECIMAL = {
    suffix: Fraction(10) ** (3 * power)
    for power, suffix in enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), -3)
}
SUFFIXES = BINARY | DECIMAL
LARGEST = 2**63 - 1
"""No quantity of Kubernetes may be larger than this."""

_GRAMMAR = re.compile(r"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(?:([KMGTPE]i|[numkMGTPE])|[eE]([-+]?[0-9]{1,3}))?", re.ASCII)
LONGEST = 64
"""Characters of a quantity."""
_SHORT = 4


class QuantityError(ValueError):
    """A text that is not a quantity."""


@lru_cache(maxsize=4096)
def parse_quantity(text: str) -> Fraction:
    """Return the exact value of a quantity; raise `QuantityError` if it is invalid or too large for Kubernetes."""
    match = _GRAMMAR.fullmatch(text) if len(text) <= LONGEST else None
    if match is None:
        raise QuantityError(f"{text[:LONGEST]!r} is not a quantity such as 500Mi, 20Gi, 1.5 or 250m")
    sign, digits, suffix, exponent = match.groups()
    scale = Fraction(10) ** int(exponent) if exponent else SUFFIXES[suffix or ""]
    value = Fraction(digits) * scale
    if value > LARGEST:
        raise QuantityError(f"{text!r} is more than the largest quantity, {LARGEST}")
    return -value if sign == "-" else value


@lru_cache(maxsize=4096)
def parse_bytes(text: str) -> int:
    """Return a quantity as a whole number of bytes, rounded away from zero; raise `QuantityError` if it is invalid."""
    value = parse_quantity(text)
    return math.ceil(value) if value >= 0 else math.floor(value)


@lru_cache(maxsize=4096)
def format_quantity(value: Fraction | int, *, binary: bool = True) -> str:
    """Write a value with the largest suffix that keeps it a whole number, as Kubernetes does.

    A value that no decimal suffix down to nano can express exactly is rounded up to the next nano.
    """
    exact = Fraction(value)
    for suffix, scale in sorted((BINARY if binary else DECIMAL).items(), key=_by_scale, reverse=True):
        if exact and (exact / scale).denominator == 1:
            return f"{exact / scale}{suffix}"
    if exact.denominator == 1:
        return str(exact)
    return _fractional(exact)


@lru_cache(maxsize=4096)
def readable(size: int) -> str:
    """Write a number of bytes for users: exactly if that is short (20Gi, 500M), else with one decimal (1.4Gi)."""
    exact = [format_quantity(size, binary=binary) for binary in (True, False)]
    short = next((text for text in exact if len(text.rstrip("".join(SUFFIXES))) <= _SHORT), None)
    if short is not None:
        return short
    suffix, scale = max((item for item in BINARY.items() if item[1] <= abs(size)), key=_by_scale)
    return f"{float(size / scale):.1f}{suffix}"


def amount(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun: `1 shard`, `3 shards`; `many` is a plural that is not made with an s."""
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def _fractional(exact: Fraction) -> str:
    for suffix in ("m", "u", "n"):
        if (exact / DECIMAL[suffix]).denominator == 1:
            return f"{exact / DECIMAL[suffix]}{suffix}"
    return f"{math.ceil(exact / DECIMAL['n'])}n"


def _by_scale(item: tuple[str, Fraction]) -> Fraction:
    return item[1]
