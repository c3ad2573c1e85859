"""What a member is made from, and what a change of each needs; see `engines.digests`."""

from collections.abc import Iterator
from typing import Any

from stateward.api.foundationdb import FaultDomain
from stateward.engines.digests import digest, quantities, template_parts
from stateward.engines.foundationdb.pools import ResolvedPool
from stateward.engines.images import pattern
from stateward.planning.observation import Effect, Inputs

IMAGE = "docker.io/foundationdb/foundationdb"
"""Repository of the official image."""

KNOBS = "knobs"
EFFECTS = {
    "version": Effect.RECREATE,
    "image": Effect.RECREATE,
    KNOBS: Effect.RESTART,
    "domain": Effect.RECREATE,
    "resources": Effect.RECREATE,
    "template": Effect.RECREATE,
    "storage": Effect.REPLACE,
}
"""What a change needs, by the first part of an input's name."""
COORDINATED = frozenset({KNOBS})
"""Processes with different knobs may disagree on what they all have to agree on, so knobs change everywhere at once."""


def inputs(pool: ResolvedPool, version: str) -> Inputs:
    """Return the inputs of the pool's members at a version."""
    return {name: digest(name, value) for name, value in _asked(pool, version)}


def _asked(pool: ResolvedPool, version: str) -> Iterator[tuple[str, Any]]:
    spec, cluster = pool.spec, pool.cluster.spec
    yield "version", version
    if cluster.image is not None:
        yield "image", pattern(IMAGE, cluster.image, cluster.version)
    for name, value in pool.knobs.items():
        yield f"{KNOBS}/{name}", value
    # A process finds on its volume what its class has written; with fewer processes the data of one would stay behind.
    yield "storage/class", spec.process_class.value
    if spec.processes_per_member != 1:
        yield "storage/processes", spec.processes_per_member
    if cluster.fault_domain is not FaultDomain.NODE:
        yield "domain", cluster.fault_domain.value
    if spec.resources:
        yield "resources", quantities(spec.resources)
    if spec.storage is not None and spec.storage.ephemeral:
        yield "storage/ephemeral", True
    yield from template_parts(pool.template)
