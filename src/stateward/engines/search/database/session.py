"""Requests to one cluster: finds a node that belongs to it and knows a manager; returns whole answers or none."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from stateward.api.values.base import Json
from stateward.engines.connection.base import (
    AnotherClusterError,
    Answer,
    Call,
    EngineError,
    GarbledError,
    NotFormedError,
    RefusedError,
    Room,
    Target,
    TooLargeError,
    Transport,
    UnreachableError,
)
from stateward.engines.connection.decoding import decoded
from stateward.engines.search.database.wire import MANAGER_MISSING, NOT_RECOVERED, Failure, Fault, Greeting

T = TypeVar("T")

_NO_REASON = "without a reason"
UNFORMED = "_na_"
"""Identity that a node reports before it has joined a cluster."""
LONGEST_REASON = 500
"""Characters of a reason that are kept."""
CUT = "…"
"""The end of a reason that was longer."""
DONE = frozenset({200, 201})
"""Status codes of success; 201 means that something was created."""
GREETING = "/_cluster/state/master_node,blocks"
_GREETING_FIELDS = "cluster_name,cluster_uuid,master_node,cluster_manager_node,blocks.global"
_TELLING = (TooLargeError, AnotherClusterError, NotFormedError, RefusedError, GarbledError, UnreachableError)
"""Kinds of errors, the most informative first: when several nodes fail, one error is reported."""


class Session:
    """Requests to one node that belongs to the cluster."""

    def __init__(self, transport: Transport, endpoint: str) -> None:
        self._transport = transport
        self.endpoint = endpoint

    async def get(self, shape: type[T], path: str, params: Mapping[str, str] | None = None) -> T:
        """Return a decoded answer; raise `EngineError` if there is none of this shape."""
        return await self.call(shape, "GET", path, params)

    async def call(
        self,
        shape: type[T],
        method: str,
        path: str,
        params: Mapping[str, str] | None = None,
        body: Json | None = None,
        patience: float | None = None,
    ) -> T:
        """Send a request and return the decoded answer; raise `EngineError` if there is none of this shape."""
        answer = await self.command(method, path, params, body, patience)
        return decoded(shape, answer.body, f"{self.endpoint}{path} gives an answer that cannot be read:")

    async def fetch(self, path: str, params: Mapping[str, str], room: Room) -> bytes:
        """Return an undecoded answer as large as `room` allows; raise `EngineError` if there is none."""
        answer = await self._transport.send(Call(self.endpoint, "GET", path, params, room=room))
        return self._done(path, answer).body

    async def command(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None = None,
        body: Json | None = None,
        patience: float | None = None,
    ) -> Answer:
        """Send a request without data in the answer; raise `EngineError` if it failed."""
        return self._done(path, await self._transport.send(Call(self.endpoint, method, path, params, body, patience)))

    def _done(self, path: str, answer: Answer) -> Answer:
        if answer.status not in DONE:
            raise RefusedError(f"{self.endpoint}{path}: {answer.status}, {reason(answer)}", answer.status)
        return answer


async def at_any_node(transport: Transport, target: Target, work: Callable[[Session], Awaitable[T]]) -> T:
    """Run `work` at the first node of the cluster that can; raise the most informative error if none can.

    Two nodes with answers that are too large end the attempt: the others would answer the same, and reading them takes
    time. A refusal of the work ends it too; a node that refuses to say which cluster it belongs to is only skipped. The
    disaster this prevents: one node has not got the new password yet, or a proxy before it refuses everybody, and the
    cluster is unknown although all others answer.
    """
    failures: list[EngineError] = []
    transport = transport if target.access is None else transport.within(target.access)
    for endpoint in target.endpoints:
        session, known = Session(transport, endpoint), False
        try:
            await verify_cluster(session, target)
            known = True
            return await work(session)
        except RefusedError as error:
            if known and error.lasting:
                raise
            failures.append(error)
        except TooLargeError as error:
            if any(isinstance(failure, TooLargeError) for failure in failures):
                raise
            failures.append(error)
        except EngineError as error:
            failures.append(error)
    if not failures:
        raise UnreachableError("no member has an address yet")
    raise min(failures, key=_rank)


async def verify_cluster(session: Session, target: Target) -> None:
    """Verify that a node belongs to the cluster and that the cluster can answer; raise otherwise."""
    greeting = await session.get(Greeting, GREETING, {"local": "true", "filter_path": _GREETING_FIELDS})
    check(session.endpoint, greeting, target)


def check(endpoint: str, greeting: Greeting, target: Target) -> None:
    """Raise when an answer comes from another cluster, or when the cluster cannot answer."""
    if greeting.cluster_name != target.name:
        message = f"another cluster answers at {endpoint}: {greeting.cluster_name} instead of {target.name}"
        raise AnotherClusterError(message)
    if greeting.cluster_uuid == UNFORMED:
        raise NotFormedError(f"not formed yet: {endpoint} has not joined a cluster")
    if target.identity and greeting.cluster_uuid != target.identity:
        message = f"another cluster answers at {endpoint}: {greeting.cluster_uuid} instead of {target.identity}"
        raise AnotherClusterError(message)
    if not greeting.manager or MANAGER_MISSING in greeting.blocks.everywhere:
        raise RefusedError(f"no cluster manager is elected: {endpoint} knows of none")
    if NOT_RECOVERED in greeting.blocks.everywhere:
        raise RefusedError(f"the cluster state is not recovered yet, according to {endpoint}")


def reason(answer: Answer) -> str:
    """Return the database's own reason for a refusal, and the innermost cause; a long end is cut off and marked."""
    try:
        failure = decoded(Failure, answer.body, "")
    except GarbledError:
        return _NO_REASON
    fault = failure.error
    text = _of_plugin(failure) if not fault else fault if isinstance(fault, str) else _of_fault(fault)
    return text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}{CUT}"


def _of_fault(fault: Fault) -> str:
    text, inner = fault.reason or fault.type, fault
    while inner.caused_by is not None:
        inner = inner.caused_by
    cause = inner.reason or inner.type
    return text if cause in text else f"{text}: {cause}"


def _of_plugin(failure: Failure) -> str:
    """Return what the security plugin says: one sentence, and the names of keys."""
    invalid, missing = failure.invalid_keys.keys, failure.missing_mandatory_keys.keys
    parts = [failure.reason or failure.message]
    parts += [f"invalid key [{invalid}]"] if invalid else []
    parts += [f"missing key [{missing}]"] if missing else []
    return ": ".join(filter(None, parts)) or _NO_REASON


def _rank(error: EngineError) -> int:
    return next((place for place, kind in enumerate(_TELLING) if isinstance(error, kind)), len(_TELLING))
