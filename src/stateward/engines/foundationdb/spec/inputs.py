"""The inputs of a member, and the effect of a change of each; see `engines.digests`."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from stateward.api.kinds.cluster import Storage
from stateward.api.kinds.foundationdb import FaultDomain, ProcessClass, ProcessPool
from stateward.engines.foundationdb.spec.build import Build, series
from stateward.engines.foundationdb.spec.pools import ResolvedPool
from stateward.engines.pods.digests import digest, quantities, template_parts
from stateward.engines.pods.images import pattern
from stateward.engines.pods.uses import DATA_EFFECTS, known
from stateward.planning.facts.protocol import PROGRAM, PROGRAMS
from stateward.planning.model.observation import Effect, Inputs

IMAGE = "docker.io/foundationdb/foundationdb"
"""Repository of the official image."""

KNOBS = "knobs"
EFFECTS = {
    "version": Effect.RECREATE,
    "image": Effect.RECREATE,
    KNOBS: Effect.RESTART,
    PROGRAM: Effect.RESTART,
    PROGRAMS: Effect.RECREATE,
    "domain": Effect.RECREATE,
    "resources": Effect.RECREATE,
    "template": Effect.RECREATE,
    "storage": Effect.REPLACE,
    **DATA_EFFECTS,
}
"""The effect of a change, by the first part of an input's name."""
COORDINATED = frozenset({KNOBS, PROGRAM})
"""Inputs that change in a coordinated restart.

Processes with different knobs may disagree where all must agree, and programs of incompatible versions do not talk to
each other.
"""

CLASS, EPHEMERAL, PROCESSES = "storage/class", "storage/ephemeral", "storage/processes"
RETAINED = frozenset({CLASS, EPHEMERAL, PROCESSES})
"""Inputs that a member keeps for its life: its processes find their data on the volume by them."""
MOST = 16
"""Maximum of processes per member."""
STATELESS: Inputs = {CLASS: digest(CLASS, ProcessClass.STATELESS.value)}
"""Inputs of members that never hold data."""
_CLASSES = {digest(CLASS, each.value): each for each in ProcessClass}
_COUNTS = {digest(PROCESSES, count): count for count in range(2, MOST + 1)}


def processes(made_from: Mapping[str, str]) -> int:
    """Return the number of processes of a member with these inputs, regardless of its pool's present spec."""
    return _COUNTS.get(made_from.get(PROCESSES, ""), 1)


def retaining(pool: ResolvedPool, keeps: Inputs) -> ProcessPool:
    """Return the pool's spec for a member that keeps its class, its processes and its kind of volume."""
    storage = pool.spec.storage
    if (EPHEMERAL in keeps) is not (storage is not None and storage.ephemeral):
        storage = msgspec.structs.replace(storage or Storage(), ephemeral=EPHEMERAL in keeps)
    return msgspec.structs.replace(
        pool.spec,
        process_class=_CLASSES.get(keeps.get(CLASS, ""), pool.spec.process_class),
        processes_per_member=processes(keeps),
        storage=storage,
    )


def inputs(pool: ResolvedPool, build: Build) -> Inputs:
    """Return the inputs of the pool's members of this build."""
    own = {name: digest(name, value) for name, value in _asked(pool, build)}
    return {**own, **known(pool.template, pool.cluster.status.data_digests)}


def _asked(pool: ResolvedPool, build: Build) -> Iterator[tuple[str, Any]]:
    spec, cluster = pool.spec, pool.cluster.spec
    yield "version", build.version
    yield PROGRAM, series(build.program(cluster.version))
    if build.crossing:
        yield PROGRAMS, build.beside(cluster.version)
    if cluster.image is not None:
        yield "image", pattern(IMAGE, cluster.image, cluster.version)
    for name, value in pool.knobs.items():
        yield f"{KNOBS}/{name}", value
    # A process finds the data of its class on the volume; fewer processes would leave the data of one behind.
    yield CLASS, spec.process_class.value
    if spec.processes_per_member != 1:
        yield PROCESSES, spec.processes_per_member
    if cluster.fault_domain is not FaultDomain.NODE:
        yield "domain", cluster.fault_domain.value
    if spec.resources:
        yield "resources", quantities(spec.resources)
    if spec.storage is not None and spec.storage.ephemeral:
        yield EPHEMERAL, True
    yield from template_parts(pool.template)
