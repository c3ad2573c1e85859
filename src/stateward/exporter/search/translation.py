"""From answers of a search cluster to samples. Pure: it never raises, and a value that is not there has no sample."""

from collections import Counter
from collections.abc import Iterator, Mapping

from stateward.engines.search.exporter.settings import SearchSettings
from stateward.exporter.samples import (
    Sample,
    at,
    items,
    labels_of,
    mapping,
    number,
    one_of,
    pool_of,
    samples,
    word,
)
from stateward.exporter.search.catalog import HEALTH, INFO, MEMBERS, SILENT, STATUS, STATUSES

MOST_NODES = 1000
"""Nodes of one answer; more than the largest clusters have."""
MOST_ROLES = 32


def health_samples(answer: object, whose: SearchSettings) -> Iterator[Sample]:
    """Yield the samples of an answer of `_cluster/health`; an invalid status has no sample."""
    found = mapping(answer)
    yield from one_of(STATUS, STATUSES, found.get("status"), labels_of(whose))
    yield from samples(HEALTH, found, labels_of(whose))


def node_samples(answer: object, whose: SearchSettings) -> Iterator[Sample]:
    """Yield the samples of an answer of `_nodes/stats`.

    Nodes without a name have none, and neither have two nodes with one name: it is not known which is the member.
    """
    found = mapping(answer)
    total, good = (number(at(found, ("_nodes", key))) for key in ("total", "successful"))
    if total is not None and good is not None and good <= total:
        yield Sample(SILENT, labels_of(whose), total - good)
    named = [(_name(each), mapping(each)) for each in mapping(found.get("nodes")).values()][:MOST_NODES]
    count = Counter(name for name, _ in named)
    for name, node in named:
        if name and count[name] == 1:
            labels = (*labels_of(whose), pool_of(name, whose.name), name)
            yield Sample(INFO, (*labels, _roles(node)), 1.0)
            yield from samples(MEMBERS, node, labels)


def readable(health: object, nodes: object) -> bool:
    """Return whether both answers are what they should be: a known status, and at least one node with a name."""
    return mapping(health).get("status") in STATUSES and any(
        _name(each) for each in mapping(mapping(nodes).get("nodes")).values()
    )


def _name(node: object) -> str:
    return word(mapping(node).get("name"))


def _roles(node: Mapping[str, object]) -> str:
    roles = (each for each in items(node.get("roles"), MOST_ROLES) if isinstance(each, str))
    return ",".join(sorted(role[:64] for role in roles if role.isprintable()))
