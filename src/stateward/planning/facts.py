"""What follows at once from an observation, computed once and shared by all questions of the plan."""

from collections.abc import Iterable

from msgspec import Struct

from stateward.planning.observation import Database, Effect, Member, Node, Observation, Pool, Unit, Unknown


class Facts(Struct, frozen=True):
    """An observation at a time, with the sets that every question needs."""

    obs: Observation
    now: float
    database: Database | None
    pools: dict[str, Pool]
    members: dict[str, Member]
    up: frozenset[str]
    """Members that serve: pod ready, and in the database with the version that their pod runs."""
    down: frozenset[str]
    """Members that have been in the cluster and do not serve now, for whatever reason."""

    @property
    def formed(self) -> bool:
        """Whether the cluster was formed at some time: it answers now, or the status remembers it."""
        return self.database is not None or (self.obs.bootstrap is not None and self.obs.bootstrap.formed)

    def node(self, name: str) -> Node | None:
        """Return what the database says about a member; None when it is not in it, or nothing is known."""
        return self.database.nodes.get(name) if self.database else None

    def units_of(self, name: str) -> list[Unit]:
        """Return the units that have a copy on the member, or one on its way to it."""
        if self.database is None:
            return []
        return [unit for unit in self.database.units if any(name in (c.member, c.target) for c in unit.copies)]

    def joined(self, name: str) -> bool:
        """Return whether the database lists the member now."""
        return self.node(name) is not None

    def votes(self, member: Member) -> bool:
        """Return whether the member may vote, by the database or else by its pool."""
        node = self.node(member.name)
        if node is not None:
            return node.voting
        pool = self.pools.get(member.pool)
        in_configuration = self.database is not None and member.name in self.database.voters
        return in_configuration or (pool is not None and pool.voting)

    def holds_data(self, member: Member) -> bool:
        """Return whether the member may hold data, by the database or else by its pool."""
        node = self.node(member.name)
        pool = self.pools.get(member.pool)
        return node.data if node is not None else pool is None or pool.data

    def ephemeral(self, member: Member) -> bool:
        """Return whether the member's data goes with its pod."""
        return member.claim is None and member.pod is not None

    def age(self, name: str) -> float:
        """Return for how long, in seconds, the member has been in the state that the status names."""
        return max(0.0, self.now - self.obs.since.get(name, self.now))


def derive(obs: Observation, now: float) -> Facts:
    """Return the facts of an observation at time `now` (seconds since the epoch)."""
    database = None if isinstance(obs.database, Unknown) else obs.database
    up = frozenset(m.name for m in obs.members if serves(m, database))
    return Facts(
        obs=obs,
        now=now,
        database=database,
        pools={pool.name: pool for pool in obs.desired.pools},
        members={m.name: m for m in obs.members},
        up=up,
        down=frozenset(name for name in known(obs) if name not in up),
    )


def known(obs: Observation) -> Iterable[str]:
    """Return the members that have been in the cluster and still have objects."""
    return (m.name for m in obs.members if m.name in obs.records and (m.workload is not None or m.pod is not None))


def serves(member: Member, database: Database | None) -> bool:
    """Return whether a member is in service.

    A live process proves nothing: a node of the wrong version stays alive and never joins. So where the database
    answers, the member must be in it, with the version that its pod runs.
    """
    pod = member.pod
    if pod is None or pod.terminating or not pod.ready:
        return False
    if database is None:
        return True
    node = database.nodes.get(member.name)
    return node is not None and (not pod.version or node.version == pod.version)


def disrupts(effect: Effect) -> bool:
    """Return whether an effect takes the member down for a while."""
    return effect >= Effect.RESTART
