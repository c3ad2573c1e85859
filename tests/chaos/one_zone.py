"""One zone away at a time: when the fault of an episode may strike, and where, and when its edit may begin.

Each shard has two copies, in different zones, and each zone has a manager. So the database serves while one zone is
away, and no operator can help if a second one is. Both the fault and the edit take a zone away: an edit restarts member
after member, and a restart takes half a minute. So, in an episode with both:

* **The edit is first:** the fault strikes at the moment when a member stops for a restart, in the zone of that member.
  Or it strikes anywhere, when the edit is done and the cluster healthy.
* **The fault is first:** an edit that restarts members begins when the database has seen the fault. Before that no
  operator can know of it: a database finds a silent network cut after half a minute.

What is red in spite of this is the operator's mistake.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from stateward.api.kinds.cluster import Cluster
from stateward.kube.objects.pods import Pod
from tests.chaos.clients import Clients
from tests.chaos.schedule import RESTARTS, UNSEEN, Edit, Fault
from tests.chaos.world import NAME, RECENT, ZONES, World, wait, zone_of
from tests.e2e.clusters import settled

POLL = 0.5
SEEN_WITHIN = 90.0
"""Seconds after which a fault that the database has not seen takes nothing away: it checks its nodes three times, with
ten seconds for each."""
STRUCK_WITHIN = 1500.0
"""Seconds that a fault waits for its moment."""


@dataclass
class OneZone:
    """The order of one episode."""

    world: World
    clients: Clients
    edit: Edit = Edit.NONE
    """The edit that has begun."""
    fault: Fault | None = None
    """The fault that has struck, or does now."""
    struck: float = 0.0
    """When it did, by the time of the clients."""
    stored: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the edit is stored; of an edit and its reversal the first."""
    complete: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when nothing more will be stored."""

    async def strike(self, fault: Fault) -> Collection[str]:
        """Wait for the moment of a fault that takes a copy away; return the zones of which it may hit one.

        Raises TimeoutError.
        """
        async with asyncio.timeout(STRUCK_WITHIN):
            zones = await self._zones() if self.edit in RESTARTS and fault not in UNSEEN else ZONES
        self.fault, self.struck = fault, self.clients.now
        return zones

    async def begin(self, edit: Edit) -> None:
        """Wait until the edit may begin; from then on it has."""
        if self.fault is not None and edit in RESTARTS:
            await self._seen(self.fault)
        self.edit = edit

    async def _zones(self) -> Collection[str]:
        await self.stored.wait()
        before: Collection[str] = ZONES
        looked = self.clients.now
        while not (self.complete.is_set() and await self._healthy()):
            away = zones_away(await self.world.members(), await self.world.pods())
            # A zone that has been away for longer may come back at any moment, and the next one go.
            if len(away) == 1 and not before and self.clients.now < looked + RECENT:
                return away
            before, looked = away, self.clients.now
            await wait(POLL)
        return ZONES

    async def _healthy(self) -> bool:
        cluster = await self.world.answered(lambda: self.world.clusters.get(NAME))
        return healthy(cluster) and self.clients.seen == "green"

    async def _seen(self, fault: Fault) -> None:
        if fault in UNSEEN:
            return
        since = self.struck
        if not self.world.hit.is_set():
            await self.world.hit.wait()
            since = self.clients.now
        end = self.clients.now + SEEN_WITHIN
        while self.clients.troubled < since and self.clients.now < end:
            await wait(POLL)


def healthy(cluster: Cluster) -> bool:
    """Return whether the operator has nothing left to do, and all copies are there."""
    return settled(cluster) and cluster.status.health == "green"


def zones_away(members: Iterable[str], pods: Mapping[str, Pod]) -> Collection[str]:
    """Return the zones with a member that has no ready pod."""
    return {zone_of(name) for name in {*members, *pods} if name not in pods or not pods[name].ready}


def in_one_zone(shards: Iterable[Mapping[str, str]]) -> list[str]:
    """Return the shards, of the rows of `_cat/shards`, that do not have started copies in two zones."""
    zones: dict[str, set[str]] = {}
    for row in shards:
        here = zones.setdefault(f"{row['index']}[{row['shard']}]", set())
        if row["state"] == "STARTED":
            here.add(zone_of(row["node"]))
    return sorted(shard for shard, found in zones.items() if len(found) < 2)
