"""Samples of metrics, and how they are read from decoded answers. Pure: it never raises.

What the answers hold is not trusted: a garbled field is an unknown value, and unknown is never zero. Negative numbers
are how databases say that they do not know.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from msgspec import Struct

from stateward.engines.exporter.settings import Settings
from stateward.exporter.metric import Metric, paths

LONGEST = 253
"""Characters of a member's name, as of a name in Kubernetes."""


class Sample(Struct, frozen=True):
    """One value of a metric, with the values of its labels."""

    metric: Metric
    labels: tuple[str, ...]
    value: float


def labels_of(whose: Settings) -> tuple[str, str, str]:
    """Return the values of the labels that all samples have."""
    return (whose.engine, whose.namespace, whose.name)


def samples(metrics: Sequence[Metric], found: Mapping[str, object], labels: tuple[str, ...]) -> Iterator[Sample]:
    """Yield the samples of metrics with a path, from one part of an answer."""
    for metric in metrics:
        seen = set[str]()
        for own, way in paths(metric):
            value = (truth if metric.truth else number)(at(found, way))
            if value is not None and own not in seen:
                seen.add(own)
                more = (own,) if metric.each is not None else ()
                yield Sample(metric, (*labels, *more), value * metric.factor)


def one_of(metric: Metric, names: Sequence[str], found: object, labels: tuple[str, ...]) -> Iterator[Sample]:
    """Yield one sample for each name: 1 for the one that was found, else 0; none if none of them was found."""
    if found in names:
        for each in names:
            yield Sample(metric, (*labels, each), float(found == each))


def pool_of(node: str, cluster: str) -> str:
    """Return the pool of a member from its name, CLUSTER-POOL-ORDINAL; empty for other nodes."""
    found = re.fullmatch(rf"{re.escape(cluster)}-(.+)-[0-9]+", node)
    return found[1] if found is not None else ""


def number(value: object) -> float | None:
    """Return a number that is not negative; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) and found >= 0 else None


def truth(value: object) -> float | None:
    """Return 1 for true and 0 for false; None for anything else."""
    return float(value) if isinstance(value, bool) else None


def word(value: object, longest: int = LONGEST) -> str:
    """Return a printable text that is not too long; empty for anything else."""
    return value if isinstance(value, str) and value.isprintable() and len(value) <= longest else ""


def at(found: Mapping[str, object], way: Sequence[str]) -> object:
    """Return what is at the end of a way into an answer; None if the way ends before."""
    value: object = found
    for step in way:
        value = mapping(value).get(step)
    return value


def mapping(value: object) -> Mapping[str, object]:
    """Return an object of an answer; an empty one for anything else."""
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}


def items(value: object, most: int) -> Sequence[object]:
    """Return the first items of a list of an answer; none for anything else."""
    return cast("list[object]", value)[:most] if isinstance(value, list) else ()
