"""Checks FoundationDB clusters: enough members of each class for the redundancy, and valid knobs."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from stateward.api.checks import naming, template
from stateward.api.checks.pools import members, resources, storage
from stateward.api.checks.security import check_transport
from stateward.api.kinds.cluster import SingleCopy, UpdatePolicy
from stateward.api.kinds.foundationdb import (
    COPIES,
    FoundationDBCluster,
    FoundationDBSpec,
    ProcessClass,
    ProcessPool,
    Redundancy,
    replicas,
)
from stateward.api.schema.rules import ONE_AT_A_TIME
from stateward.api.values.images import MALFORMED, carries, is_reference, parse_image
from stateward.api.values.problem import Problem, Severity
from stateward.api.values.version import Version, parse_version

FIRST = Version(7, 1, 0)
"""The first version with the cluster files and exclusions that Stateward needs: by names, and by localities."""

_KNOB = re.compile(r"[a-z][a-z0-9_]*")
_VALUE = re.compile(r"[A-Za-z0-9_.:/+-]+")


@dataclass(frozen=True)
class _Database:
    """What runs in the pods, as far as their templates speak of it."""

    engine: str = "foundationdb"
    instead: str = "knobs"


def check(cluster: FoundationDBCluster) -> Iterator[Problem]:
    """Yield what is wrong with a cluster."""
    spec = cluster.spec
    yield from naming.check(cluster)
    yield from members.check(cluster)
    yield from resources.check(cluster)
    yield from _version(spec)
    yield from _members(spec)
    yield from _knobs("spec.knobs", spec.knobs or {})
    yield from check_transport(spec.security)
    for i, pool in enumerate(spec.pools):
        yield from _pool(f"spec.pools[{i}]", spec, pool)
    yield from template.check_all(cluster, _Database())
    yield from _update(cluster)


def _version(spec: FoundationDBSpec) -> Iterator[Problem]:
    parsed = parse_version(spec.version)
    if parsed is None:
        yield Problem("spec.version", spec.version, "must be three numbers with dots between them, for example 7.1.67")
    elif parsed < FIRST:
        yield Problem("spec.version", spec.version, f"must be {FIRST} or later")
    if spec.image is not None:
        image = parse_image(spec.image)
        if not is_reference(spec.image):
            yield Problem("spec.image", spec.image, MALFORMED)
        elif not image.tag or not carries(image.tag, spec.version):
            text = f"must be an image whose tag has the version in it, such as {spec.version}-ours"
            yield Problem("spec.image", spec.image, text)


def _members(spec: FoundationDBSpec) -> Iterator[Problem]:
    """Check that the database can keep its copies apart, and tolerate the failures that its mode promises."""
    copies = COPIES[spec.redundancy]
    counts = {c: sum(replicas(spec, p) for p in spec.pools if p.process_class is c) for c in ProcessClass}
    for kind in (ProcessClass.STORAGE, ProcessClass.LOG):
        if counts[kind] < copies:
            text = f"redundancy {spec.redundancy.value} needs {copies} {kind.value} members or more"
            yield Problem("spec.pools", counts[kind], text)
        elif counts[kind] < 2 * copies - 1:
            text = (
                f"with {counts[kind]} {kind.value} members no member takes over from a failed one:"
                f" {2 * copies - 1} bear what {spec.redundancy.value} promises"
            )
            yield Problem("spec.pools", counts[kind], text, Severity.WARNING)
    if not counts[ProcessClass.STATELESS]:
        text = "no pool is stateless: the processes with data also do all other work"
        yield Problem("spec.pools", 0, text, Severity.WARNING)
    if spec.redundancy is Redundancy.SINGLE:
        text = "keeps one copy of all data: data that a member loses is lost, and every change needs an outage"
        yield Problem("spec.redundancy", spec.redundancy.value, text, Severity.WARNING)


def _pool(path: str, spec: FoundationDBSpec, pool: ProcessPool) -> Iterator[Problem]:
    yield from _knobs(f"{path}.knobs", {**(spec.knobs or {}), **(pool.knobs or {})} if pool.knobs else {})
    chosen = pool.storage
    if chosen is None:
        return
    yield from storage.check_size(f"{path}.storage.size", chosen.size)
    yield from storage.check_growth(f"{path}.storage.grow", chosen)
    if chosen.ephemeral and pool.process_class is not ProcessClass.STATELESS:
        text = "storage and log processes need volumes: each pod would lose its data when it is deleted"
        yield Problem(f"{path}.storage.ephemeral", chosen.ephemeral, text)
    if chosen.ephemeral and chosen.storage_class is not None:
        text = "ephemeral storage has no storage class: leave storageClass out, or ephemeral"
        yield Problem(f"{path}.storage.storageClass", chosen.storage_class, text)


def _knobs(path: str, knobs: Mapping[str, str]) -> Iterator[Problem]:
    """Check that a knob can be an argument, and nothing but a knob."""
    for name, value in knobs.items():
        if not _KNOB.fullmatch(name) or name.startswith("knob_"):
            text = "must be the name of a knob in lower-case letters, digits and underscores, without knob_"
            yield Problem(f"{path}.{name}", name, text)
        elif not _VALUE.fullmatch(value):
            yield Problem(f"{path}.{name}", value, "must be a number, true, false or a word")


def _update(cluster: FoundationDBCluster) -> Iterator[Problem]:
    spec = cluster.spec
    if spec.update is not None:
        yield from _one_at_a_time(spec.update)
        names = [pool.name for pool in spec.pools]
        for i, name in enumerate(spec.update.order or []):
            if name not in names:
                yield Problem(f"spec.update.order[{i}]", name, f"must be the name of a pool: {', '.join(names)}")


def _one_at_a_time(update: UpdatePolicy) -> Iterator[Problem]:
    """Refuse what is accepted for other engines and means nothing here."""
    choices = (
        ("maxUnavailable", update.max_unavailable, update.max_unavailable in (1, "1"), "1"),
        ("minLiveCopies", update.min_live_copies, update.min_live_copies == 1, "1"),
        ("singleCopy", update.single_copy.value, update.single_copy is SingleCopy.MOVE, "Move, or left out"),
    )
    for name, value, good, only in choices:
        if not good:
            yield Problem(f"spec.update.{name}", value, f"must be {only}: {ONE_AT_A_TIME}")
