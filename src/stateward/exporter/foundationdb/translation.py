"""From a status of FoundationDB to samples. Pure: it never raises, and a value that is not there has no sample."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import cast

from msgspec import Struct

from stateward.engines.foundationdb.exporter.settings import FoundationSettings
from stateward.engines.foundationdb.spec.connection import ConnectionStringError, parse_connection_string
from stateward.exporter.foundationdb import catalog as c
from stateward.exporter.metric import Metric
from stateward.exporter.samples import Sample, at, items, labels_of, mapping, number, one_of, pool_of, samples, word

MOST_PROCESSES = 2000
"""Processes of one status; more than the largest clusters have."""
MOST_COORDINATORS = 100
MOST_ROLES = 32
LONGEST_WORD = 64
"""Characters of a class, a version or a role."""
_PROCESS = re.compile(r"[0-9]{1,3}", re.ASCII)


class Process(Struct, frozen=True):
    """One process of a status, with its member and its number; both are empty if they are not known."""

    node: str
    number: str
    found: Mapping[str, object]


def problem(status: object, whose: FoundationSettings) -> str:
    """Return why a status has no values of this database's cluster; empty if it has them."""
    cluster, client = mapping(mapping(status).get("cluster")), mapping(mapping(status).get("client"))
    if other := _other(cluster.get("connection_string"), whose):
        return other
    if mapping(cluster.get("processes")):
        return ""
    told = (word(mapping(each).get("description"), 200) for each in items(client.get("messages"), 10))
    return ": ".join(("the database reports nothing about itself", *filter(None, told)))


def status_samples(status: object, whose: FoundationSettings) -> Iterator[Sample]:
    """Yield the samples of a status of this database; those of its client part also without the others."""
    cluster, client = mapping(mapping(status).get("cluster")), mapping(mapping(status).get("client"))
    if _other(cluster.get("connection_string"), whose):
        return
    yield from _client(client, labels_of(whose))
    if mapping(cluster.get("processes")):
        yield from _whole(cluster, labels_of(whose))
        yield from _processes(cluster, whose)


def _other(connection: object, whose: FoundationSettings) -> str:
    """Return that another database answers; empty if it is this one, or not known."""
    if connection is None:
        return ""
    try:
        found = parse_connection_string(connection if isinstance(connection, str) else "").description
    except ConnectionStringError:
        return "the status has no cluster file that can be read"
    return "" if found == whose.description else "another database answers"


def _client(client: Mapping[str, object], labels: tuple[str, ...]) -> Iterator[Sample]:
    yield from samples(c.CLIENT, client, labels)
    listed = items(at(client, ("coordinators", "coordinators")), MOST_COORDINATORS)
    reached = [mapping(each).get("reachable") for each in listed]
    if reached and all(isinstance(each, bool) for each in reached):
        yield Sample(c.COORDINATORS, labels, float(len(reached)))
        yield Sample(c.REACHABLE, labels, float(sum(each is True for each in reached)))


def _whole(cluster: Mapping[str, object], labels: tuple[str, ...]) -> Iterator[Sample]:
    yield from samples(c.WHOLE, cluster, labels)
    yield from one_of(c.RECOVERY_STATE, c.RECOVERY, at(cluster, ("recovery_state", "name")), labels)
    yield from one_of(c.DATA_STATE, c.DATA, at(cluster, ("data", "state", "name")), labels)
    yield from one_of(c.LIMITED, c.LIMITS, at(cluster, ("qos", "performance_limited_by", "name")), labels)
    yield from one_of(c.BATCH_LIMITED, c.LIMITS, at(cluster, ("qos", "batch_performance_limited_by", "name")), labels)
    yield from _counted(c.INCOMPATIBLE, cluster.get("incompatible_connections"), labels)


def _processes(cluster: Mapping[str, object], whose: FoundationSettings) -> Iterator[Sample]:
    """Yield the samples of processes; two that say the same of themselves have none."""
    listed = [_process(each) for each in [*mapping(cluster.get("processes")).values()][:MOST_PROCESSES]]
    labels = labels_of(whose)
    yield Sample(c.PROCESSES, labels, float(len(listed)))
    yield Sample(c.UNREACHABLE, labels, float(sum(not mapping(each.found.get("locality")) for each in listed)))
    excluded = [each.found.get("excluded") for each in listed]
    if all(isinstance(each, bool) for each in excluded):
        yield Sample(c.EXCLUDED, labels, float(sum(each is True for each in excluded)))
    count = Counter((each.node, each.number) for each in listed)
    for each in listed:
        if each.number and count[each.node, each.number] == 1:
            yield from _of_process(each, (*labels, pool_of(each.node, whose.name), each.node, each.number))


def _process(found: object) -> Process:
    locality = mapping(mapping(found).get("locality"))
    node, own = word(locality.get("instance_id")), word(locality.get("process_id"))
    number = own.removeprefix(f"{node}-") if node and own.startswith(f"{node}-") else ""
    return Process(node, number if _PROCESS.fullmatch(number) else "", mapping(found))


def _of_process(process: Process, labels: tuple[str, ...]) -> Iterator[Sample]:
    found = process.found
    roles = [mapping(each) for each in items(found.get("roles"), MOST_ROLES)]
    names = sorted({name for each in roles if (name := word(each.get("role"), LONGEST_WORD))})
    texts = (word(found.get(key), LONGEST_WORD) for key in ("class_type", "version"))
    yield Sample(c.INFO, (*labels, *texts, ",".join(names)), 1.0)
    yield from _counted(c.MESSAGES, found.get("messages"), labels)
    yield from samples(c.PROCESS_METRICS, found, labels)
    for name, metrics in _ROLES.items():
        yield from samples(metrics, _newest([each for each in roles if each.get("role") == name]), labels)


def _counted(metric: Metric, found: object, labels: tuple[str, ...]) -> Iterator[Sample]:
    """Yield how many items a list has; nothing for anything else."""
    if isinstance(found, list):
        yield Sample(metric, labels, float(len(cast("list[object]", found))))


_ROLES: Mapping[str, tuple[Metric, ...]] = {"storage": c.STORAGE, "log": c.LOG}


def _newest(roles: list[Mapping[str, object]]) -> Mapping[str, object]:
    """Return the role with the newest data: after a recovery a process may have logs of two generations."""
    return max(roles, key=lambda each: number(each.get("data_version")) or 0.0, default=mapping(None))
