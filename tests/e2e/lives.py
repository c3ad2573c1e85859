"""The life of a cluster through a major version, under writes, on real processes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox import Sandbox
from stateward.api.kinds.cluster import Cluster
from tests.e2e.clusters import Clusters, Database, condition, pool, settled
from tests.e2e.operators import OperatorPods
from tests.e2e.secured import DirectDatabase, client, places, ready
from tests.e2e.witness import Promises, Writer

NAME = "life"
SETTING = "http.max_content_length"
MEMORY = {"limits": {"memory": "1280Mi"}, "requests": {"memory": "768Mi", "cpu": "50m"}}
"""With half of it the newest secured members leave no room for the files that they read, and crawl."""


@dataclass
class Life:
    """A cluster of one pool: born, upgraded, restarted in place, shrunk, one member replaced."""

    clusters: Clusters
    operator: OperatorPods
    old: str
    new: str
    roles: tuple[str, ...]
    refused: Mapping[str, str] = field(default_factory=dict[str, str])
    """Versions that the old one cannot be upgraded to, with what is said of each."""

    async def secured(self, sandbox: Sandbox) -> None:
        """Live secured, as a cluster is whose spec says nothing of security."""
        await self.apply(self.old, 4)
        born = await self.clusters.until(NAME, ready, seconds=600)
        assert born.status.security is not None
        assert born.status.security.enabled
        async with client(sandbox, self.clusters, NAME, known=False) as stranger:
            assert (await stranger.ask("_cluster/health"))[0] == 401
        async with client(sandbox, self.clusters, NAME) as person:
            await self._live(DirectDatabase(self.clusters.api, self.clusters.namespace, NAME, person))

    async def plain(self) -> None:
        """Live without security."""
        await self.apply(self.old, 4)
        await self.clusters.until(NAME, settled, seconds=600)
        await self._live(self.clusters.database(NAME))

    async def _live(self, database: Database) -> None:
        """Require that every acknowledged document is found in the end."""
        await database.create_index("docs")
        async with Writer(database, "docs") as writer:
            for version, words in self.refused.items():
                await self.refuse(version, words, self.old)
            await self.upgrade(database)
            await self.refuse(self.old, "cannot read what a newer version has written", self.new)
            await self.restart_in_place(database)
            await self.shrink(database)
            await self.replace(database)
            assert writer.acknowledged
        assert await writer.missing() == set()
        assert writer.longest_gap < 60

    async def apply(self, version: str, replicas: int, **more: Any) -> None:
        """Apply the spec with this version and size."""
        pools = [pool("nodes", replicas, *self.roles, resources=MEMORY)]
        await self.clusters.apply(NAME, version=version, pools=pools, **more)

    async def refuse(self, version: str, words: str, current: str) -> None:
        """Nothing changes for a version that cannot be reached, and the status says what can."""
        before = await places(self.clusters, NAME)
        await self.apply(version, 4)
        stalled = await self.clusters.until(NAME, lambda c: condition(c, "Stalled") == "True", seconds=120)
        assert any(words in wait.message for wait in stalled.status.waiting), stalled.status.waiting
        assert stalled.status.version == current
        await self.apply(current, 4)
        await self.clusters.until(NAME, settled, seconds=120)
        assert await places(self.clusters, NAME) == before

    async def upgrade(self, database: Database) -> None:
        """One member at a time, never red, also when the operator dies in the middle."""
        before = await places(self.clusters, NAME)
        async with Promises(self.clusters, NAME, database=database) as promises:
            await self.apply(self.new, 4)
            await self.clusters.until(NAME, lambda c: any(m.state == "Restarting" for m in c.status.member_states))
            await self.operator.kill()
            await self.clusters.until(NAME, lambda c: settled(c) and c.status.version == self.new, seconds=1200)
        assert promises.broken == []
        assert promises.looks > 5
        assert "red" not in promises.seen_health
        assert set((await database.versions()).values()) == {self.new}
        after = await places(self.clusters, NAME)
        assert all(after[name][0] != before[name][0] for name in before)
        await self.nothing_left_behind(database)

    async def restart_in_place(self, database: Database) -> None:
        """A setting changes in every process, and the pods stay."""
        before = await places(self.clusters, NAME)
        async with Promises(self.clusters, NAME, database=database) as promises:
            await self.apply(self.new, 4, config={SETTING: "90mb"})
            await self.clusters.until(NAME, settled, seconds=600)
        assert promises.broken == []
        answer = await database.ask("_nodes/settings?flat_settings=true")
        assert {node["settings"].get(SETTING) for node in answer["nodes"].values()} == {"90mb"}
        assert await places(self.clusters, NAME) == before

    async def shrink(self, database: Database) -> None:
        """The last member hands over its copies and its vote."""
        await self.apply(self.new, 3, config={SETTING: "90mb"})
        await self.clusters.until(NAME, settled, seconds=600)
        assert set(await database.versions()) == {f"{NAME}-nodes-{ordinal}" for ordinal in range(3)}
        await self.nothing_left_behind(database)

    async def replace(self, database: Database) -> None:
        """Another member takes the place of one that is named, and takes its copies over."""
        going, left = f"{NAME}-nodes-1", {f"{NAME}-nodes-{ordinal}" for ordinal in (0, 2, 3)}
        await self.apply(self.new, 3, config={SETTING: "90mb"}, members={"replace": [going]})

        def replaced(cluster: Cluster) -> bool:
            return settled(cluster) and {m.name for m in cluster.status.member_states if m.state == "Ready"} == left

        await self.clusters.until(NAME, replaced, seconds=600)
        assert set(await database.versions()) == left
        assert (await database.health())["status"] == "green"
        await self.nothing_left_behind(database)

    async def nothing_left_behind(self, database: Database) -> None:
        """No setting of the operator's and no voting exclusion is left."""
        assert not (left := await database.left_behind()), left
        state = await database.ask("_cluster/state/metadata?filter_path=metadata.cluster_coordination")
        assert state["metadata"]["cluster_coordination"].get("voting_config_exclusions", []) == []
