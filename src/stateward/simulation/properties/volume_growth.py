"""The rules for a volume that the operator makes larger by itself: within the limit, all alike, and not too often."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stateward.api.values import names
from stateward.api.values.quantity import parse_bytes
from stateward.planning.model.times import parse_time
from stateward.simulation.apiserver.documents import Doc, part
from stateward.simulation.apiserver.store import Stored

INTERVAL = 6 * 3600.0
"""Seconds between two changes of a volume: written here again, so that the operator's own limit is checked."""


@dataclass(frozen=True, slots=True)
class GrowthRequest:
    """A request for a larger volume than the spec asks for, and what the operator knew."""

    size: int
    claims: Sequence[Stored]
    """The claims of the members of its pool, before the request."""
    pool: Doc
    """The pool in the spec; empty if the spec does not have it."""
    now: float
    """Seconds since the epoch."""


def growth_problems(request: GrowthRequest) -> Iterator[str]:
    """Yield what is wrong with a request; one for a size that another volume of the pool has continues a decision."""
    recorded = [part(claim.doc, "metadata", "annotations") for claim in request.claims]
    grown = [parse_bytes(r[names.ANNOTATION_GROWN]) for r in recorded if names.ANNOTATION_GROWN in r]
    if request.size in grown:
        return
    limit = part(request.pool, "storage", "grow").get("max")
    if limit is None or request.size > parse_bytes(limit):
        yield f" to {request.size} bytes, and storage.grow.max is {limit}"
    if any(size > request.size for size in grown):
        yield f" to {request.size} bytes, which is less than another volume of its pool has"
    changed = (parse_time(r.get(names.ANNOTATION_RESIZED, "")) for r in recorded)
    if any(when is not None and when <= request.now < when + INTERVAL for when in changed):
        yield " less than six hours after the last change"
