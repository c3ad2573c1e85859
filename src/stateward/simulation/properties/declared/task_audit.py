"""What each task of the operator knows of a declared resource and its database: the base of the checks beside this.

What the operator knew is the resource at the last live read of the same task, and what the database answered in the
same session.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from stateward.engines.connection.base import Call
from stateward.kube.objects.metadata import Key
from stateward.kube.objects.resource import Selection
from stateward.simulation.apiserver.audit import Write
from stateward.simulation.apiserver.store import Stored
from stateward.simulation.opensearch.cluster import Cluster
from stateward.simulation.properties.invariants import Violation
from stateward.simulation.world.world import World

DONE = 300
"""The smallest status code of a request that did not succeed."""


@dataclass(slots=True)
class Session:
    """What a database answered in one session."""

    versions: frozenset[str] = frozenset()
    """The versions of its nodes; empty if one did not tell, or if they were not asked for."""
    seen: dict[str, Any] = field(default_factory=dict[str, Any])
    """What was read, by path; None for what is not there."""


class TaskAudit:
    """An `Audit` and a `DatabaseAudit` of the operator's processes that checks nothing yet."""

    def __init__(self, world: World, violations: list[Violation]) -> None:
        self.violations = violations
        self.requests: int = 0
        """Requests that changed what is checked."""
        self._world = world
        self._resources: WeakKeyDictionary[asyncio.Task[Any], Stored | None] = WeakKeyDictionary()
        """The resource that each task has read last; None if there was none."""
        self._sessions: WeakKeyDictionary[asyncio.Task[Any], Session] = WeakKeyDictionary()

    # The API server.

    def read(self, kind: str, key: Key) -> None:
        """Do nothing, or record a live read of a resource."""

    def listed(self, kind: str, selection: Selection) -> None:
        """Do nothing."""

    def writing(self, write: Write) -> None:
        """Do nothing, or check a write to the API server."""

    def wrote(self, write: Write) -> None:
        """Do nothing."""

    # The databases.

    def began(self) -> None:
        """Note that a session begins: what was known before does not count."""
        if (task := asyncio.current_task()) is not None:
            self._sessions[task] = Session()

    def performing(self, cluster: Cluster, call: Call) -> None:
        """Do nothing, or check a request right before the database performs it."""

    def performed(self, cluster: Cluster, call: Call, status: int) -> None:
        """Do nothing, or note what was read or written."""

    def beside(self) -> bool:
        """Return whether the current task is about declared resources."""
        return asyncio.current_task() in self._resources

    # What the current task knows.

    def _resource(self) -> Stored | None:
        task = asyncio.current_task()
        return None if task is None else self._resources.get(task)

    def _session(self) -> Session:
        """Return what was answered in the present session; nothing if none has begun."""
        task = asyncio.current_task()
        return Session() if task is None else self._sessions.get(task, Session())

    def _note_versions(self, cluster: Cluster, call: Call) -> None:
        """Note which versions the members told, if the request asks for them."""
        if call.path == "/_nodes/http":
            nodes = cluster.nodes.values()
            told = all(node.tells for node in nodes)
            self._session().versions = frozenset(node.version for node in nodes) if told else frozenset()

    def _violated(self, letter: str, message: str) -> None:
        self._world.context.trace(f"VIOLATION [{letter}] {message}")
        self.violations.append(Violation(letter, self._world.now, message))
