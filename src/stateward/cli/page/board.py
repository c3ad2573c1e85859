"""The present state of the page's data: rows, timelines and the last reads of databases, shared by all viewers."""

import asyncio
from contextlib import suppress

import msgspec
from msgspec.structs import replace

from stateward.api.kinds.cluster import Cluster
from stateward.api.values import names
from stateward.cli.page.host import Host
from stateward.cli.page.look import Look, look
from stateward.cli.page.model import detail_of, ref_of, row_of
from stateward.cli.page.timeline import Seen, drawn, grown
from stateward.cli.page.verbs import session_of
from stateward.cli.shared.failures import Failure
from stateward.cli.shared.session import Session
from stateward.kube.objects.errors import ApiError
from stateward.kube.objects.resources import CONFIG_MAPS
from stateward.operator.clusters.history import content
from stateward.timeline.advance import joined
from stateward.timeline.history import History
from stateward.timeline.model import Timeline

QUICKEST = 0.1
"""Real seconds between two updates."""
NOT_YET = Look()


class Board:
    """Follows a host; run `run` in a task."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.rows: dict[str, bytes] = {}
        """The JSON of each row."""
        self.seen: dict[str, Seen] = {}
        self.looks: dict[str, Look] = {}
        """What is known of the databases of clusters that someone looks at now."""
        self.round = 0
        """Counts the updates."""
        self.closed = False
        self._clusters: dict[str, Cluster] = {}
        self._updated = asyncio.Condition()
        self._viewers: dict[str, int] = {}
        self._looking: dict[str, asyncio.Task[None]] = {}
        self._details: dict[str, tuple[Cluster, Look, bytes]] = {}

    async def run(self) -> None:
        """Follow the host until cancelled."""
        while True:
            self.update()
            async with self._updated:
                self._updated.notify_all()
            await asyncio.sleep(QUICKEST)
            await self.host.changed()

    async def updated(self, after: int) -> None:
        """Wait until there has been an update after this one."""
        async with self._updated:
            await self._updated.wait_for(lambda: self.round > after or self.closed)

    def update(self) -> None:
        """Take in the present clusters."""
        now, _ = self.host.clock
        present = {ref_of(cluster): cluster for cluster in self.host.clusters()}
        for ref, cluster in present.items():
            before = self._clusters.get(ref)
            if before is None or before.metadata.resource_version != cluster.metadata.resource_version:
                self.rows[ref] = msgspec.json.encode(row_of(cluster))
                self.seen[ref] = grown(self.seen.get(ref, Seen()), before, cluster, now)
        for ref in self.rows.keys() - present.keys():
            del self.rows[ref], self.seen[ref]
            self._details.pop(ref, None)
            self.looks.pop(ref, None)
        self._clusters = present
        self.round += 1

    async def close(self) -> None:
        """End the streams of all viewers."""
        self.closed = True
        async with self._updated:
            self._updated.notify_all()

    def timeline(self, ref: str) -> tuple[Seen, Timeline] | None:
        """Return what was seen of a cluster, and its timeline; None if there is no such cluster."""
        cluster = self._clusters.get(ref)
        if cluster is None:
            return None
        return self.host.timeline(ref) or (self.seen[ref], drawn(self.seen[ref], cluster, self.host.clock[0]))

    def detail(self, ref: str) -> bytes | None:
        """Return the JSON of everything about a cluster; None if there is no such cluster.

        It is made once for all viewers.
        """
        cluster, seen = self._clusters.get(ref), self.looks.get(ref, NOT_YET)
        if cluster is None:
            return None
        known = self._details.get(ref)
        if known is None or known[0] is not cluster or known[1] is not seen:
            detail = msgspec.json.encode(detail_of(cluster, seen.data, seen.notes))
            known = self._details[ref] = cluster, seen, detail
        return known[2]

    def cluster(self, ref: str) -> Cluster:
        """Return a cluster; raise Failure if there is none."""
        if ref not in self._clusters:
            raise Failure(f"there is no cluster {ref!r}")
        return self._clusters[ref]

    async def watch(self, ref: str) -> None:
        """Read the database of a cluster regularly while it is shown; cancel it when it is not."""
        self._viewers[ref] = self._viewers.get(ref, 0) + 1
        if ref not in self._looking:
            self._looking[ref] = asyncio.create_task(self._look(ref))
        try:
            await asyncio.Event().wait()
        finally:
            self._viewers[ref] -= 1
            if not self._viewers[ref]:
                self._looking.pop(ref).cancel()
                del self._viewers[ref]
                # The next viewer must not take an old answer for a present one.
                self.looks.pop(ref, None)
                self._details.pop(ref, None)

    async def _look(self, ref: str) -> None:
        await self._read_history(ref)
        while True:
            if (cluster := self._clusters.get(ref)) is not None:
                self.looks[ref] = await look(self.host, cluster)
            await asyncio.sleep(self.host.look_every)

    async def _read_history(self, ref: str) -> None:
        """Continue the history that the operator has kept; without the right to read it, begin now."""

        async def read(session: Session) -> History:
            mine, name = session_of(session, ref)
            return content(await mine.api.get(CONFIG_MAPS.raw(), mine.key(names.history(name))))

        with suppress(ApiError, Failure, TimeoutError):
            stored = await self.host.work(read)
            if ref in self.seen:
                self.seen[ref] = replace(self.seen[ref], history=joined(stored, self.seen[ref].history))
