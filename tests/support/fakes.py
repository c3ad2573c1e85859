"""A fake kubelet and a fake database, for an operator on a real API server without nodes.

The fake kubelet makes every pod Ready that has been created, and lets deleted ones go. The fake database has as its
nodes the members whose pods are Ready, answers like a healthy one, and is formed when the first manager is allowed to.
"""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from stateward.api.values import names
from stateward.engines.connection.base import Target
from stateward.kube.cache.deltas import Delta
from stateward.kube.cache.store import Store
from stateward.kube.client.client import Api, DeleteOptions, PatchKind, Preconditions
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.metadata import key_of
from stateward.kube.objects.pods import Pod
from stateward.kube.objects.resources import PODS
from stateward.planning.model.actions import Move
from stateward.planning.model.observation import Allocation, Database, Health, Node, Unknown


class FakeDatabase:
    """An engine whose every answer is made up from the pods that are Ready."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.formed = False
        self.allocation = Allocation.ALL
        self.draining = frozenset[str]()
        self.excluded = frozenset[str]()
        self.history: list[str] = []

    async def observe(self, target: Target) -> Database | Unknown:
        if not self.formed:
            return Unknown("not formed yet")
        nodes = {name: node(pod) for name, pod in self.pods.items() if pod.ready}
        voters = frozenset(name for name, n in nodes.items() if n.voting) - self.excluded
        return Database(
            identity="fake",
            health=Health.GREEN,
            nodes=nodes,
            leader=min(voters, default=""),
            voters=voters,
            voting_exclusions=self.excluded,
            draining=self.draining,
            allocation=self.allocation,
            limited=self.allocation is not Allocation.ALL,
        )

    async def add_user(self, target: Target, name: str, password: str) -> None:
        """Do nothing: the fake has no logins."""

    async def limit_allocation(
        self, target: Target, allocation: Allocation, members: frozenset[str] = frozenset()
    ) -> None:
        self.allocation = allocation

    async def restore_allocation(self, target: Target) -> None:
        self.allocation = Allocation.ALL

    async def flush(self, target: Target) -> None:
        self.history.append("flush")

    async def drain(self, target: Target, members: frozenset[str]) -> None:
        self.draining = members
        self.history.append(f"drain {sorted(members)}")

    async def exclude_voters(self, target: Target, members: frozenset[str]) -> None:
        self.excluded = members
        self.history.append(f"exclude {sorted(members)}")

    async def move_copies(self, target: Target, moves: tuple[Move, ...]) -> None:
        self.history.append(f"move {moves}")

    async def resume_balancing(self, target: Target) -> None:
        self.history.append("balance")


def node(pod: Pod) -> Node:
    """Return the database node that a pod is."""
    roles = pod.metadata.labels[names.LABEL_ROLES]
    version = pod.metadata.annotations[names.ANNOTATION_VERSION]
    return Node(pod.metadata.labels[names.LABEL_MEMBER], version, data="data" in roles, voting="voting" in roles)


class FakeKubelet:
    """Makes pods Ready as they come, and tells the database of them."""

    def __init__(self, api: Api, pods: Store[Pod], database: FakeDatabase) -> None:
        self._api = api
        self._database = database
        self._tasks: set[asyncio.Task[None]] = set()
        self.stopped: list[str] = []
        self.starts: Callable[[Pod], bool] = lambda _: True
        pods.subscribe(self._changed)

    def _changed(self, delta: Delta[Pod]) -> None:
        if delta.new is None:
            member = delta.old.metadata.labels.get(names.LABEL_MEMBER, "") if delta.old else ""
            self._database.pods.pop(member, None)
            self.stopped.append(member)
            return
        self._database.pods[delta.new.metadata.labels.get(names.LABEL_MEMBER, "")] = delta.new
        self._begin(self._serve(delta.new))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, pod: Pod) -> None:
        """Bring a pod one step further; what it meets half-way comes again as an event."""
        database = self._database
        if pod.metadata.annotations.get(names.ANNOTATION_BOOTSTRAP) == "granted" and not database.formed:
            database.formed = True
            for other in tuple(database.pods.values()):
                self._begin(self._serve(other))
        with suppress(ApiError):
            if pod.metadata.terminating:
                options = DeleteOptions(Preconditions(pod.metadata.uid), grace_seconds=0)
                await self._api.delete(PODS, key_of(pod), options)
            elif self.starts(pod) and not pod.ready and (database.formed or not pod.status.container_statuses):
                await self._status(pod, ready=database.formed)

    async def _status(self, pod: Pod, *, ready: bool) -> None:
        running = {"name": "opensearch", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}, "ready": ready}
        running |= {"image": "x", "imageID": "x", "restartCount": 0}
        status: dict[str, Any] = {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "podIPs": [{"ip": "10.0.0.1"}],
            "containerStatuses": [running],
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
        }
        body = {"metadata": {"uid": pod.metadata.uid}, "status": status}
        await self._api.patch(PODS, key_of(pod), body, kind=PatchKind.MERGE, subresource="status")
