"""From answers of the database to samples. Pure: it never raises, and a value that is not there has no sample.

What the answers hold is not trusted: a garbled field is an unknown value, and unknown is never zero. Negative numbers
are how the database says that it does not know.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import cast

from msgspec import Struct

from stateward.engines.search.exporter.settings import Settings
from stateward.exporter.catalog import HEALTH, INFO, MEMBERS, SILENT, STATUS, STATUSES, Metric, paths

LONGEST = 253
"""Characters of a node's name, as of a name in Kubernetes."""
MOST_NODES = 1000
"""Nodes of one answer; more than the largest clusters have."""
MOST_ROLES = 32


class Sample(Struct, frozen=True):
    """One value of a metric, with the values of its labels."""

    metric: Metric
    labels: tuple[str, ...]
    value: float


def labels_of(whose: Settings) -> tuple[str, str, str]:
    """Return the values of the labels that all samples have."""
    return (whose.engine, whose.namespace, whose.name)


def health_samples(answer: object, whose: Settings) -> Iterator[Sample]:
    """Yield the samples of an answer of `_cluster/health`; an invalid status has no sample."""
    found = _mapping(answer)
    status = found.get("status")
    if status in STATUSES:
        for each in STATUSES:
            yield Sample(STATUS, (*labels_of(whose), each), float(status == each))
    yield from _samples(HEALTH, found, labels_of(whose))


def node_samples(answer: object, whose: Settings) -> Iterator[Sample]:
    """Yield the samples of an answer of `_nodes/stats`.

    Nodes without a name have none, and neither have two nodes with one name: it is not known which is the member.
    """
    found = _mapping(answer)
    total, good = (number(_mapping(found.get("_nodes")).get(word)) for word in ("total", "successful"))
    if total is not None and good is not None and good <= total:
        yield Sample(SILENT, labels_of(whose), total - good)
    named = [(_name(each), _mapping(each)) for each in _mapping(found.get("nodes")).values()][:MOST_NODES]
    count = Counter(name for name, _ in named)
    for name, node in named:
        if name and count[name] == 1:
            labels = (*labels_of(whose), pool_of(name, whose.name), name)
            yield Sample(INFO, (*labels, _roles(node)), 1.0)
            yield from _samples(MEMBERS, node, labels)


def readable(health: object, nodes: object) -> bool:
    """Return whether both answers are what they should be: a known status, and at least one node with a name."""
    return _mapping(health).get("status") in STATUSES and any(
        _name(each) for each in _mapping(_mapping(nodes).get("nodes")).values()
    )


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


def _samples(metrics: tuple[Metric, ...], found: Mapping[str, object], labels: tuple[str, ...]) -> Iterator[Sample]:
    for metric in metrics:
        seen = set[str]()
        for own, way in paths(metric):
            value = number(_at(found, way))
            if value is not None and own not in seen:
                seen.add(own)
                more = (own,) if metric.each is not None else ()
                yield Sample(metric, (*labels, *more), value * metric.factor)


def _at(found: Mapping[str, object], way: tuple[str, ...]) -> object:
    value: object = found
    for step in way:
        value = _mapping(value).get(step)
    return value


def _name(node: object) -> str:
    name = _mapping(node).get("name")
    return name if isinstance(name, str) and name.isprintable() and len(name) <= LONGEST else ""


def _roles(node: Mapping[str, object]) -> str:
    roles = node.get("roles")
    if not isinstance(roles, list):
        return ""
    words = (each for each in cast("list[object]", roles)[:MOST_ROLES] if isinstance(each, str))
    return ",".join(sorted(word[:64] for word in words if word.isprintable()))


def _mapping(value: object) -> Mapping[str, object]:
    return cast("Mapping[str, object]", value) if isinstance(value, Mapping) else {}
