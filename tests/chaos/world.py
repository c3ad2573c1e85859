"""What the faults and edits of a run act on: the sandbox, the operator, the cluster, and where its members are."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox import Sandbox
from tests.e2e.clusters import Clusters
from tests.e2e.operators import OperatorPods

NAME = "chaos"


@dataclass(frozen=True)
class World:
    """A sandbox with the operator, and one cluster in a namespace of its own."""

    sandbox: Sandbox
    operator: OperatorPods
    clusters: Clusters
    secured: bool

    async def nodes(self) -> list[str]:
        """Return the Kubernetes nodes, in order."""
        return sorted(self.sandbox.nodes)

    async def members(self, pool: str = "") -> list[str]:
        """Return the members that have a pod, of a pool or of all, in order."""
        return sorted(name for name in await self.clusters.pods(NAME) if name.startswith(f"{NAME}-{pool}"))


def picked(among: Sequence[str], pick: float) -> str:
    """Return the choice of a `pick` from 0 to 1; raises IndexError if there is nothing to choose from."""
    return among[min(int(pick * len(among)), len(among) - 1)]


async def wait(seconds: float) -> None:
    """Let a fault last; its length is part of the schedule."""
    await asyncio.sleep(seconds)
