"""One declared object in its database: read, decide and write in one session, and read again what was stored."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

from stateward.api.kinds.cluster import Cluster
from stateward.engines.connection.base import Target
from stateward.engines.search.database.session import Session
from stateward.engines.search.declared.comparison import canonical
from stateward.engines.search.declared.decision import Decision, Do, decide, give_up, remove
from stateward.engines.search.declared.desired import Desired, Observed, comparable, difference, stored
from stateward.engines.search.declared.kinds import Write
from stateward.engines.search.declared.requests import change_policy, outdated_indices, read, send
from stateward.kube.objects.metadata import Key as ObjectKey
from stateward.operator.declared.record_key import RecordKey

T = TypeVar("T")
UNFINISHED = Decision(Do.WAIT, "Starting", "the database has accepted it, and not all its nodes have it yet")
"""After such a write, reads may still have what was before: taken for its result, it would be a drift, or hide one."""


class Databases(Protocol):
    """The clusters that this operator manages, and requests to their databases."""

    def cluster(self, kind: str, key: ObjectKey) -> Cluster | None:
        """Return a cluster from the cache; None if the cache has none."""
        ...

    def managed(self, cluster: Cluster | None) -> bool:
        """Return whether this operator manages a cluster; for None, whether it is the one for what has no cluster."""
        ...

    async def gone(self, kind: str, key: ObjectKey) -> bool:
        """Return whether the API server, read live, has no such cluster; raises ApiError."""
        ...

    def target(self, kind: str, key: ObjectKey) -> Target | None:
        """Return how the database was reached last; None if this process has not reached it yet."""
        ...

    async def ask(self, kind: str, target: Target, work: Callable[[Session], Awaitable[T]]) -> T:
        """Run `work` at one node of the cluster, while this process holds the lease; raises EngineError, LostLease."""
        ...


@dataclass(frozen=True)
class Written:
    """What was decided, and the digest of what the database stores now."""

    decision: Decision
    stored: str = ""


def stored_digest(key: RecordKey, desired: Desired, observed: Observed) -> str:
    """Return the digest of the stored object as it is recorded; empty if there is none."""
    return _digest(key, desired, observed, "")


def digest_of(key: RecordKey, desired: Desired, observed: Observed) -> str:
    """Return the digest of the stored object, comparable with that in the resource's memory; empty if there is none."""
    return _digest(key, desired, observed, desired.memory.stored)


def _digest(key: RecordKey, desired: Desired, observed: Observed, like: str) -> str:
    body = stored(desired, observed)
    return "" if body is None else key.digest(canonical(comparable(desired, body)), like)


def sure_digest(key: RecordKey, desired: Desired, observed: Observed) -> str:
    """Return the digest of the cluster settings that a resource has surely set; empty for all other kinds."""
    return digest_of(key, desired.surely_set, observed) if desired.what.kind.write is Write.SETTINGS else ""


async def settle(session: Session, key: RecordKey, desired: Desired) -> Written:
    """Decide from a read of this session, and write; raises EngineError."""
    observed = await read(session, desired.what)
    decision = decide(desired, observed, digest_of(key, desired, observed), sure_digest(key, desired, observed))
    if decision.request is None:
        return Written(decision, stored_digest(key, desired, observed))
    done = await send(session, decision.request)
    observed = await read(session, desired.what)
    if not done and not _is_shown(desired, observed):
        return Written(UNFINISHED)
    return Written(decision, stored_digest(key, desired, observed))


def _is_shown(desired: Desired, observed: Observed) -> bool:
    """Return whether a read surely shows what was written; values of Secrets are never compared.

    The disaster this prevents: the answer to the first write is cut off, and the body is edited before the next read.
    Then it is not known any more who has made the object.
    """
    body = stored(desired, observed)
    return body is not None and not desired.hidden and difference(desired, body) is None


async def follow_policy(session: Session, desired: Desired) -> int:
    """Make indices follow an ISM policy; returns how many still run an earlier version. Raises EngineError."""
    number = (await read(session, desired.what)).number.get("if_seq_no", "")
    indices = await outdated_indices(session, desired.what.name, number)
    if indices:
        await change_policy(session, desired.what.name, indices)
    return len(indices)


async def clear(session: Session, key: RecordKey, desired: Desired) -> Decision:
    """Delete an object whose resource is deleted; the decision is NOTHING once it is gone. Raises EngineError."""
    observed = await read(session, desired.what)
    decision = remove(desired, observed, sure_digest(key, desired, observed))
    if decision.request is None:
        return decision
    if not await send(session, decision.request):
        return UNFINISHED
    observed = await read(session, desired.what)
    left = remove(desired, observed, sure_digest(key, desired, observed))
    return left if left.request is None else Decision(Do.WAIT, "Changing", "another client creates it again")


async def release(session: Session, key: RecordKey, desired: Desired, settings: frozenset[str]) -> Written:
    """Reset settings that are given up; with the digest of those that stay set, if it is known. Raises EngineError."""
    sure = desired.surely_set
    observed = await read(session, desired.what)
    decision = give_up(desired, observed, sure_digest(key, desired, observed), settings)
    if decision.request is None:
        return Written(decision, desired.memory.stored)
    await send(session, decision.request)
    kept = replace(sure, memory=replace(sure.memory, settings=sure.memory.settings - settings))
    return Written(decision, stored_digest(key, kept, observed))
