"""What is done with the cluster: created, upgraded, shrunk; each step is waited for with a deadline."""

import asyncio
from collections.abc import Callable
from typing import Any

from demo.install import MANAGER
from demo.place import VERSIONS
from stateward.api.kinds.cluster import Cluster
from stateward.cli.shared.session import Session
from stateward.cli.status.explanation import explain_cluster
from stateward.cli.status.follow import Following
from stateward.kube.client.client import ApplyOptions
from stateward.operator.objects.kinds import CLUSTERS, OPENSEARCH

NAME = "docs"
CREATE_SECONDS, UPGRADE_SECONDS, SHRINK_SECONDS = 600.0, 1_200.0, 300.0
"""Several times what the steps take on two idle cores: a busy machine is not a failure."""
MEMBER = {"limits": {"memory": "640Mi"}, "requests": {"cpu": "250m", "memory": "640Mi"}}
"""Half of the memory is the database's heap. Without a share of the CPU a member starves on a busy machine."""


class TooLateError(Exception):
    """A step did not come to its end in time; the message explains what the cluster waits for."""


def manifest(namespace: str, version: str, data_members: int) -> dict[str, Any]:
    """Return the cluster as its user would write it."""
    small = {"resources": MEMBER, "storage": {"size": "1Gi"}}
    return {
        "apiVersion": "stateward.dev/v1alpha1",
        "kind": "OpenSearchCluster",
        "metadata": {"name": NAME, "namespace": namespace},
        "spec": {
            "version": version,
            "pools": [
                {"name": "managers", "replicas": 3, "roles": ["cluster_manager"], **small},
                {"name": "hot", "replicas": data_members, "roles": ["data", "ingest"], **small},
            ],
        },
    }


def settled(cluster: Cluster) -> bool:
    """Return whether the operator has seen the newest spec and nothing is left to do."""
    ready = any(c.type == "Ready" and c.status == "True" for c in cluster.status.conditions)
    current = cluster.status.observed_generation == cluster.metadata.generation
    return ready and current and cluster.status.version == cluster.spec.version


class Story:
    """Drives one cluster through its life, and hands every new state of it to `seen`."""

    def __init__(self, session: Session, seen: Callable[[Cluster], None]) -> None:
        self._session = session
        self._seen = seen
        self._latest: Cluster | None = None
        self._news = asyncio.Event()
        self._following = Following(session, OPENSEARCH, session.key(NAME))

    async def create(self) -> None:
        """Make the cluster, at the old version."""
        await self._apply(VERSIONS[0], 3)

    async def created(self) -> None:
        """Wait until it is as it should be."""
        await self._until_settled(CREATE_SECONDS)

    async def upgrade(self) -> None:
        """Change the version, and wait until every member runs it."""
        await self._until_settled(UPGRADE_SECONDS, await self._apply(VERSIONS[1], 3))

    async def shrink(self) -> None:
        """Take one data member away, and wait until its data has moved and it is gone."""
        await self._until_settled(SHRINK_SECONDS, await self._apply(VERSIONS[1], 2))

    async def follow(self) -> None:
        """Watch the cluster until cancelled; the other steps wait for what is seen here."""
        await self._following.run(self._show)

    def _show(self, cluster: Cluster) -> None:
        self._latest = cluster
        self._seen(cluster)
        self._news.set()

    async def _apply(self, version: str, data_members: int) -> int:
        """Apply the cluster and return its generation."""
        body = manifest(self._session.namespace, version, data_members)
        options = ApplyOptions(MANAGER, force=True)
        applied = await self._session.api.apply(CLUSTERS, self._session.key(NAME), body, options)
        return applied.metadata.generation

    async def _until_settled(self, seconds: float, generation: int = 0) -> None:
        try:
            async with asyncio.timeout(seconds):
                while (now := self._latest) is None or now.metadata.generation < generation or not settled(now):
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise TooLateError(f"not done after {seconds:.0f} s\n{self._explain()}") from None

    def _explain(self) -> str:
        if self._latest is None:
            return "the cluster was never seen"
        return "\n".join(explain_cluster(self._latest, self._session.now()))
