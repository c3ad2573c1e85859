"""The HTTP interface of the model: the driver's requests go through it, over a network that may fail."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol
from urllib.parse import urlsplit

import msgspec

from stateward.api.values.base import Json
from stateward.engines.connection.access import Access
from stateward.engines.connection.base import Answer, Call, UnreachableError
from stateward.simulation.opensearch import responses
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.opensearch.databases import Databases
from stateward.simulation.opensearch.node import Node
from stateward.simulation.opensearch.pending_commands import MANAGER_PATIENCE, PendingCommands, flushed
from stateward.simulation.opensearch.settings import UNKNOWN
from stateward.simulation.opensearch.snapshots import about_snapshots
from stateward.simulation.opensearch.stored_objects import concerned

USERS = "/_plugins/_security/api/internalusers"
UNBLOCKED = frozenset({"/_flush", "/_cluster/allocation/explain"})
"""Commands that a read-only database performs, because they change no metadata."""
EXCLUSION_PATIENCE = 10.0
PATIENCE = 15.0
"""Seconds after which the client gives up, unless it says otherwise for one request."""


@dataclass(slots=True)
class Rates:
    """Probabilities for each request."""

    error: float = 0.0
    """The probability of status 503, or of no response."""
    lost: float = 0.0
    """The probability that a performed request loses its response."""
    slow: float = 0.0
    garbled: float = 0.0
    """The probability of a truncated response."""
    late: float = 0.0
    """The probability that a command is performed only after a while, even if its client no longer waits."""


@dataclass(slots=True)
class Wire:
    """The network between one client and the databases; `command_done` is called right after each performed command."""

    rng: random.Random
    count: Callable[[str], None]
    command_done: Callable[[str], None] = lambda _: None
    rates: Rates = field(default_factory=Rates)
    dead: bool = False

    async def reach(self, patience: float) -> None:
        """Send a request; raises UnreachableError."""
        await asyncio.sleep(0.001 + 0.004 * self.rng.random())
        if self._falls(self.rates.slow):
            self.count("engine request slow")
            await asyncio.sleep(self.rng.uniform(2.0, 40.0))
        if self._falls(self.rates.error):
            self.count("engine error")
            await asyncio.sleep(self.rng.choice((0.0, min(patience, 10.0))))
            raise UnreachableError("the connection failed")
        self.alive()

    async def back(self) -> None:
        """Receive the response; raises UnreachableError if it is lost."""
        await asyncio.sleep(0.001 + 0.004 * self.rng.random())
        self.alive()
        if self._falls(self.rates.lost):
            self.count("engine answer lost")
            raise UnreachableError("the connection broke before the answer came")

    def body(self, body: bytes) -> bytes:
        """Return the received part of a response."""
        if self._falls(self.rates.garbled):
            self.count("engine answer garbled")
            return body[: len(body) // 2]
        return body

    def delay(self) -> float:
        """Return the seconds for which a busy manager leaves a command in its queue."""
        return self.rng.uniform(1.0, MANAGER_PATIENCE) if self._falls(self.rates.late) else 0.0

    def alive(self) -> None:
        """Stop a killed client."""
        if self.dead:
            raise asyncio.CancelledError

    def _falls(self, rate: float) -> bool:
        return bool(rate) and self.rng.random() < rate


class DatabaseAudit(Protocol):
    """Receives the requests of one client to the databases."""

    def began(self) -> None:
        """Note the greeting with which a session begins."""
        ...

    def beside(self) -> bool:
        """Return whether the current task observes no cluster: what it reads is for declared objects."""
        ...

    def performing(self, cluster: Cluster, call: Call) -> None:
        """Check a request right before the database performs it."""
        ...

    def performed(self, cluster: Cluster, call: Call, status: int) -> None:
        """Note a request that was performed, before its response is sent."""
        ...


class DatabaseAudits:
    """Several audits of the same client, in order."""

    def __init__(self, *audits: DatabaseAudit) -> None:
        self._audits = audits

    def began(self) -> None:
        """Note the greeting with which a session begins."""
        for audit in self._audits:
            audit.began()

    def beside(self) -> bool:
        """Return whether the current task is about declared objects."""
        return any(audit.beside() for audit in self._audits)

    def performing(self, cluster: Cluster, call: Call) -> None:
        """Check a request right before the database performs it."""
        for audit in self._audits:
            audit.performing(cluster, call)

    def performed(self, cluster: Cluster, call: Call, status: int) -> None:
        """Note a request that was performed, before its response is sent."""
        for audit in self._audits:
            audit.performed(cluster, call, status)


class UnauditedDatabase:
    """An audit of databases that records nothing."""

    def began(self) -> None:
        """Do nothing."""

    def beside(self) -> bool:
        """Return False."""
        return False

    def performing(self, cluster: Cluster, call: Call) -> None:
        """Do nothing."""

    def performed(self, cluster: Cluster, call: Call, status: int) -> None:
        """Do nothing."""


def tells_the_state(call: Call) -> bool:
    """Return whether an answer is part of an observation: not that of a command, nor the greeting of an endpoint.

    A lost greeting hides nothing: it comes before the observation, or belongs to a command that follows a complete one.
    What is read about stored objects is none either: the object, and the versions of nodes without a time limit.
    """
    greeting = call.path.startswith("/_cluster/state") and "routing_table" not in call.path
    versions = call.path == "/_nodes/http" and "timeout" not in (call.params or {})
    others = concerned(call.path) or about_snapshots(call.method, call.path, call.params or {})
    read = call.method == "GET" and not others
    return (read and not greeting and not versions) or "explain" in call.path


def outlives_its_client(call: Call) -> bool:
    """Return whether a request changes the state of the cluster, which its manager does even if no client waits."""
    return call.method != "GET" and call.path not in UNBLOCKED and (call.params or {}).get("dry_run") != "true"


class WorldTransport:
    """`Transport` of the driver, onto the model."""

    def __init__(
        self,
        databases: Databases,
        wire: Wire,
        cluster_observed: Callable[[Cluster], None] = lambda _: None,
        answer_lost: Callable[[], None] = lambda: None,
        audit: DatabaseAudit | None = None,
    ) -> None:
        """Connect to these databases; the callbacks are for each observed state and each lost response."""
        self.wire = wire
        self._audit = audit or UnauditedDatabase()
        self._cluster_observed = cluster_observed
        self._answer_lost = answer_lost
        self._databases = databases
        self._pending = PendingCommands(databases)

    def within(self, access: Access) -> "WorldTransport":  # noqa: ARG002 - the model has no authentication
        """Return the same transport."""
        return self

    async def send(self, call: Call) -> Answer:
        """Return the complete response; raise `UnreachableError` if there is none.

        A client that waits no longer for all answers of an observation cancels the one that it still waits for.
        """
        try:
            return await self._send(call)
        except (UnreachableError, asyncio.CancelledError):
            if self._observes(call):
                self._answer_lost()
            raise

    def _observes(self, call: Call) -> bool:
        return tells_the_state(call) and not self._audit.beside()

    async def _send(self, call: Call) -> Answer:
        self.wire.alive()
        await self.wire.reach(call.patience or 10.0)
        node = self._node(call.endpoint)
        if node is None:
            # A refused connection fails at once; a dead address fails after a while.
            await asyncio.sleep(self.wire.rng.choice((0.0, min(call.patience or 10.0, 3.0))))
            raise UnreachableError(f"{call.endpoint}: connection refused")
        answer = await self._performed(node, call)
        if call.method != "GET" and "explain" not in call.path:
            self.wire.command_done(f"{call.method} {call.path}")
        await self.wire.back()
        return answer

    def _node(self, endpoint: str) -> Node | None:
        way = urlsplit(endpoint)
        node = self._databases.at(str(way.hostname))
        understood = node is not None and node.reachable and node.secured is (way.scheme == "https")
        return node if understood else None

    async def _performed(self, node: Node, call: Call) -> Answer:
        """Return the response within the client's patience; a command to the manager outlives its client."""
        try:
            async with asyncio.timeout(call.patience or PATIENCE):
                if outlives_its_client(call) and not self._audit.beside():
                    delay, what = self.wire.delay(), f"{call.method} {call.path}"
                    return await self._pending.outlive(lambda: self._answer(node, call, delay), what)
                return await self._answer(node, call)
        except TimeoutError as error:
            raise UnreachableError(f"{call.endpoint} did not answer in time") from error

    async def _answer(self, node: Node, call: Call, delay: float = 0.0) -> Answer:
        params = dict(call.params or {})
        if params.get("local") == "true":
            self._audit.began()
            return self._ok(responses.greeting(node, self._databases.cluster_of(node)))
        cluster = await self._pending.managed(node)
        if cluster is not None and outlives_its_client(call) and not await self._pending.turn(cluster, delay):
            return _refused(503, "process_cluster_event_timeout_exception", "failed to process cluster event")
        if cluster is None or not cluster.managed:
            return _refused(503, "master_not_discovered_exception", "no cluster manager")
        self._audit.performing(cluster, call)
        answer = self._object(cluster, call, params)
        if answer is None and call.method == "GET":
            answer = await self._read(cluster, call)
        elif answer is None:
            answer = await self._command(cluster, call.path, call.method, params, call.body or {})
        self._audit.performed(cluster, call, answer.status)
        return answer

    def _object(self, cluster: Cluster, call: Call, params: dict[str, str]) -> Answer | None:
        """Return the response to a request for one of the stored objects; None for all others."""
        if call.method != "GET" and cluster.read_only:
            return None  # Refused with all other commands.
        if about_snapshots(call.method, call.path, params):
            known = cluster.objects.repositories()
            cluster.snapshots.repositories = {name: self._databases.repositories.setdefault(name, {}) for name in known}
            reply = cluster.snapshots.answer(call.method, call.path, params, call.body or {})
        else:
            reply = cluster.objects.answer(call.method, call.path, params, call.body or {})
        return None if reply is None else self._ok(reply[1], reply[0], observed=False)

    async def _read(self, cluster: Cluster, call: Call) -> Answer:
        path = call.path
        if path.startswith("/_nodes") and any(not n.tells for n in cluster.nodes.values()):
            # The response waits for unresponsive nodes.
            await asyncio.sleep(5.0)
        made = {
            "/_cluster/state": responses.state,
            "/_nodes/http": responses.info,
            **({"/_nodes/shutdown": responses.shutdowns} if self._databases.announced else {}),
            "/_nodes/stats": responses.stats,
            "/_cluster/settings": responses.settings,
            USERS: responses.users,
        }
        name = next((name for name in made if path.startswith(name)), None)
        if name is None:
            return _refused(400, "illegal_argument_exception", f"the model does not know {path}")
        if name == "/_cluster/state" and "routing_table" in path:  # Node information contains no copies.
            self._cluster_observed(cluster)
        return self._ok(made[name](cluster), observed=self._observes(call))

    async def _command(self, cluster: Cluster, path: str, method: str, params: dict[str, str], body: Json) -> Answer:
        if cluster.read_only and path not in UNBLOCKED:
            return _refused(403, "cluster_block_exception", "blocked by: [FORBIDDEN/6/cluster read-only (api)];")
        if path == "/_cluster/settings":
            if UNKNOWN in (body.get("persistent") or {}):
                text = f"persistent setting [{UNKNOWN}], not recognized"
                return _refused(400, "illegal_argument_exception", text)
            cluster.settings.change(cluster.settings.persistent, body.get("persistent") or {})
            cluster.settings.change(cluster.settings.transient, body.get("transient") or {})
            cluster.version += 1
            cluster.allocator.expand()
            cluster.allocator.reroute()
            return self._ok({"acknowledged": True, "persistent": {}, "transient": {}})
        if path == "/_cluster/voting_config_exclusions":
            return await self._exclusions(cluster, method, params)
        if path == "/_flush":
            return self._ok(await flushed(cluster))
        return self._commanded(cluster, path, method, params, body)

    def _commanded(self, cluster: Cluster, path: str, method: str, params: dict[str, str], body: Json) -> Answer:
        if path.endswith("/shutdown") and self._databases.announced:
            return self._shutdown(cluster, method, path.split("/")[2], body)
        if path == "/_cluster/reroute":
            return self._ok(responses.reroute(cluster, body, trial=params.get("dry_run") == "true"))
        if path == "/_cluster/allocation/explain":
            found = responses.explain(cluster, body)
            return self._ok(found) if found else _refused(400, "illegal_argument_exception", "no such shard")
        if method == "PUT" and not path.startswith("/_"):
            return self._indexed(cluster, path, body.get("settings", {}))
        return _refused(400, "illegal_argument_exception", f"the model does not know {path}")

    def _shutdown(self, cluster: Cluster, method: str, node: str, body: Json) -> Answer:
        """Set or remove the record of a node's shutdown; whether the node exists is not checked."""
        cluster.version += 1
        if method == "DELETE" and cluster.shutdowns.pop(node, None) is None:
            return _refused(404, "resource_not_found_exception", f"node [{node}] is not currently shutting down")
        if method == "PUT":
            cluster.shutdowns[node] = (body["type"], body["reason"])
        cluster.allocator.expand()
        cluster.allocator.reroute()
        return self._ok({"acknowledged": True})

    def _indexed(self, cluster: Cluster, path: str, settings: Json) -> Answer:
        """Create an index of one shard; if its copies are bound to one node, the first one is placed there."""
        if path.count("/") == 1:
            cluster.create_index(
                path[1:],
                int(settings.get("index.number_of_replicas", 1)),
                size=2**20,
                rate=0.0,
                first=settings.get("index.routing.allocation.include._name") or "",
            )
        return self._ok({"acknowledged": True, "shards_acknowledged": True})

    async def _exclusions(self, cluster: Cluster, method: str, params: dict[str, str]) -> Answer:
        if method == "DELETE":
            cluster.include_all()
            return self._ok({})
        if ("node_names" in params) is ("node_ids" in params):
            return _refused(400, "illegal_argument_exception", "You must set [node_names] or [node_ids] but not both")
        if "node_ids" in params:
            excluded = set(params["node_ids"].split(","))
            cluster.exclude_ids(sorted(excluded))
        else:
            wanted = params["node_names"].split(",")
            cluster.exclude(wanted)
            excluded = {cluster.exclusions[name] for name in wanted}
        end = cluster.now + EXCLUSION_PATIENCE
        while excluded & set(cluster.voters):
            if cluster.now >= end:
                return _refused(
                    503, "timeout_exception", "timed out waiting for voting config exclusions to take effect"
                )
            await asyncio.sleep(0.1)
        return self._ok({})

    def _ok(self, document: Json, status: int = 200, *, observed: bool = True) -> Answer:
        whole = msgspec.json.encode(document)
        body = self.wire.body(whole)
        if body != whole and observed:
            self._answer_lost()
        return Answer(status, body)


def _refused(status: int, kind: str, reason: str) -> Answer:
    return Answer(status, msgspec.json.encode({"error": {"type": kind, "reason": reason}, "status": status}))
