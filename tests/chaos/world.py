"""What the faults and edits of a run act on: the sandbox, the operator, the cluster, and where its members are.

The API server may be off at any time, so each call to it is repeated until it answers.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from sandbox import Sandbox
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.pods import Pod
from tests.e2e.clusters import Clusters
from tests.e2e.operators import OperatorPods, kubectl

NAME = "chaos"
PATIENCE = 300.0
"""Seconds until a call must have been answered: longer than the API server is ever off."""
PAUSE = 2.0
RECENT = 5.0
"""Seconds in which no member that has stopped serves again."""
DATA = f"{NAME}-hot-"
ZONES = ("a", "b", "c")
"""The sandbox has a node in each."""
T = TypeVar("T")


@dataclass(frozen=True)
class World:
    """A sandbox with the operator, and one cluster in a namespace of its own."""

    sandbox: Sandbox
    operator: OperatorPods
    clusters: Clusters
    secured: bool
    hit: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the fault that takes a copy away has been carried out: some wait for the API server."""

    async def nodes(self, zones: Collection[str] = ZONES) -> list[str]:
        """Return the Kubernetes nodes of these zones, in order."""
        nodes = self.sandbox.nodes
        return sorted(name for name, node in nodes.items() if node.address.zone.removeprefix("zone-") in zones)

    async def pods(self) -> dict[str, Pod]:
        """Return the pods of the members, by member."""
        return await self.answered(lambda: self.clusters.pods(NAME))

    async def members(self) -> list[str]:
        """Return all members, also those without a pod."""
        cluster = await self.answered(lambda: self.clusters.get(NAME))
        return [each.name for each in cluster.status.member_states]

    async def data_members(self) -> list[str]:
        """Return the data members that serve, in order, as soon as there is one."""
        async with asyncio.timeout(PATIENCE):
            while not (found := [name for name, pod in (await self.pods()).items() if pod.ready and DATA in name]):
                await wait(PAUSE)
        return sorted(found)

    async def kubectl(self, *words: str, stdin: str = "") -> str:
        """Run kubectl and return what it printed; raises AssertionError if it fails for too long."""
        return await self.answered(lambda: asyncio.to_thread(kubectl, self.sandbox, *words, stdin=stdin))

    async def answered(self, call: Callable[[], Awaitable[T]]) -> T:
        """Repeat a call until the API server answers it; raises the last error after `PATIENCE`."""
        end = asyncio.get_running_loop().time() + PATIENCE
        while True:
            try:
                return await call()
            except (ApiError, AssertionError):
                if asyncio.get_running_loop().time() > end:
                    raise
                await wait(PAUSE)


def zone_of(member: str) -> str:
    """Return the zone of a member, which its pool is named after."""
    return member.rsplit("-", 2)[1]


def picked(among: Sequence[str], pick: float) -> str:
    """Return the choice of a `pick` from 0 to 1; raises IndexError if there is nothing to choose from."""
    return among[min(int(pick * len(among)), len(among) - 1)]


async def wait(seconds: float) -> None:
    """Let a fault last; its length is part of the schedule."""
    await asyncio.sleep(seconds)
